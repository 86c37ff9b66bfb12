"""Parts of a precision, each for the modules of a model that a pattern names.

    mixed;decoder.*=bfloat16;decoder.norm=float32

A pattern is a shell's (fnmatch, whose * also matches dots), for the dotted path of a module as
`named_modules()` gives it; "*" matches the model itself, whose path is "". What holds for a module
holds for all inside of it, unless a later part says otherwise.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase

from minifp.errors import PrecisionError

BETWEEN = ";"
PATTERN = re.compile(r"[\w.*?\[\]!-]+")
EXPECTED = (
    "expected pattern=precision, with the path of modules, perhaps with *, ? and [...], as in "
    '"mixed;decoder.*=bfloat16;head=float32"'
)


def split(text: str) -> tuple[str, list[tuple[str, str]]]:
    """The precision of the whole, and each (pattern, text). Raises PrecisionError."""
    whole, *parts = text.split(BETWEEN)
    pairs = []
    for part in parts:
        pattern, equals, of_part = (word.strip() for word in part.partition("="))
        if not equals or not of_part:
            raise PrecisionError(f"part {part.strip()!r} of precision {text!r}: {EXPECTED}")
        pairs.append((pattern, of_part))
    return whole, pairs


def changed(text: str, *changes: str) -> str:
    """The text of a precision with changes such as "loss_scale=128" of the whole."""
    whole, *parts = text.split(BETWEEN)
    return BETWEEN.join([",".join([whole, *changes]), *parts])


def checked(
    given: Mapping[str, str] | Iterable[tuple[str, str]], canonical: Callable[[str], str]
) -> tuple[tuple[str, str], ...]:
    """The parts, pairs of a pattern and its precision's canonical text. Raises PrecisionError."""
    pairs, seen = [], set()
    try:
        items = [(p, t) for p, t in (given.items() if isinstance(given, Mapping) else given)]
    except (TypeError, ValueError):
        raise PrecisionError(f"parts={given!r}: expected {{pattern: precision}}") from None
    for pattern, text in items:
        if not isinstance(pattern, str) or not PATTERN.fullmatch(pattern):
            raise PrecisionError(f"{pattern!r} as the pattern of a part: {EXPECTED}")
        if not isinstance(text, str) or BETWEEN in text:
            raise PrecisionError(
                f"part {pattern!r}: {text!r}: expected the text of a precision without parts"
            )
        if pattern in seen:
            raise PrecisionError(f"part {pattern!r} is there twice: expected each pattern once")
        seen.add(pattern)
        try:
            pairs.append((pattern, canonical(text)))
        except PrecisionError as error:
            raise PrecisionError(f"part {pattern!r}: {error}") from None
    return tuple(pairs)


def holds_for(pattern: str, path: str) -> bool:
    """Whether a pattern matches the module at a path, or one that it is inside of."""
    names = path.split(".") if path else []
    return any(fnmatchcase(".".join(names[:n]), pattern) for n in range(len(names) + 1))
