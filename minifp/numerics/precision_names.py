"""What each named precision is, in a line; and the names that others have for them."""

from collections.abc import Iterable

from minifp.numerics.formats import float16, float32, float64
from minifp.runtime.nearest import nearest

HALF, SINGLE, DOUBLE = float16.name, float32.name, float64.name
MEANINGS = {
    "float32": "everything in float32, the baseline of all comparisons",
    "mixed": "float16 storage, float32 sums, master weights, dynamic loss scaling",
    "autocast": "float32 weights; a table says which operations work in float16",
    "autocast-bfloat16": "autocast in bfloat16, without a loss scale",
    "bfloat16": "mixed in bfloat16, without a loss scale",
    "float8": "bfloat16, but products round their operands to 8 bits, with scales",
    "float16": "float16 for everything, also sums; no master weights, no loss scaling",
    "float64": "everything in float64, the reference of tests",
}
ELSEWHERE = (  # names that others have for a precision
    (
        "fp16 f16 half 16 float-16 o3",
        f'did you mean "{HALF}" (everything in {HALF}), or "mixed" (sums and masters in {SINGLE}, '
        "and a loss scale)?",
    ),
    (
        "amp mixed16 mixed-16 16-mixed fp16-mixed mixed-precision mixed-float16 o2",
        'did you mean "mixed" (weights stored in half the bits, with masters), or "autocast" '
        "(cast at each operation)?",
    ),
    ("o1 torch-autocast", 'did you mean "autocast"?'),
    ("fp32 f32 single float 32 32-true float-32 full o0", f'did you mean "{SINGLE}"?'),
    ("fp64 f64 double 64 64-true float-64", f'did you mean "{DOUBLE}"?'),
    (
        "bf16 bf16-true",
        'did you mean "bfloat16" (weights stored in half the bits, with masters, and no loss '
        "scale)?",
    ),
    (
        "bf16-mixed mixed-bfloat16 bf16-amp amp-bf16 autocast-bf16",
        'did you mean "autocast-bfloat16" (float32 weights, cast at each operation), or "bfloat16" '
        "(weights stored in half the bits, with masters)?",
    ),
    (
        "fp8 f8 fp8-mixed float8-e4m3fn float8-e4m3 transformer-engine",
        'did you mean "float8" (stored in bfloat16, with products of 8 bits)?',
    ),
)


def meant(name: str, names: Iterable[str]) -> str:
    """The end of an error: what was meant by a name that is not among `names`, or ""."""
    spelled = name.lower().replace("_", "-")
    for others, instead in ELSEWHERE:
        if spelled in others.split():
            return f"; {instead}"
    return "".join(f'; did you mean "{near}"?' for near in nearest(name, names, 1))
