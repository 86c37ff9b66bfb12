"""The section "gemm": rates of square matrix products beside PyTorch's.

One kind is what the paper's first picture compares with: float16 operands and float32 sums without
tensor cores, which PyTorch has no switch for.
"""

from contextlib import contextmanager

from minifp.runtime.cuda.arrays import empty
from minifp.runtime.cuda.math_modes import get_gpu_math, set_gpu_math
from minifp.runtime.cuda.product import multiply

from .gpu_timing import contest, ratio

WEIGHT, LIMIT = 25, 60
SIZES, QUICK = (256, 512, 1024, 2048, 4096, 8192), (1024, 4096)
WITHOUT = "float16, no tensor cores"
# name -> (format of the operands, of the result, in what is summed)
KINDS = {
    "float16": ("float16", "float16", "float32"),
    WITHOUT: ("float16", "float16", "float32"),
    "float16 to float32": ("float16", "float32", "float32"),
    "float32": ("float32", "float32", "float32"),
    "TF32": ("float32", "float32", "tf32"),
}
LAUNCHES, LONGEST = 100, 0.4  # of one graph; seconds that it may take


@contextmanager
def gpu_math(mode):
    """A math mode of minifp's (see `fp.set_gpu_math`) for what is captured in the block."""
    before = get_gpu_math()
    set_gpu_math(mode)
    try:
        yield
    finally:
        set_gpu_math(before)


def units(settings):
    """Sizes."""
    sizes = (16, 24) if settings.tiny else QUICK if settings.quick else SIZES
    return [str(n) for n in sizes]


def measure(unit, machine):
    """A row for each kind."""
    n = int(unit)
    return [_row(n, kind, machine) for kind in KINDS]


def _row(n, kind, machine):
    given, made, compute = KINDS[kind]

    def mine():
        a, b = (machine.ours.values((n, n), given, -1, 1) for _ in range(2))
        out = empty((n, n), made)
        mode = "no_tensor_cores" if kind == WITHOUT else "tensor_cores"
        with gpu_math(mode):
            return machine.ours.repeated(
                lambda: multiply(a, b, out, compute=compute), LONGEST, LAUNCHES
            )

    def other():
        theirs = machine.theirs
        torch = theirs.torch
        a, b = (theirs.values((n, n), given, -1, 1) for _ in range(2))
        out = a.new_empty((n, n), dtype=getattr(torch, made))
        torch.backends.cuda.matmul.allow_tf32 = compute == "tf32"
        try:
            if given != made:
                return theirs.repeated(
                    lambda: torch.mm(a, b, out_dtype=torch.float32), LONGEST, LAUNCHES
                )
            return theirs.repeated(lambda: torch.matmul(a, b, out=out), LONGEST, LAUNCHES)
        finally:
            torch.backends.cuda.matmul.allow_tf32 = False

    theirs = {} if kind == WITHOUT else {"PyTorch": other}
    sides = contest(machine.sides({"minifp": mine}, theirs), machine.settings.repeat)
    for side in sides.values():
        if side.get("seconds"):
            side["tflops"] = 2e-12 * n**3 / side["seconds"]
    return {"size": n, "kind": kind, "sides": sides, "times": ratio(sides, "PyTorch", "minifp")}
