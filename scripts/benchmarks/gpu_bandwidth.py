"""The section "bandwidth": what kernels move a second, beside a copy in the device's memory.

What is counted is what has to be moved: each stored array that a kernel is given is read once, and
each result written once. Arrays have 64 MB, which are not in any cache. Every kernel that computes
element by element is called as it is; others are those that operations call, recorded once.
"""

import inspect
from math import prod

import numpy as np

import minifp as fp
import minifp.nn.functional as F
from minifp import optim
from minifp.numerics import kernels
from minifp.runtime.cuda.arrays import cupy, empty, is_on_device

from .gpu_timing import contest, ratio

WEIGHT, LIMIT = 35, 60
BYTES, TINY = 64 * 2**20, 2**13
KERNEL, COPY = "minifp", "copy"
FORMATS = ("float16", "float32")
PLAIN = {("x",), ("dy", "saved"), ("x", "y"), ("dz", "x", "y")}
FIRST = (
    *("arithmetic.copy", "arithmetic.add_forward", "arithmetic.mul_forward", "arithmetic.mul_dx"),
    *("activation.relu_forward", "activation.relu_dx", "unary_math.exp_forward"),
    *("unary_math.sigmoid_forward", "unary_math.sigmoid_dx", "unary_math.tanh_forward"),
    *("unary_math.tanh_dx", "error_function.gelu_forward", "error_function.gelu_dx"),
    "activation.silu_forward",
)

# What the kernels of an operation are told beside arrays.
PARAMETERS = {
    **{name: {"alpha": 1.0} for name in ("add", "sub", "elu", "celu")},
    "gelu": {"approximate": "none"},
    "hardtanh": {"min_val": -1.0, "max_val": 1.0},
    "leaky_relu": {"negative_slope": 0.01},
    "softplus": {"beta": 1.0, "threshold": 20.0},
}


def _classes(z):
    return fp.tensor(np.arange(len(z.array)) % z.shape[1], device="cuda")


def _batch_norm(x):
    w, b = (fp.tensor(np.ones(x.shape[1], "f4"), dtype="float32", device="cuda") for _ in range(2))
    w.requires_grad = b.requires_grad = True
    return F.batch_norm(x, None, None, w, b, training=True)


# name -> (kind, function, which shape of `shapes` each of its tensors has)
OPERATIONS = {
    "batch norm": ("norm", _batch_norm, ("pictures",)),
    "layer norm": ("norm", lambda x: F.layer_norm(x, x.shape[1:]), ("rows",)),
    "group norm": ("norm", lambda x: F.group_norm(x, 2), ("pictures",)),
    "rms norm": ("norm", lambda x: F.rms_norm(x, x.shape[1:]), ("rows",)),
    "softmax": ("softmax", lambda x: F.softmax(x, 1), ("rows",)),
    "log softmax": ("softmax", lambda x: F.log_softmax(x, 1), ("rows",)),
    "cross entropy": ("softmax", lambda z: F.cross_entropy(z, _classes(z)), ("rows",)),
    "max pooling 2x2": ("pooling", lambda x: F.max_pool2d(x, 2), ("pictures",)),
    "max pooling 3x3 / 2": ("pooling", lambda x: F.max_pool2d(x, 3, 2, 1), ("pictures",)),
    "average pooling 2x2": ("pooling", lambda x: F.avg_pool2d(x, 2), ("pictures",)),
    "dropout": ("elementwise", lambda x: F.dropout(x, 0.5), ("rows",)),
    "addition of a row": ("elementwise", lambda x, y: x + y, ("rows", "row")),
    "addition of channels": ("elementwise", lambda x, y: x * y, ("pictures", "channels")),
    "sum of all": ("reduction", lambda x: x.sum(), ("rows",)),
    "sum over rows": ("reduction", lambda x: x.sum(0), ("rows",)),
    "sum over columns": ("reduction", lambda x: x.sum(1), ("rows",)),
    "mean over pixels": ("reduction", lambda x: x.mean((2, 3)), ("pictures",)),
    "variance over columns": ("reduction", lambda x: x.var(1), ("rows",)),
    "largest of columns": ("reduction", lambda x: x.amax(1), ("rows",)),
    "mean squared error": ("reduction", F.mse_loss, ("rows", "rows")),
    "cumulative sum": ("other", lambda x: x.cumsum(1), ("rows",)),
    "padding": ("other", lambda x: F.pad(x, (1, 1, 1, 1)), ("pictures",)),
}
OPTIMIZERS = {
    "SGD": lambda p: optim.SGD(p, lr=0.1, momentum=0.9),
    "Adam": lambda p: optim.Adam(p, lr=0.1),
    "AdamW": lambda p: optim.AdamW(p, lr=0.1),
    "RMSprop": lambda p: optim.RMSprop(p, lr=0.1),
    "Adagrad": lambda p: optim.Adagrad(p, lr=0.1),
}


def shapes(count, is_tiny):
    """Shapes of so many elements (or of what is stretched to them)."""
    width, channels, size = (16, 4, 8) if is_tiny else (1024, 64, 64)
    return {
        "rows": (count // width, width),
        "row": (width,),
        "pictures": (count // (channels * size**2), channels, size, size),
        "channels": (channels, 1, 1),
    }


def tried_kernels():
    """The kernels that take arrays of one shape and have a compiled kernel for the GPU, by name."""
    found = {}
    for kernel in kernels.KERNELS:
        names = kernel.names
        if kernel.rule.role == "map" and names in PLAIN and _is_plain(kernel):
            found[kernel.name] = kernel
    return found


def _is_plain(kernel):
    code = kernel.reference.__code__
    keywords = code.co_varnames[code.co_argcount :][: code.co_kwonlyargcount]
    known = {"alpha", "shape", *kernels.PRIMITIVES}
    has_others = code.co_flags & inspect.CO_VARKEYWORDS
    return set(keywords) <= known and not has_others and kernel.device_kernel is not None


def units(settings):
    """Kernels and operations of each format, those that training uses most first."""
    rest = sorted(set(tried_kernels()) - set(FIRST))
    first = [*(k for k in FIRST if k in tried_kernels()), *OPERATIONS, *OPTIMIZERS]
    if settings.tiny:
        return [f"float16 {name}" for name in (*FIRST[:2], "batch norm", "softmax", "Adam")]
    found = [f"{f} {name}" for f in FORMATS for name in first]
    return found if settings.quick else found + [f"{f} {name}" for f in FORMATS for name in rest]


def measure(unit, machine):
    """A row for each kernel."""
    format, _, name = unit.partition(" ")
    size = TINY if machine.settings.tiny else BYTES
    count = size // np.dtype(format).itemsize
    with fp.precision("mixed" if format == "float16" else "float32"):
        if name in OPTIMIZERS:
            calls = [("optimizer", f"{name}, update", *_update(machine, name, format, size // 4))]
        elif name in OPERATIONS:
            calls = _recorded(machine, name, format, shapes(count, machine.settings.tiny), size)
        else:
            calls = [("elementwise", name, *_plain(machine, tried_kernels()[name], format, count))]
        rows = [_row(machine, format, size, *call) for call in calls]
    machine.tidy()
    return rows


def _row(machine, format, size, kind, name, call, moved):
    ours, seconds = machine.ours, machine.settings.seconds / 20
    source, target = ours.values((size // 4,)), empty((size // 4,), "float32")
    place, from_place = target.data, source.data

    def copy():
        place.copy_from_device_async(from_place, size, cupy().cuda.get_current_stream())

    makers = {
        KERNEL: lambda: ours.repeated(call, seconds, 50),
        COPY: lambda: ours.repeated(copy, seconds, 50),
    }
    sides = contest(makers, machine.settings.repeat)
    for side, bytes in ((KERNEL, moved), (COPY, 2 * size)):
        if sides[side].get("seconds"):
            sides[side]["gb_s"] = 1e-9 * bytes / sides[side]["seconds"]
    over = ratio(sides, COPY, KERNEL)
    share = None if over is None else over * moved / (2 * size)
    found = {"kind": kind, "name": name, "format": format, "bytes": moved}
    return {**found, "sides": sides, "share": share}


def _plain(machine, kernel, format, count):
    x = machine.ours.values((count,), format)
    args = [x, *(x.copy() for _ in kernel.names[1:])]
    params = dict(PARAMETERS.get(kernel.name.partition(".")[2].rpartition("_")[0], {}))
    if kernel.names[0] == "dz":
        params["shape"] = x.shape
    to = np.dtype(format) if kernel.rule.out == ("given",) else None
    return _called(kernel, args, to, params)


def _called(kernel, args, to, params):
    """(a call, bytes that it has to move)."""
    made = kernel(*args, to=to, **params)
    results = made if isinstance(made, tuple) else (made,)
    if kernel.name in kernels.ran_on_host:
        raise RuntimeError(f"{kernel.name} runs on the CPU")
    arrays = {id(a): a for a in (*args, *results) if is_on_device(a)}
    moved = sum(map(stored_bytes, arrays.values()))
    return lambda: kernel(*args, to=to, **params), moved


def stored_bytes(a):
    """Bytes of an array that are there: an axis it is stretched along has none."""
    return a.itemsize * prod(n for n, s in zip(a.shape, a.strides) if s)


def _recorded(machine, name, format, by_name, size):
    """What kernels an operation calls, forward and backward: those that move much."""
    kind, function, places = OPERATIONS[name]
    given = [machine.ours.values(by_name[place], format) for place in places]
    tensors = [fp.Tensor(a, requires_grad=True) for a in given]
    calls, original = [], kernels.Kernel.__call__

    def noted(kernel, *args, to=None, **params):
        calls.append((kernel, args, to, params))
        return original(kernel, *args, to=to, **params)

    kernels.Kernel.__call__ = noted
    try:
        y = function(*tensors)
        y.backward(gradient=fp.Tensor(machine.ours.values(y.shape, str(y.dtype))))
    finally:
        kernels.Kernel.__call__ = original
    found = []
    for kernel, args, to, params in calls:
        if any(map(is_on_device, args)):
            call, moved = _called(kernel, args, to, params)
            if moved >= size // 2:
                found.append((kind, f"{name}, {kernel.name}", call, moved))
    if not found:
        raise RuntimeError("no kernel that moves much")
    return found


def _update(machine, name, format, count):
    """The update of an optimizer with masters of so many numbers, as a step launches it."""
    rule = OPTIMIZERS[name]([fp.nn.Parameter(np.zeros(1, "f4"))])
    group, values = rule.param_groups[0], machine.ours.values
    w, g = values((count,)), values((count,), format)
    copy = empty((count,), format) if format == "float16" else None
    needed = rule.needed(group)
    states = [values((count,)) if n in needed else None for n in rule.state_names]
    compiled = rule.rule.compiled
    formula = compiled.formula((w, g, *states), 1.0, rule.keywords(group, {}, 1))
    control = values((1 + len(formula.numbers),))
    arrays = [w, copy, g, *states]
    moved = sum(a.nbytes for a in arrays if a is not None)
    moved += sum(a.nbytes for a in (w, *states) if a is not None)  # read, and written
    on_device = compiled.on_device
    call = lambda: on_device.in_place(formula, w, copy, g, states, control)  # noqa: E731
    return call, moved
