"""One row for each operation: how to call it, and on which shapes that hurt.

Every test that ranges over operations ranges over CASES, so a new operation is tested by adding its
rows to its family's file here: gradients, formats, faithfulness, edges, parity with PyTorch. A
file here also has strategies that draw its arguments at random (DRAWN, see case.py), how far
rounding may carry the results of its kernels (`bounds.magnitude`), and its LAYERS with PyTorch's.
"""

from importlib import import_module
from pathlib import Path

from cases.case import DRAWN, LAYOUTS, Case

FAMILIES = [
    import_module(f"cases.{path.stem}")
    for path in sorted(Path(__file__).parent.glob("*.py"))
    if path.stem not in ("__init__", "case")
]
CASES = [case for family in FAMILIES for case in getattr(family, "CASES", ())]
LAYERS = {name: layer for f in FAMILIES for name, layer in getattr(f, "LAYERS", {}).items()}
LOGIC = ("logical_and", "logical_or", "logical_xor")
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge", *LOGIC)  # of two tensors, without gradient
TESTS = ("isfinite", "isinf", "isnan", "logical_not")  # of one
