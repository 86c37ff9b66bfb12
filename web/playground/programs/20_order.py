"""Two orders, two sums

Give two lists with the same positive float16 numbers in another order, whose sums in float16
differ by 10% or more, if one number is added after the other and each partial sum is rounded.
"""

# %% program
import minifp as fp

one = [1.0, 2.0, 3.0]
other = [3.0, 2.0, 1.0]


def total(numbers):
    """Added one after the other, each partial sum stored in float16."""
    result = fp.tensor(0.0, dtype=fp.float16)
    for number in numbers:
        result = result + fp.tensor(number, dtype=fp.float16)
    return float(result)


print(total(one), total(other))

# %% check
import numpy as np

SHOWS = (
    "From 2,048 on float16 counts in twos, and 2,048 + 1 is 2,048 again. Small numbers first, they "
    "gather until they count; large ones first, they all vanish. Sums in float32 need not care: "
    "that is the paper's third technique."
)


def check(run):
    lists = [run.names.get(name) for name in ("one", "other")]
    if not all(isinstance(numbers, list) and numbers for numbers in lists):
        return "`one` and `other` were to be lists of numbers."
    if sorted(lists[0]) != sorted(lists[1]):
        return "The lists were to hold the same numbers."
    stored = [np.array(numbers, np.float16) for numbers in lists]
    if (stored[0].astype(float) != lists[0]).any() or (stored[0] <= 0).any():
        return "Each number was to be positive and one of float16's."
    sums = [float(np.cumsum(s, dtype=np.float16)[-1]) for s in stored]
    if not np.isfinite(sums).all():
        return f"The sums are {sums[0]:g} and {sums[1]:g}: stay below 65,504."
    if abs(sums[0] - sums[1]) < 0.1 * min(sums):
        return f"The sums are {sums[0]:,g} and {sums[1]:,g}: less than 10% apart."
