"""Parts of a precision, each for the modules of a model that a pattern names.

    mixed;decoder.*=bfloat16;decoder.norm=float32;*.wgrad:accumulate=float16

A part is pattern=precision, or pattern.product:switch=value, which changes one switch of one of the
three products (see products.py) of modules and leaves their precision as it is otherwise. A
pattern is a shell's (fnmatch, whose * also matches dots), for the dotted path of a module as
`named_modules()` gives it; "*" matches the model itself, whose path is "". What holds for a module
holds for all inside of it, unless a later part says otherwise: a precision is that of all, also
of what earlier parts have changed.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any, NamedTuple

from minifp.errors import PrecisionError
from minifp.numerics import precision_grammar, products
from minifp.numerics.precision_grammar import PART, written

SHARED = "master_weights", "update_rounding", "compensated", "optimizer_state", "second_moment"
SHARED += "optimizer_state_scale", "loss_scale"
STATE = ("by_references", "shapes_only", "whole", "place")  # what it has beside its switches
PATTERN = re.compile(r"[\w.*?\[\]!-]+")


class Part(NamedTuple):
    """A part that was read. key: what stands before its first "=", of which the rest is made;
    text: what stands behind, of a precision or of the value of the product's switch."""

    key: str
    text: str
    pattern: str
    product: str | None = None
    switch: str | None = None

    @property
    def of_product(self) -> str:
        """The key of its product's switch."""
        return precision_grammar.written_product(str(self.product), str(self.switch))

    @property
    def told(self) -> str:
        """What holds for its modules: "bfloat16", or "accumulate=float32"."""
        if self.switch is None:
            return self.text
        return precision_grammar.written_pair((self.switch, self.text))


def read_part(key: Any, text: Any) -> Part:
    """A part from its key. Raises PrecisionError for one that cannot be read."""
    pattern, of_product = precision_grammar.read_part(key) if isinstance(key, str) else (None, None)
    product, _ = precision_grammar.read_product(of_product or "") or ("", "")
    if pattern is None and product in products.PRODUCTS:
        raise PrecisionError(
            f"part {key!r} names no modules: expected *.{key}={text} for a whole model; or "
            f'{key}={text} before the first ";", for everything'
        )
    if pattern is None or not PATTERN.fullmatch(pattern):
        raise PrecisionError(f"{key!r} as the pattern of a part: {PART}")
    if of_product is None:
        return Part(key, text, pattern)
    return Part(key, text, pattern, *products.read_key(of_product, f"in part {key!r}"))


def checked(
    parts: Mapping[str, str] | Iterable[tuple[str, str]], parse: Callable[[str], Any]
) -> tuple[tuple[str, str], ...]:
    """The parts, pairs of what stands before and behind the first "=": a pattern and its
    precision's canonical text, or a switch of a product and its value. Raises PrecisionError."""
    pairs, seen = [], set()
    try:
        items = [(p, t) for p, t in (parts.items() if isinstance(parts, Mapping) else parts)]
    except (TypeError, ValueError):
        raise PrecisionError(f"parts={parts!r}: expected {{pattern: precision}}") from None
    for pattern, text in items:
        part = read_part(pattern, text)
        if not isinstance(text, str) or precision_grammar.read(text).parts:
            raise PrecisionError(
                f"part {pattern!r}: {text!r}: expected the text of a precision without parts"
            )
        if pattern in seen:
            raise PrecisionError(f"part {pattern!r} appears twice: expected each pattern once")
        seen.add(pattern)
        try:
            if part.product is not None:
                value = products.read(part.of_product, text, f"{pattern}={text}")
                pairs.append((pattern, written(value)))
                continue
            check_own(text)
            pairs.append((pattern, parse(text).text(SHARED)))
        except PrecisionError as error:
            raise PrecisionError(f"part {pattern!r}: {error}") from None
    return tuple(pairs)


def check_own(text: str) -> None:
    """Raise PrecisionError for a switch that modules do not have one by one."""
    keys = [key for key, _ in precision_grammar.read(text).changes]
    shared = next((key for key in keys if key in SHARED), None)
    if shared is not None:
        raise PrecisionError(
            f"{shared} holds for all parameters of an optimizer: expected it before the first "
            f'";", as in "mixed,{shared}=...;head=float32"'
        )


def holds_for(pattern: str, path: str) -> bool:
    """Whether a pattern matches the module at a path, or one that it is inside of."""
    names = path.split(".") if path else []
    return any(fnmatchcase(".".join(names[:n]), pattern) for n in range(len(names) + 1))


# ---- the parts of a model ------------------------------------------------------------------------


class InParts:
    """What a Precision is to the modules of a model.

    parts: as `checked` returns them. whole: of a precision that modules were assigned, that of the
    model; None before. place: then its number in `assigned`, and the numbers of the parts that have
    changed switches of its products.
    """

    parts: Any
    whole: Any
    parse: Any
    place: tuple[int, ...] = ()

    @property
    def awaits(self) -> bool:
        """Whether it has parts that no module has been assigned."""
        return bool(self.parts) and self.whole is None

    @cached_property
    def read_parts(self) -> list[Part]:
        """The parts, read."""
        return [read_part(*pair) for pair in self.parts]

    @cached_property
    def assigned(self) -> tuple:
        """What modules are assigned: those of no part this precision, those of each part its own,
        before switches of products are changed. All of them know the whole."""
        of_parts = [self.parse(part.text) for part in self.read_parts if part.product is None]
        several = tuple([with_state(replace(p), self) for p in (self, *of_parts)])
        for number, p in enumerate(several):
            p.__dict__.update(whole=several[0], place=(number,), assigned=several)
        return several

    @cached_property
    def with_changes(self) -> dict[tuple[int, ...], Any]:
        """Those of `assigned` with switches of products changed by parts, by their places."""
        return {}

    def of_module(self, path: str) -> Any:
        """What the module at a path is assigned: the last precision that holds for it, with what
        later parts change. Raises PrecisionError where they leave a switch nothing to do."""
        place, count = (0,), 0
        for number, part in enumerate(self.read_parts):
            count += part.product is None
            if holds_for(part.pattern, path):
                place = (count,) if part.product is None else (*place, number)
        return self.at(place)

    def at(self, place: tuple[int, ...]) -> Any:
        """What is assigned at a place."""
        base = self.assigned[place[0]]
        if len(place) == 1:
            return base
        known = self.assigned[0].with_changes
        if place not in known:
            parts = [self.read_parts[number] for number in place[1:]]
            own = {part.of_product: part for part in parts}
            values = {key: products.read(key, part.text, part.key) for key, part in own.items()}
            try:
                changed = replace(base, products=dict(base.products) | values, parts=())
            except PrecisionError as error:
                by = " and ".join(f"{part.key}={part.text}" for part in parts)
                raise PrecisionError(f"part {by}: {error}") from None
            known[place] = with_state(changed, base, place=place, assigned=base.assigned)
        return known[place]

    @property
    def base(self) -> Any:
        """That of `assigned` which this is but for switches of products; itself if it is none."""
        return self.whole.assigned[self.place[0]] if self.place else self

    @property
    def has_door(self) -> bool:
        """Whether activations that enter its modules are cast to its format: of parts that are
        precisions, and of no whole."""
        return bool(self.place and self.place[0])

    def part_of(self, product: str | None, switch: str) -> Part | None:
        """The part that has decided a switch of a product; None for this precision itself."""
        parts = [self.whole.read_parts[number] for number in self.place[1:]]
        own = [part for part in parts if (part.product, part.switch) == (product, switch)]
        return own[-1] if own else None

    def __reduce__(self) -> tuple:
        if self.whole is None:
            return self.parse, (str(self),)
        return assigned_in, (self.parse, str(self.whole), self.place)


def assigned_in(parse: Callable[[str], Any], text: str, place: tuple[int, ...]) -> Any:
    """One of what modules are assigned of a precision, as a pickle names it."""
    return parse(text).at(place)


def with_state(new: Any, old: Any, **state: Any) -> Any:
    """A new precision with the state of another, but for `state`."""
    new.__dict__.update({name: getattr(old, name) for name in STATE}, **state)
    return new


def whole_of(p: Any) -> Any:
    """The precision of the model that a precision is a part of; itself if it is no part."""
    return p.whole or p
