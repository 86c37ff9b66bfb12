"""What a judge says of numbers that are wrong: how many, and the smallest input for which."""

import numpy as np

ONE_UNIT = "by one unit in the last place"


def wrong_shape(result: np.ndarray, right: np.ndarray) -> str | None:
    """What to say of an array of another shape, None of one that fits."""
    if result.shape == right.shape:
        return None
    return f"it returns an array of shape {result.shape} where {right.shape} is expected"


def counterexample(x: np.ndarray, result: object, right: np.ndarray, tried: str) -> str | None:
    """None where `result` is `right` bit for bit (any NaN is as good as another), else how much of
    what was tried is wrong, and the smallest x of it.

    x, right: (n). result: what an answer returned for x. tried: in words, which x those were.
    """
    result = np.asarray(result, right.dtype)
    if said := wrong_shape(result, right):
        return said
    bits = f"u{right.dtype.itemsize}"
    wrong = (result.view(bits) != right.view(bits)) & ~(np.isnan(result) & np.isnan(right))
    if not wrong.any():
        return None
    size = np.abs(np.nan_to_num(x[wrong], nan=np.inf, posinf=np.inf, neginf=np.inf))  # NaN last
    first = np.flatnonzero(wrong)[np.argmin(size)]
    tried += by_one_unit(result[wrong], right[wrong])
    return (
        f"{wrong.sum():,} of {len(x):,} are wrong ({tried}). The smallest: {x[first]} became "
        f"{result[first]}, and should be {right[first]}"
    )


def by_one_unit(result: np.ndarray, right: np.ndarray) -> str:
    """A remark where all of these are neighbours of what is right, else "". Numbers that all are
    float16 numbers are taken for such."""
    if right.dtype.kind != "f":
        return ""
    is_half = all(np.all(x == x.astype(np.float16)) for x in (result, right))
    unit = np.spacing(np.abs(right.astype(np.float16 if is_half else right.dtype)))
    near = (result != right) & (np.abs(result - right) <= unit)
    return f"; each {ONE_UNIT}" if near.all() else ""
