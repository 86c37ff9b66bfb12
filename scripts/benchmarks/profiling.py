"""Where a step's time goes: by phase, by operation, by kernel; the rest is Python's.

The time of a step is cut where something is told to an observer: when an operation has been
recorded, when a gradient has arrived at an operation, when its backward is done. What lies between
two cuts belongs to the operation whose end the second is; within it, kernels are timed, and what
they leave is Python: checks, the tape, views, and NumPy outside of kernels. So all parts add up to
the step. Of a kernel's time it is also said how much compiled loops took that run in chunks (see
cpu/kernels/pool.py); such a loop that is called from no kernel stands by itself. A call that is
timed takes about a microsecond more.
"""

from collections import defaultdict
from time import perf_counter

from minifp.autograd import tape
from minifp.numerics import kernels
from minifp.runtime import cpu

PYTHON = "Python"  # in the place of a kernel's name
BETWEEN = "between operations"


def zeros():
    """Seconds, seconds of them in compiled loops, calls."""
    return [0.0, 0.0, 0]


class Profile:
    """An observer that cuts steps into parts: (phase, operation, kernel) -> see `zeros`.

    now: the clock.
    """

    def __init__(self, now=perf_counter):
        self.now = now
        self.steps, self.pending, self.inside = [], [], defaultdict(zeros)
        self.nested, self.cut = [], 0.0  # nested: zeros of what is called within each open kernel

    def __enter__(self):
        kinds = [(kernels.Kernel, "__call__")]
        if cpu.can_compile():
            from minifp.optim.update import Update
            from minifp.runtime.cpu.kernels.pool import Chunked

            kinds += [(Chunked, "__call__"), (Update, "in_place")]
        self.original = [(kind, name, getattr(kind, name)) for kind, name in kinds]
        for kind, name, call in self.original:
            setattr(kind, name, self.timed(call, kind is kernels.Kernel))
        tape.observers.append(self)
        return self

    def __exit__(self, *_):
        for kind, name, call in self.original:
            setattr(kind, name, call)
        tape.observers.remove(self)

    def timed(self, call, is_kernel):
        """The method, with what it takes added to `inside`, or to the kernel it is called in."""

        def measured(callee, *args, **params):
            start = self.now()
            self.nested.append(zeros())
            try:
                return call(callee, *args, **params)
            finally:
                self.called(callee, is_kernel, self.now() - start, self.nested.pop())

        return measured

    def called(self, callee, is_kernel, seconds, within):
        """A kernel or a compiled loop has ended."""
        compiled = within[1] if is_kernel else seconds
        if self.nested and not is_kernel:
            self.nested[-1][1] += seconds
            return
        found = self.inside[callee.name if is_kernel else f"compiled {callee.__name__}"]
        for i, x in enumerate((seconds - within[0], compiled, 1)):
            found[i] += x
        if self.nested:
            self.nested[-1][0] += seconds

    def on_record(self, node, outputs):
        """An operation ends, forward."""
        self.close(node.op)

    def on_gradient(self, node, gradient):
        """What has summed gradients and found the way here ends."""
        self.close(BETWEEN, calls=0)

    def on_release(self, node):
        """An operation ends, backward."""
        self.close(node.op)

    def close(self, operation, calls=1):
        """End a part."""
        python = self.now() - self.cut - sum(s for s, _, _ in self.inside.values())
        self.pending.append((operation, PYTHON, (python, 0.0, calls)))
        self.pending += [(operation, kernel, found) for kernel, found in self.inside.items()]
        self.inside.clear()
        self.cut = self.now()

    def run(self, step):
        """Profile one step, a generator that yields each phase's name when it is over."""
        parts, self.cut = defaultdict(zeros), self.now()
        for phase in step:
            self.close("optimizer" if phase == "update" else BETWEEN, calls=0)
            for operation, kernel, found in self.pending:
                _add(parts[phase, operation, kernel], found)
            self.pending.clear()
            self.cut = self.now()
        self.steps.append(parts)

    def found(self):
        """The mean of the middle half of the steps: a list of [phase, operation, kernel, seconds,
        compiled seconds, calls].
        """
        order = sorted(self.steps, key=lambda parts: sum(s for s, _, _ in parts.values()))
        quarter = len(order) // 4
        middle = order[quarter : len(order) - quarter]
        sums = defaultdict(zeros)
        for parts in middle:
            for key, found in parts.items():
                _add(sums[key], [x / len(middle) for x in found])
        return [[*key, *found] for key, found in sums.items()]


def _add(total, found):
    for i, x in enumerate(found):
        total[i] += x
