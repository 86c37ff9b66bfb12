"""How a precision names its loss scale: none, a number, or "dynamic", perhaps with settings.

    dynamic                                       as DynamicLossScale is by default
    dynamic+growth_interval=20+init_scale=1024    with these of its arguments

Written with a plus, so that the text of a precision needs no quotes in a shell and can be the name
of a file. What the settings mean is told in training/loss_scale.py.
"""

import math
import re
import sys
from typing import Any

import numpy as np

from minifp.errors import PrecisionError
from minifp.runtime.nearest import nearest

DYNAMIC = "dynamic"
# Its arguments with their defaults: integers are counts of steps.
SETTINGS: dict[str, float] = {
    "init_scale": 2.0**16,
    "growth_factor": 2.0,
    "backoff_factor": 0.5,
    "growth_interval": 2000,
    "min_scale": 1.0,
    "max_scale": 2.0**24,
    "patience": 50,
    "backoff_interval": 1,
}


def checked_loss_scale(value):
    """A loss scale as a precision keeps it: None, a positive finite float, or the text of a dynamic
    one, canonical. Raises PrecisionError for anything else."""
    if value is None or value is False:
        return None
    if isinstance(value, str) and value.partition("+")[0].strip() == DYNAMIC:
        return dynamic_text(dynamic_settings(value))
    if isinstance(value, (int, float, np.number)) and value is not True:
        if 0 < value <= sys.float_info.max:
            return float(value)
    raise PrecisionError(
        f'loss_scale={value!r}: expected "{DYNAMIC}", perhaps with settings as in '
        f'"{DYNAMIC}+growth_interval=100", a positive finite number, or None for none'
    )


def dynamic_settings(text: str) -> dict[str, Any]:
    """The settings that a text names, of which only those that are not the default.

    Raises PrecisionError for a name that is none, or a value that cannot be.
    """
    settings: dict[str, Any] = {}
    for part in re.split(r"\+(?! *\d)", text)[1:]:  # not within 1e+20
        name, _, value = (piece.strip() for piece in part.partition("="))
        if name not in SETTINGS:
            near = " or ".join(nearest(name, SETTINGS)) or ", ".join(SETTINGS)
            raise PrecisionError(f"loss_scale={text!r}: no setting {name!r}, expected {near}")
        settings[name] = setting(text, name, value)
    return {name: value for name, value in settings.items() if value != SETTINGS[name]}


def setting(text: str, name: str, value: str) -> float:
    """One value. Raises PrecisionError unless it is a number of its kind."""
    counts = isinstance(SETTINGS[name], int)
    try:
        number = int(value) if counts else float(value)
    except ValueError:
        number = 0
    if not 0 < number < math.inf:
        expected = "a whole number of steps, at least 1" if counts else "a positive finite number"
        raise PrecisionError(f"{name}={value!r} in loss_scale={text!r}: expected {expected}")
    return number


def dynamic_text(settings: dict[str, float]) -> str:
    """The text of these settings, in the order of SETTINGS."""
    named = [f"{name}={settings[name]:.17g}" for name in SETTINGS if name in settings]
    named = [text.replace("e+", "e") for text in named]
    return "+".join([DYNAMIC, *named])
