"""Walk through a model once without computing anything, and note what each layer is and makes."""

from collections.abc import Callable
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from importlib import import_module
from typing import Any

import numpy as np

from minifp.autograd import tape
from minifp.autograd.tape import Tensor
from minifp.checks import check_count
from minifp.errors import ArgumentError
from minifp.lab.memory import Ledger, foretell_bytes
from minifp.nn.assign_precision import assign_precision
from minifp.nn.module import Module
from minifp.numerics import kernels, policy
from minifp.report import rendering
from minifp.report.content import Document
from minifp.report.documented import Shown
from minifp.runtime.device import default_device, is_on_device
from minifp.scope.summary.products import Counter

PRECISIONS = ("float32", "mixed", "autocast", "float16", "bfloat16", "float8")
NESTED = (tuple, list, dict)  # what a model may return
# Of what an optimizer keeps of each weight, whether it is a second moment.
STATES = {"sgd": (), "momentum": (False,), "adam": (False, True)}


@dataclass
class Layer:
    """One module in one call.

    path, kind, depth: where it stands, its class, how deep. inputs, output: shapes; of several
    outputs, the first. parameters: its own and those of modules inside, which count once in the
    whole. multiply_adds: of the call, with those of modules inside. again: whether the same module
    was called before.
    """

    path: str
    kind: str
    depth: int
    inputs: list[tuple]
    output: tuple = ()
    parameters: int = 0
    multiply_adds: int = 0
    again: bool = False
    has_inside: bool = False


@dataclass(repr=False)
class Summary(Shown):
    """The result of `summary`.

    parameters, trainable, buffers: how many numbers they have. multiply_adds: of one forward pass
    of the whole batch. bytes: for each precision by kind, at the peak of a training step: "weights"
    (and buffers), "masters", "optimizer_state", "activations", "gradients": see lab/memory.py.
    unknown: kernels whose products are not counted.
    """

    name: str
    input_shape: tuple
    layers: list[Layer]
    parameters: int
    trainable: int
    buffers: int
    multiply_adds: int
    bytes: dict[str, dict[str, int]]
    optimizer: str
    unknown: list[str] = field(default_factory=list)

    def to_dict(self) -> dict:
        """All of it as plain numbers, lists and texts, for JSON."""
        return asdict(self)

    def document(self, depth: int = 3) -> Document:
        """All that is shown of it, down to a depth."""
        return import_module("minifp.scope.summary.summary_document").document(self, depth)

    def table(self, depth: int = 3) -> str:
        """The same as text."""
        return rendering.terminal(self.document(depth))


def summary(
    model: Module | Callable[[], Module], input_shape: Any, batch: int = 1, *,
    optimizer: str = "adam", precisions: Any = PRECISIONS, integers: bool = False,
) -> Summary:  # fmt: skip
    """List the layers of a model and the memory it needs, without computing anything.

    model: a class, or a function that builds the model, such as `lambda: ResNet50(classes=10)`:
    then weights are never allocated, and each precision builds its own. An existing module is
    summarised as it is, only in its own precision. input_shape: of one example, (3, 224, 224).
    batch: how many examples. integers: whether the input is indices of characters or words.
    optimizer: "sgd", "momentum" or "adam", which keep 0, 1 or 2 numbers a weight.

    Returns a Summary, which prints itself as a tree of layers. Raises ArgumentError for an invalid
    shape or optimizer, and the model's own error if the shape does not fit.
    """
    shape = _shape(input_shape)
    check_count("summary: batch", batch)
    if optimizer not in STATES:
        raise ArgumentError(f"optimizer={optimizer!r}: expected {', '.join(map(repr, STATES))}")
    is_module = isinstance(model, Module)
    if not is_module and not callable(model):
        raise ArgumentError(
            f"summary: model is a {type(model).__name__}, expected a module, or a function that "
            "builds one"
        )
    whole = (batch, *shape)
    each = [policy.get_precision()] if is_module else [policy.as_precision(p) for p in precisions]
    fields, memory = None, {}
    for precision in each:
        with policy.precision(policy.shapes_only(precision)), default_device("cpu"):
            module = model if is_module else assign_precision(model())
            with _without_numbers(module):
                counts, peak = _walked(module, whole, integers)
        memory[str(precision)] = foretell_bytes(module, precision, STATES[optimizer], peak)
        fields = fields or counts
    assert fields is not None
    return Summary(
        name=type(module).__name__, input_shape=whole, bytes=memory, optimizer=optimizer, **fields
    )


def _shape(size) -> tuple:
    sizes = (size,) if isinstance(size, (int, np.integer)) else tuple(size)
    return tuple(check_count("summary: a size of the input", n) for n in sizes)


@contextmanager
def _without_numbers(module):
    """Within, modules that have a precision of their own compute shapes in it, and nothing else;
    what is on a GPU has arrays of the host, whose memory nobody touches."""
    before = [(m, m._precision) for m in module.modules()]
    on_device = [t for t in (*module.parameters(), *module.buffers()) if is_on_device(t.array)]
    arrays = [t.array for t in on_device]
    try:
        for t in on_device:
            t.array = np.empty(t.shape, t.array.dtype)
        for m, precision in before:
            if precision is not None:
                m._precision = policy.shapes_only(precision)
        yield
    finally:
        for t, array in zip(on_device, arrays):
            t.array = array
        for m, precision in before:
            m._precision = precision


def _walked(module, shape, integers):
    """(the fields of Summary that one forward pass gives, the bytes by kind at the peak)."""
    walk, counter, ledger = Walk(), Counter(), Ledger([*module.parameters(), *module.buffers()])
    x = np.zeros(shape, np.int64) if integers else np.empty(shape, np.float32)
    with ExitStack() as stack:
        tape.observers.append(ledger)
        stack.callback(tape.observers.remove, ledger)
        with ExitStack() as forward:
            kernels.observers.append(counter)
            forward.callback(kernels.observers.remove, counter)
            walk.watch(module, counter, forward)
            outputs = module(Tensor(x))
        sums = [y.sum() for y in _tensors(outputs) if y.requires_grad]
        if sums:
            sum(sums[1:], sums[0]).backward()
            for p in module.parameters():
                p.grad = None
    own = {id(p): p for p in module.parameters()}
    fields = {
        "layers": walk.layers,
        "parameters": sum(p.numel() for p in own.values()),
        "trainable": sum(p.numel() for p in own.values() if p.requires_grad),
        "buffers": sum(b.numel() for b in module.buffers()),
        "multiply_adds": counter.total,
        "unknown": sorted(counter.unknown),
    }
    return fields, ledger.peak


def _tensors(outputs):
    """All tensors of what a model returned."""
    if isinstance(outputs, Tensor):
        return [outputs]
    inside = outputs.values() if isinstance(outputs, dict) else outputs
    return [t for y in inside for t in _tensors(y)] if isinstance(outputs, NESTED) else []


class Walk:
    """The layers in the order in which they are called, by hooks on all modules."""

    def __init__(self):
        self.layers: list[Layer] = []
        self.open: list[tuple[Layer, int]] = []
        self.ids: set[int] = set()

    def watch(self, module, counter, stack):
        """Note every call of the module and of those inside, until the stack closes."""
        paths = {id(module): ""}
        for m in module.modules():
            for name, child in m.named_children():
                paths.setdefault(id(child), f"{paths.get(id(m), '')}.{name}".removeprefix("."))
        for m in module.modules():
            path = paths.get(id(m), "")
            before = m.register_forward_pre_hook(
                lambda m, args, path=path: self.begin(m, args, path, counter)
            )
            after = m.register_forward_hook(lambda m, args, y: self.end(y, counter))
            stack.callback(before.remove)
            stack.callback(after.remove)

    def begin(self, module, args, path, counter):
        """A module is called."""
        shapes = [tuple(a.shape) for a in args if isinstance(a, Tensor)]
        layer = Layer(path, type(module).__name__, len(self.open), shapes)
        layer.parameters = sum(p.numel() for p in module.parameters())
        layer.again = id(module) in self.ids
        self.ids.add(id(module))
        if self.open:
            self.open[-1][0].has_inside = True
        self.layers.append(layer)
        self.open.append((layer, counter.total))

    def end(self, output, counter):
        """Its forward has returned."""
        layer, before = self.open.pop()
        layer.multiply_adds = counter.total - before
        while isinstance(output, (tuple, list)) and output:
            output = output[0]
        layer.output = tuple(output.shape) if isinstance(output, Tensor) else ()
