"""The switches of a precision by kind, and the text of each one's value."""

from typing import Any

from minifp.errors import PrecisionError
from minifp.numerics.autocast import LOWS
from minifp.numerics.formats import names
from minifp.numerics.loss_scale_text import DYNAMIC, KINDS, checked_loss_scale
from minifp.numerics.number_format import (
    OPERAND_FORMATS,
    format_named,
    not_stored,
    operand_format,
)
from minifp.numerics.operands import NOW, OPERAND_FIELDS, SAVED, SCALES, steps_of
from minifp.numerics.small_updates import UPDATE_ROUNDINGS
from minifp.numerics.state_format import checked_state_scale
from minifp.numerics.sum_format import sum_format

STORAGE_FIELDS = ("weights", "activations", "gradients")
SUM_FIELDS = ("accumulate", "reduce")
FLAGS = ("master_weights", "compensated")
STORED_FIELDS = (*STORAGE_FIELDS, "norm_parameters", "optimizer_state")
FORMAT_FIELDS = (*STORED_FIELDS, *SUM_FIELDS)
OPTIONAL_FORMATS = (*OPERAND_FIELDS, "second_moment")
STATE_SCALE = "optimizer_state_scale"
OFF = (*OPTIONAL_FORMATS, "operand_scale", STATE_SCALE, "operations")  # may be off, and then None
WORDS: dict[str, tuple[str, ...]] = {
    "update_rounding": UPDATE_ROUNDINGS,
    "operand_scale": SCALES,
    "saved": SAVED,
    "operations": LOWS,
}


def read_switch(key: str, value: str, text: str) -> Any:
    """What a switch of a precision's text is given. Raises PrecisionError, which names the text."""
    if key == "operations" and value == "on":
        return LOWS[0]
    if key in (*FLAGS, "loss_scale"):
        if value in ("on", "off"):
            on = DYNAMIC if key == "loss_scale" else True
            return on if value == "on" else (None if key == "loss_scale" else False)
        if key == "loss_scale" and value.startswith(tuple(KINDS)):
            return checked_loss_scale(value)
        if key == "loss_scale":
            try:
                return checked_loss_scale(float(value))
            except ValueError:
                pass
    elif key in OFF and value == "off":
        return None
    elif key == STATE_SCALE:
        return checked_state_scale(value)
    elif key in SUM_FIELDS:
        return sum_format(value, key).name
    elif key in OPERAND_FIELDS:
        if operand_format(value) is not None:
            return value
    elif key == "operand_scale":
        if value in NOW or steps_of(value) is not None:
            return value
    elif value in WORDS[key] if key in WORDS else format_named(value):
        return value
    raise PrecisionError(
        f"{key}={value!r} in precision {text!r}: expected {expected(key)}{not_stored(value)}"
    )


def expected(key: str) -> str:
    """What a switch takes, for an error."""
    if key == "loss_scale":
        return f"{', '.join(KINDS)}, a positive number or off"
    if key in FLAGS:
        return "on or off"
    if key in OPERAND_FIELDS:
        return f"off, {', '.join(OPERAND_FORMATS)}, {names()}"
    if key in OPTIONAL_FORMATS:
        return f"off, {names()}"
    if key not in WORDS:
        return names()
    *words, last = *WORDS[key], *(["off"] if key in OFF else [])
    return f"{', '.join(words)} or {last}"


def written(value: Any) -> str:
    """The text of a switch's value, as `read_switch` reads it."""
    words = {True: "on", False: "off", None: "off"}
    if isinstance(value, float):
        return f"{value:.17g}"
    return value if isinstance(value, str) else words[value]
