"""The switches of a precision: what each may be, how its text is read, and what it decides."""

from collections.abc import Callable
from typing import Any, NamedTuple

from minifp.errors import PrecisionError
from minifp.numerics import operands
from minifp.numerics.autocast import LOWS
from minifp.numerics.formats import names
from minifp.numerics.loss_scale_text import DYNAMIC, KINDS, checked_loss_scale
from minifp.numerics.number_format import OPERAND_FORMATS, format_named, not_stored, operand_format
from minifp.numerics.precision_grammar import FLAGS as WORDS
from minifp.numerics.precision_grammar import OFF, ON, written_count
from minifp.numerics.small_updates import UPDATE_ROUNDINGS
from minifp.numerics.state_format import BLOCK, TENSOR, checked_state_scale
from minifp.numerics.sum_format import CHUNKED, sum_format

STORAGE = "storage"  # in a text: all of STORAGE_FIELDS
STORAGE_FIELDS = ("weights", "activations", "gradients")
SUM_FIELDS = ("accumulate", "reduce")
FLAGS = ("master_weights", "compensated")
STORED_FIELDS = (*STORAGE_FIELDS, "norm_parameters", "optimizer_state")
FORMAT_FIELDS = (*STORED_FIELDS, *SUM_FIELDS)
OPTIONAL_FORMATS = (*operands.OPERAND_FIELDS, "second_moment")
STATE_SCALE = "optimizer_state_scale"


# ---- what switches may be -----------------------------------------------------------------------


class Values(NamedTuple):
    """What a switch may be. told: in an error; brief: the same where formats and patterns are
    explained beside it; read: the value of a word, or None of a word that is none, where it does
    not raise a PrecisionError itself; is_optional: whether "off" is None."""

    told: str
    brief: str
    read: Callable[[str], Any]
    is_optional: bool = False


class Switch(NamedTuple):
    """One switch: what it decides, what it may be, and one of these values."""

    decides: str
    values: Values
    example: str


def one_of(words: tuple[str, ...], is_optional: bool = False) -> Values:
    """These words, and perhaps "off"."""
    *most, last = *words, *([OFF] if is_optional else [])
    text = f"{', '.join(most)} or {last}"
    return Values(text, text, lambda word: word if word in words else None, is_optional)


def formats(known: Callable[[str], Any], also: str = "", is_optional: bool = False) -> Values:
    """The formats that `known` knows. also: what they are called beside those that tensors have."""
    text = f"{OFF}, {also}{names()}" if is_optional else names()
    brief = f"format or {OFF}" if is_optional else "format"
    return Values(text, brief, lambda word: word if known(word) else None, is_optional)


def sums(switch: str) -> Values:
    """The sums of `accumulate` or of `reduce`."""
    brief = f"format or {CHUNKED}:N"
    return Values(names(), brief, lambda word: sum_format(word, switch).name)


def read_loss_scale(word: str) -> Any:
    """The value of loss_scale, but "off"."""
    if word == ON:
        return DYNAMIC
    if word.startswith(tuple(KINDS)):
        return checked_loss_scale(word)
    try:
        return checked_loss_scale(float(word))
    except ValueError:
        return None


def read_operations(word: str) -> Any:
    """The value of operations, but "off"."""
    return LOWS[0] if word == ON else OPERATIONS.read(word)


FORMAT = formats(format_named)
OPERAND = formats(operand_format, f"{', '.join(OPERAND_FORMATS)}, ", True)
FLAG = Values("on or off", "on or off", WORDS.get)
OPERATIONS = one_of(LOWS, True)
OPERAND_SCALE = Values(
    f"{', '.join(operands.SCALES)} or {OFF}",
    f"{operands.CURRENT}, {operands.ROW}, {operands.DELAYED}:N, "
    f"{', '.join(operands.BY_DIVISION)} or {OFF}",
    lambda word: word if operands.read_scale(word) else None,
    True,
)
PER_STATE = f"{TENSOR}, {BLOCK}:N or {OFF}"
LOSS_SCALES = f"{', '.join(KINDS)}, a positive number or {OFF}"

# ---- the switches -------------------------------------------------------------------------------

TABLE = {
    "weights": Switch("weights, as layers read them", FORMAT, "bfloat16"),
    "activations": Switch("what operations write", FORMAT, "bfloat16"),
    "gradients": Switch("of activations and of weights", FORMAT, "float8_e5m2"),
    "accumulate": Switch("partial sums inside of products", sums("accumulate"), "chunked:32"),
    "reduce": Switch("partial sums of means, norms, softmax", sums("reduce"), "float16"),
    "operands": Switch(
        "to what activations and weights are rounded before they are multiplied",
        OPERAND,
        "float8_e4m3fn",
    ),
    "gradient_operands": Switch("the same of gradients", OPERAND, "float8_e5m2"),
    "operand_scale": Switch(
        "whose largest number scales them first, that of the tensor, its rows, or N earlier steps, "
        "to a power of two, or with factor=exact to the largest number of the format",
        OPERAND_SCALE,
        written_count(operands.DELAYED, 16),
    ),
    "saved": Switch(
        "what backward reads, as it was stored or as it was multiplied",
        one_of(operands.SAVED),
        "operands",
    ),
    "norm_parameters": Switch(
        "scale, shift and statistics of normalisation layers", FORMAT, "float16"
    ),
    "master_weights": Switch("a float32 copy of narrow weights, for updates", FLAG, ON),
    "update_rounding": Switch(
        "how weights without that copy are rounded", one_of(UPDATE_ROUNDINGS), "stochastic"
    ),
    "compensated": Switch("these rounding errors enter the next update", FLAG, ON),
    "optimizer_state": Switch("momentum and moments", FORMAT, "float16"),
    "second_moment": Switch(
        "second moments, if not the same", formats(format_named, is_optional=True), "float16"
    ),
    STATE_SCALE: Switch(
        "which numbers of both share a scale",
        Values(PER_STATE, PER_STATE, checked_state_scale, True),
        written_count(BLOCK, 2048),
    ),
    "loss_scale": Switch(
        "by what gradients are multiplied",
        Values(LOSS_SCALES, LOSS_SCALES.replace("a positive ", ""), read_loss_scale, True),
        "128",
    ),
    "operations": Switch(
        "autocast, the narrow format that operations cast to",
        OPERATIONS._replace(read=read_operations),
        LOWS[-1],
    ),
}


def read_switch(key: str, value: str, text: str) -> Any:
    """What a switch of a precision's text is given. Raises PrecisionError, which names the text."""
    values = FORMAT if key == STORAGE else TABLE[key].values
    if values.is_optional and value == OFF:
        return None
    result = values.read(value)
    if result is None:
        raise PrecisionError(
            f"{key}={value!r} in precision {text!r}: expected {values.told}{not_stored(value)}"
        )
    return result
