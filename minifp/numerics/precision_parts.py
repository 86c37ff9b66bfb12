"""Parts of a precision, each for the modules of a model that a pattern names.

    mixed;decoder.*=bfloat16;decoder.norm=float32

A pattern is a shell's (fnmatch, whose * also matches dots), for the dotted path of a module as
`named_modules()` gives it; "*" matches the model itself, whose path is "". What holds for a module
holds for all inside of it, unless a later part says otherwise.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any

from minifp.errors import PrecisionError

BETWEEN = ";"
SHARED = ("master_weights", "update_rounding", "compensated", "optimizer_state", "loss_scale")
STATE = ("by_references", "shapes_only", "whole")  # what a precision has beside its switches
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


def joined(whole: str, parts: Iterable[tuple[str, str]]) -> str:
    """The text that `split` reads."""
    return BETWEEN.join([whole, *(f"{pattern}={text}" for pattern, text in parts)])


def checked(
    given: Mapping[str, str] | Iterable[tuple[str, str]], parse: Callable[[str], Any]
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
            check_own(text)
            pairs.append((pattern, parse(text).text(SHARED)))
        except PrecisionError as error:
            raise PrecisionError(f"part {pattern!r}: {error}") from None
    return tuple(pairs)


def check_own(text: str) -> None:
    """Raise PrecisionError for a switch that modules do not have one by one."""
    names = [change.partition("=")[0].strip() for change in text.split(",")]
    shared = next((name for name in names if name in SHARED), None)
    if shared is not None:
        raise PrecisionError(
            f"{shared} is one for all parameters of an optimizer: expected it before the first "
            f'"{BETWEEN}", as in "mixed,{shared}=...;head=float32"'
        )


def holds_for(pattern: str, path: str) -> bool:
    """Whether a pattern matches the module at a path, or one that it is inside of."""
    names = path.split(".") if path else []
    return any(fnmatchcase(".".join(names[:n]), pattern) for n in range(len(names) + 1))


# ---- the parts of a model ------------------------------------------------------------------------


class InParts:
    """What a Precision is to the modules of a model.

    parts: as `checked` returns them. whole: of a precision that modules were assigned, that of the
    model; None before.
    """

    parts: Any
    whole: Any
    parse: Any

    @property
    def awaits(self) -> bool:
        """Whether it has parts that no module has been assigned."""
        return bool(self.parts) and self.whole is None

    @cached_property
    def assigned(self) -> tuple:
        """What modules are assigned: those of no part this precision, those of each part its own.
        All of them know the whole."""
        of_parts = [self.parse(text) for _, text in self.parts]
        found = tuple([with_state(replace(p), self) for p in (self, *of_parts)])
        for p in found:
            p.__dict__.update(whole=found[0], assigned=found)
        return found

    def of_module(self, path: str) -> Any:
        """That of `assigned` which the module at a path has: of the last part that holds for it."""
        patterns = [pattern for pattern, _ in self.parts]
        numbers = [i for i, pattern in enumerate(patterns, 1) if holds_for(pattern, path)]
        return self.assigned[numbers[-1] if numbers else 0]

    def __reduce__(self) -> tuple:
        if self.whole is None:
            return self.parse, (str(self),)
        return assigned_in, (self.parse, str(self.whole), self.whole.assigned.index(self))


def assigned_in(parse: Callable[[str], Any], text: str, index: int) -> Any:
    """One of what modules are assigned of a precision, as a pickle names it."""
    return parse(text).assigned[index]


def with_state(new: Any, old: Any, **state: Any) -> Any:
    """A new precision with the state of another, but for `state`."""
    new.__dict__.update({name: getattr(old, name) for name in STATE}, **state)
    return new


def whole_of(p: Any) -> Any:
    """The precision of the model that a precision is a part of; itself if it is no part."""
    return p.whole or p
