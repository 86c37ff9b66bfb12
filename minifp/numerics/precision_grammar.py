"""The grammar of the texts that name precisions: what stands where, read and printed.

Which words there are, and what they mean, is told by others: the names by policy.py, switches by
switches.py, those of products by products.py, patterns by precision_parts.py, the settings of a
loss scale by loss_scale_text.py, those of a format by number_format.py, controls by lab/arms.py.
"""

import re
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any, NamedTuple

from minifp.errors import PrecisionError

# As `minifp help precision` prints it. A control is a precision "@" word: `minifp help controls`.
GRAMMAR = """\
precision = name {"," change} {";" part}
change    = switch "=" value | operation "=" format | product ":" switch "=" value
part      = pattern "=" name {"," change} | pattern "." product ":" switch "=" value
value     = word [":" count] {"+" setting "=" word}
"""
ON, OFF = "on", "off"
FLAGS = {ON: True, OFF: False}
SETTING = re.compile(r"\+(?! *\d)")  # a plus before a digit is that of a number: 1e+20
MOST_DIGITS = 18  # of a count, which then is an int64
PART = (
    "expected pattern=precision, where pattern is a path of modules, also with *, ? and [...], as "
    'in "mixed;decoder.*=bfloat16;head=float32", or pattern.product:switch=value, as in '
    '"mixed;*.wgrad:accumulate=float16"'
)
Pair = tuple[str, str]  # what stands before the first "=" and behind it, "" where there is none


class Text(NamedTuple):
    """A text that was read; `str` prints it. Spaces around words are gone.

    name: the first word. changes, parts: in their order; the key of a part is a pattern, perhaps
    with a product's switch, and behind it stands a text without parts, or that switch's value.
    """

    name: str
    changes: tuple[Pair, ...] = ()
    parts: tuple[Pair, ...] = ()

    @property
    def whole(self) -> str:
        """The text without the parts."""
        return ",".join([self.name, *map(written_pair, self.changes)])

    def __str__(self) -> str:
        return ";".join([self.whole, *map(written_pair, self.parts)])

    def changed(self, *changes: Pair) -> "Text":
        """The text with changes of the whole behind its own."""
        return self._replace(changes=(*self.changes, *changes))

    def saying(self, key: str, value: str | None, of_part: bool = False) -> "Text":
        """The text as it is where it says `value` of a key, which keeps its place; None: nothing.

        of_part: whether the key is that of a part, and not of a change of the whole.
        """
        pairs = dict(self.parts if of_part else self.changes)
        if value is None:
            pairs.pop(key, None)
        else:
            pairs[key] = value
        said = tuple(pairs.items())
        return self._replace(parts=said) if of_part else self._replace(changes=said)


def read(text: str) -> Text:
    """Read the text of a precision. Raises PrecisionError for a part without "=" or a text."""
    whole, *parts = text.split(";")
    name, *changes = whole.split(",")
    read_parts = [read_pair(part) for part in parts]
    for part, (_, of_part) in zip(parts, read_parts):
        if not of_part:
            raise PrecisionError(f"part {part.strip()!r} of precision {text!r}: {PART}")
    return Text(name.strip(), tuple(map(read_pair, changes)), tuple(read_parts))


def read_pair(text: str) -> Pair:
    """("loss_scale", "128") of "loss_scale = 128"; ("loss_scale", "") of the word alone."""
    key, _, value = text.partition("=")
    return key.strip(), value.strip()


def written_pair(pair: Pair) -> str:
    """The text that `read_pair` reads."""
    key, value = pair
    return f"{key}={value}" if value else key


# ---- keys ---------------------------------------------------------------------------------------


def read_product(key: str) -> Pair | None:
    """(product, switch) of "wgrad:accumulate"; None of a key that names no product."""
    product, colon, switch = key.partition(":")
    return (product, switch) if colon else None


def read_part(key: str) -> tuple[str | None, str | None]:
    """(pattern, key of a product's switch) of a part's key: ("head", None) of "head", and of
    "fc*.wgrad:accumulate" ("fc*", "wgrad:accumulate"); the pattern is None where it is missing."""
    before, colon, switch = key.partition(":")
    pattern, dot, product = before.rpartition(".")
    if not colon:
        return key, None
    return pattern if dot else None, written_product(product, switch)


def written_product(product: str, switch: str) -> str:
    """The key that `read_product` reads."""
    return f"{product}:{switch}"


# ---- values -------------------------------------------------------------------------------------


def read_count(text: str, most_digits: int = MOST_DIGITS) -> tuple[str, int | None] | None:
    """("block", 32) of "block:32", ("row", None) of "row"; None where what stands behind ":" is no
    whole number of at least 1 and at most so many digits."""
    word, colon, count = text.partition(":")
    if not colon:
        return word, None
    is_number = count.isascii() and count.isdigit()
    return (word, int(count)) if is_number and 1 <= len(count.lstrip("0")) <= most_digits else None


def written_count(word: str, count: int | None) -> str:
    """The text that `read_count` reads."""
    return word if count is None else f"{word}:{count}"


def read_settings(text: str) -> tuple[str, list[Pair]]:
    """("dynamic", [("patience", "9")]) of "dynamic+patience=9"."""
    word, *settings = SETTING.split(text)
    return word.strip(), list(map(read_pair, settings))


def written_settings(word: str, settings: Iterable[tuple[str, Any]]) -> str:
    """The text that `read_settings` reads, of settings with their values."""
    pairs = [(name, written(value).replace("e+", "e")) for name, value in settings]
    return "+".join([word, *map(written_pair, pairs)])


def written(value: Any) -> str:
    """The word of a value: a word, a number, True, or False or None for "off"."""
    if isinstance(value, str):
        return value
    if isinstance(value, Real) and not isinstance(value, bool):
        return str(value) if isinstance(value, Integral) else f"{value:.17g}"
    return ON if value else OFF


def read_control(text: str) -> tuple[str, str | None]:
    """("mixed", "ulp") of "mixed@ulp"; the control is None where there is no "@"."""
    precision, at, control = text.rpartition("@")
    return (precision, control) if at else (text, None)


def written_control(precision: str, control: str | None) -> str:
    """The text that `read_control` reads."""
    return f"{precision}@{control}" if control else precision
