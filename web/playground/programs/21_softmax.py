"""Mend an overflow

This softmax is right on paper, and NaN for scores of 12 and more: exp(12) is beyond 65,504. Mend
it, in float16 throughout.
"""

# %% program
import minifp as fp


def softmax(scores):
    """scores: float16 (n). Returns their softmax, float16 (n)."""
    powers = fp.exp(scores)
    return powers / powers.sum()


for scores in ([1.0, 2.0, 3.0], [10.0, 11.0, 12.0], [-2000.0, 2000.0, 1999.0]):
    print(scores, softmax(fp.tensor(scores, dtype=fp.float16)).tolist())

# %% check
import numpy as np

import minifp as fp

SHOWS = (
    "Subtracting the largest score changes no quotient, and the largest power is exp(0) = 1. What "
    "underflows then is too small to count. minifp's own softmax does so, and so does everybody's."
)
SCORES = ([1.0, 2.0, 3.0], [10.0, 11.0, 12.0], [-2000.0, 2000.0, 1999.0], [40.0, -40.0, 39.5, 0.25])


def check(run):
    softmax = run.names.get("softmax")
    if not callable(softmax):
        return "There is no function `softmax` any more."
    for scores in SCORES:
        shares = softmax(fp.tensor(scores, dtype=fp.float16))
        if getattr(shares, "dtype", None) != fp.float16:
            return "The result was to be a float16 tensor: no detour through float32."
        got, exact = shares.numpy().astype(float), np.exp(np.array(scores) - max(scores))
        if not np.isfinite(got).all():
            return f"softmax({scores}) is {got.tolist()}."
        if got.shape != exact.shape or abs(got - exact / exact.sum()).max() > 0.01:
            return f"softmax({scores}) is {np.round(got, 3).tolist()}, off by more than 0.01."
