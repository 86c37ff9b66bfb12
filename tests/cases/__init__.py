"""One row for each operation: how to call it, and on which shapes that hurt.

Every test that ranges over operations ranges over CASES, so a new operation is tested by adding its
rows to its family's file here: gradients, formats, faithfulness, edges, parity with PyTorch. A
file here also has strategies that draw its arguments at random (DRAWN, see case.py), how far
rounding may carry the results of its kernels (`bounds.magnitude`), and its LAYERS with PyTorch's.

A file is named by a kind of operations in minifp/ops or by a module there. Every change is tested
with the CORE of the cases and a sample of the others, see tests/sampling.py.
"""

from importlib import import_module
from pathlib import Path

from cases.case import DRAWN, LAYOUTS, Case, some_places

FAMILIES = [
    import_module(f"cases.{path.stem}")
    for path in sorted(Path(__file__).parent.glob("*.py"))
    if path.stem not in ("__init__", "case")
]
CASES = [case for family in FAMILIES for case in getattr(family, "CASES", ())]
BY_OPERATION: dict = {case.operation: [] for case in CASES}
for case in CASES:
    BY_OPERATION[case.operation].append(case)
FAILED: set[str] = set()  # the names of cases that once failed, with their shapes


def first_of(cases, key):
    """The first of the cases for each key that is not None."""
    first: dict = {}
    for case in cases:
        first.setdefault(key(case), case)
    return {case for k, case in first.items() if k is not None}


def corner(case):
    """Whether a case has an input of no numbers, or one of no dimensions; None if neither."""
    return "empty" if any(0 in s for s in case.shapes) else "number" if () in case.shapes else None


# One of each operation, the corners of each family, and what once failed.
CORE = first_of(CASES, lambda case: case.operation)
CORE |= {case for f in FAMILIES for case in first_of(getattr(f, "CASES", ()), corner)}
CORE |= {case for case in CASES if str(case) in FAILED}
# One of each operation of several tensors, of which none is empty.
MEETING = first_of(CASES, lambda c: c.operation if c.shapes[1:] and corner(c) != "empty" else None)
LAYERS = {name: layer for f in FAMILIES for name, layer in getattr(f, "LAYERS", {}).items()}
LOGIC = ("logical_and", "logical_or", "logical_xor")
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge", *LOGIC)  # of two tensors, without gradient
TESTS = ("isfinite", "isinf", "isnan", "logical_not")  # of one
OF_NUMPY = {name: name for name in (*COMPARISONS, *TESTS)}  # what NumPy calls them
OF_NUMPY |= {"eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal"}
OF_NUMPY |= {"gt": "greater", "ge": "greater_equal"}
