"""Overflow a sum

Give at most 1,000 numbers from 0 to 100 whose sum is Inf once it is stored in float16, though each
of them is stored without trouble, and so is their mean.
"""

# %% program
import minifp as fp

numbers = [1.0, 2.0, 3.0]

x = fp.tensor(numbers, dtype=fp.float16)
print("sum", float(x.sum()), "in float16", float(x.sum().half()))
print("mean", float(x.mean()), "in float16", float(x.mean().half()))

# %% check
import minifp as fp

SHOWS = (
    "Added up in float32 the sum is right; it is Inf when it is stored. The mean is divided first "
    "and stored then. So sums over a batch are where float16 overflows, and a loss that is a mean "
    "is safer than one that is a sum."
)


def check(run):
    numbers = run.names.get("numbers")
    if not isinstance(numbers, (list, tuple)) or not numbers:
        return "`numbers` was to be a list of numbers."
    if len(numbers) > 1000:
        return f"{len(numbers):,} numbers: at most 1,000 were asked for."
    if not all(isinstance(n, (int, float)) and 0 <= n <= 100 for n in numbers):
        return "Each was to be a number from 0 to 100."
    x = fp.tensor([float(n) for n in numbers], dtype=fp.float16)
    if float(x.sum().half()) != float("inf"):
        return f"The sum is {float(x.sum()):,g}: Inf begins at 65,520."
