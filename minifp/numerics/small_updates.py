"""Switches by which small updates of weights in few bits are kept without masters.

optim/narrow_weights.py says what they do. They are refused where they would do nothing.
"""

from typing import Any

from minifp.errors import PrecisionError
from minifp.numerics.formats import float16, format_of, is_narrow

UPDATE_ROUNDINGS = ("nearest", "stochastic")
STOCHASTIC, COMPENSATED = "update_rounding=stochastic", "compensated=on"


def way_of(precision: Any) -> str | None:
    """The one that a Precision has, as a text; None for updates that are rounded to nearest."""
    if precision.compensated:
        return COMPENSATED
    return STOCHASTIC if precision.update_rounding == "stochastic" else None


def check_small_updates(precision: Any) -> None:
    """Raise PrecisionError for an update_rounding that is none, and for switches of a Precision
    that would do nothing."""
    rounding, way = precision.update_rounding, way_of(precision)
    if rounding not in UPDATE_ROUNDINGS:
        expected = " or ".join(UPDATE_ROUNDINGS)
        raise PrecisionError(f"update_rounding={rounding!r}: expected {expected}")
    if way is None:
        return
    stored = [format_of(name) for name in (precision.weights, precision.norm_parameters)]
    if way == COMPENSATED and rounding == "stochastic":
        problem = "compensation leaves nothing to round at random: expected only one of the two"
        way = f"{way} and {STOCHASTIC}"
    elif precision.master_weights:
        problem = (
            "with master_weights=on: master weights lose no update: expected master_weights=off"
        )
    elif not any(is_narrow(f.stored) for f in stored):
        problem = (
            f"with weights in {precision.weights}, which updates do not round: expected weights "
            f"in fewer bits, such as weights={float16.name}"
        )
    else:
        return
    raise PrecisionError(f"{way}: {problem}")
