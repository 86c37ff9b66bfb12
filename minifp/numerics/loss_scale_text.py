"""How a precision names its loss scale: none, a number, or an adaptive one, perhaps with settings.

    dynamic                                       as DynamicLossScale is by default
    dynamic+growth_interval=20+init_scale=1024    with these of its arguments
    lognormal+max_overflow=0.01                   a LogNormalLossScale

Written with a plus, so that the text of a precision needs no quotes in a shell and can be the name
of a file. What the settings mean is told in training/loss_scale.py.
"""

import math
import sys
from typing import Any

import numpy as np

from minifp.errors import PrecisionError
from minifp.numerics.precision_grammar import read_settings, written_settings
from minifp.runtime.nearest import nearest

DYNAMIC = "dynamic"
BOUNDS: dict[str, float] = {"min_scale": 1.0, "max_scale": 2.0**24, "patience": 50}
# The adaptive kinds: arguments with their defaults. Integers are counts of steps.
KINDS: dict[str, dict[str, float]] = {
    DYNAMIC: {
        "init_scale": 2.0**16,
        "growth_factor": 2.0,
        "backoff_factor": 0.5,
        "growth_interval": 2000,
        **BOUNDS,
        "backoff_interval": 1,
    },
    "lognormal": {
        "init_scale": 2.0**16,
        "max_overflow": 0.001,
        "beta1": 0.99,
        "beta2": 0.999,
        **BOUNDS,
    },
}
MEANINGS = {  # of the settings, for `minifp help precision`
    "init_scale": "the scale of the first step",
    "growth_factor": "by what the scale is multiplied as it grows",
    "backoff_factor": "by what it is multiplied as it falls",
    "growth_interval": "good steps in a row after which the scale grows",
    "min_scale": "the smallest scale",
    "max_scale": "the largest scale",
    "patience": "skipped steps in a row after which training stops",
    "backoff_interval": "overflows in a row after which the scale falls",
    "max_overflow": "the probability that the next step overflows",
    "beta1": "the decay of the average of log2 of the largest gradient",
    "beta2": "the decay of the average of its variance",
}
NAMES = " or ".join(f'"{kind}"' for kind in KINDS)


def checked_loss_scale(value):
    """A loss scale as a precision keeps it: None, a positive finite float, or the text of an
    adaptive one, canonical. Raises PrecisionError for anything else."""
    if value is None or value is False:
        return None
    if isinstance(value, str) and read_settings(value)[0] in KINDS:
        return adaptive_text(*kind_and_settings(value))
    if isinstance(value, (int, float, np.number)) and value is not True:
        if 0 < value <= sys.float_info.max:
            return float(value)
    raise PrecisionError(
        f"loss_scale={value!r}: expected {NAMES}, perhaps with settings as in "
        f'"{DYNAMIC}+growth_interval=100", a positive finite number, or None for no loss scale'
    )


def kind_and_settings(text: str) -> tuple[str, dict[str, Any]]:
    """The kind that a text names, and its settings, of which only those that are not the default.

    Raises PrecisionError for a name that is none, or a value that cannot be.
    """
    kind, pairs = read_settings(text)
    defaults = KINDS[kind]
    settings: dict[str, Any] = {}
    for name, value in pairs:
        if name not in defaults:
            near = " or ".join(nearest(name, defaults)) or ", ".join(defaults)
            raise PrecisionError(f"loss_scale={text!r}: no setting {name!r}, expected {near}")
        settings[name] = setting(text, name, value, defaults[name])
    return kind, {name: value for name, value in settings.items() if value != defaults[name]}


def setting(text: str, name: str, value: str, default: float) -> float:
    """One value. Raises PrecisionError unless it is a number of the default's kind."""
    counts = isinstance(default, int)
    try:
        number = int(value) if counts else float(value)
    except ValueError:
        number = 0
    if not 0 < number < math.inf:
        expected = "a whole number of steps, at least 1" if counts else "a positive finite number"
        raise PrecisionError(f"{name}={value!r} in loss_scale={text!r}: expected {expected}")
    return number


def adaptive_text(kind: str, settings: dict[str, float]) -> str:
    """The text of a kind with these settings, in the order of its row in KINDS."""
    return written_settings(kind, [(n, settings[n]) for n in KINDS[kind] if n in settings])
