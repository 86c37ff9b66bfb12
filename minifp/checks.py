"""Checks of arguments: each names the argument, what it was and what was expected."""

import sys
from math import inf

import numpy as np

from minifp.errors import ArgumentError

LARGEST = sys.float_info.max
MOST = 2**63 - 1  # of counts


def shown(value):
    """A value as Python writes it; of an integer with more digits than it writes, how many bits."""
    try:
        return repr(value)
    except Exception:  # an object's own, too
        bits = f" of {value.bit_length():,} bits" if isinstance(value, int) else ""
        return f"<{type(value).__name__}{bits}>"


def check_range(name, value, low=0.0, high=inf, open_above=False):
    """Raise ArgumentError unless low <= value <= high (< high if open above) and it is finite."""
    if type(value) is float and low <= value < high:
        return
    is_number = isinstance(value, (int, float, np.integer, np.floating))
    if isinstance(value, np.floating):  # whose comparisons are of its own few bits
        value = float(value)
    inside = is_number and not isinstance(value, bool) and low <= value <= min(high, LARGEST)
    if not inside or (open_above and value == high):
        interval = f"at least {low:g}" if high == inf else f"from {low:g} to {high:g}"
        below = ", and less" if open_above else ""
        raise ArgumentError(f"{name}={shown(value)}: expected a finite number, {interval}{below}")


def check_count(name, value, least=1):
    """The integer `value`. Raises ArgumentError unless it is one of 64 bits, at least `least`."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise ArgumentError(f"{name}={shown(value)}: expected an integer, at least {least}")
    if value > MOST:
        raise ArgumentError(f"{name}={shown(value)}: expected an integer below 2^63")
    return int(value)


def check_flag(name, value):
    """Raise ArgumentError unless `value` is True or False."""
    if value is not True and value is not False and not isinstance(value, (bool, np.bool_)):
        raise ArgumentError(f"{name}={shown(value)}: expected True or False")


def check_choice(name, value, choices):
    """Raise ArgumentError unless `value` is one of the texts `choices`."""
    if not isinstance(value, str) or value not in choices:
        expected = ", ".join(repr(choice) for choice in choices)
        raise ArgumentError(f"{name}={shown(value)}: expected one of {expected}")


def arguments_in(names):
    """Of the local names of a constructor its arguments, for the one that it calls."""
    return {name: names[name] for name in names if name not in ("self", "__class__")}
