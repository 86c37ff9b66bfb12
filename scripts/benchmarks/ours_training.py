"""Training steps, and inference, of models in minifp. Only a child process imports this."""

import tracemalloc

import minifp as fp
import minifp.nn.functional as F
from minifp import models, optim
from minifp.lab.memory import measure_bytes

from . import workloads

# A step is a generator that yields the name of each phase when it is over.


def built(model):
    """The architecture of a Model, with its initial weights."""
    network = getattr(models, model.architecture)(*model.arguments, **model.keywords)
    state = {n: workloads.initial(n, p.shape) for n, p in network.named_parameters()}
    network.load_state_dict(state, strict=False)
    return network


class Training:
    """Steps of a model."""

    def __init__(self, model):
        self.model = built(model)
        name, settings = model.optimizer
        plain = getattr(optim, name)(self.model.parameters(), **settings)
        self.optimizer = fp.MixedOptimizer(plain)
        self.batches = [self.taken(*batch) for batch in model.batches()]
        self.count, self.skipped, self.loss = 0, 0, None

    def taken(self, x, t):
        """A batch as tensors."""
        return fp.tensor(x), fp.tensor(t)

    def loss_of(self, x, t):
        """The loss of a batch."""
        return F.cross_entropy(self.model(x), t)

    def step(self):
        """zero_grad, forward with the loss, backward, update."""
        batch = self.batches[self.count % len(self.batches)]
        self.count += 1
        self.optimizer.zero_grad()
        yield "zero_grad"
        self.loss = self.loss_of(*batch)
        yield "forward"
        self.optimizer.backward(self.loss)
        yield "backward"
        result = self.optimizer.step()
        yield "update"
        self.skipped += result.skipped

    def value(self):
        """The last loss."""
        return self.loss.item()

    def moved_by_update(self):
        """See below."""
        return moved_by_update(self.optimizer)

    def held(self):
        """Bytes of each kind that one step holds at its peak, and that were allocated in it.

        What the tape holds is counted at the tape itself: the arrays that nodes save, and gradients
        from when they arrive until they are used. `allocated` is all that was allocated during a
        step, at its peak: what tracemalloc knows, which NumPy tells of its buffers.
        """
        with measure_bytes(self.model, self.optimizer) as found:
            list(self.step())
        self.optimizer.zero_grad()
        self.loss = None
        tracemalloc.start()
        try:
            list(self.step())
            found["allocated"] = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        return found


class Inference:
    """A model that is asked for the scores of its batches."""

    def __init__(self, model):
        self.model, self.count = built(model).eval(), 0
        self.batches = [(fp.tensor(x), fp.tensor(t)) for x, t in model.batches()]

    def step(self):
        """Forward."""
        self.x, self.t = self.batches[self.count % len(self.batches)]
        self.count += 1
        with fp.no_grad():
            self.scores = self.model(self.x)
        yield "forward"

    def value(self):
        """The loss of the last scores."""
        return F.cross_entropy(self.scores, self.t).item()


def moved_by_update(optimizer):
    """Bytes: weights and state are read and written, gradients read, working copies written."""
    moved = 0
    for block in (b for o in optimizer.optimizers for b in o.blocks):
        state = sum(a.nbytes for state in block.state.values() for a in state.arrays)
        moved += 2 * (block.weights.flat.nbytes + state)
        moved += block.weights.stored.nbytes * (1 + block.weights.is_master)
    return moved
