"""Techniques that can be taken away, and the precisions that all combinations of them make.

Each is one switch: of the precision ("loss_scale"), of one product of its layers
("wgrad:accumulate"), or of a part for some modules ("*.wgrad:accumulate", or "head", all that the
part `head=float32` says).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product as all_of
from typing import Any

from minifp.errors import ArgumentError, PrecisionError
from minifp.numerics import policy, precision_parts, products
from minifp.numerics.operands import rounds_operands
from minifp.numerics.precision_grammar import (
    OFF,
    Text,
    read,
    read_control,
    read_pair,
    read_part,
    read_product,
    written,
    written_product,
)
from minifp.numerics.state_format import takes_state_scale
from minifp.runtime.nearest import nearest

DEFAULT = ("master_weights", "loss_scale", "accumulate")
OF_PRODUCT = written_product(products.WGRAD, "accumulate")
# Each switch: what it is where its technique is missing, and the technique in words, with {} for
# what the switch is where it is there.
TECHNIQUES = {
    "master_weights": (OFF, "master weights"),
    "loss_scale": (OFF, "loss scaling"),
    "accumulate": (policy.HALF, "{} sums"),  # inside of products
    "reduce": (policy.HALF, "{} reduce"),
    "norm_parameters": (policy.HALF, "{} norms"),
    "optimizer_state": (policy.HALF, "{} state"),
    "operands": (OFF, "{} operands"),
    "gradient_operands": (OFF, "{} gradient operands"),
    "operand_scale": (OFF, "{} operand scale"),
    "second_moment": (OFF, "{} second moments"),
    "optimizer_state_scale": (OFF, "{} state scale"),
    "update_rounding": ("nearest", "{} updates"),
    "compensated": (OFF, "compensation"),
}
WITHOUT = {name: missing for name, (missing, _) in TECHNIQUES.items()}
WORDS = {name: words for name, (_, words) in TECHNIQUES.items()}
SCALES = {  # each, and whether a precision has anything that it multiplies
    "operand_scale": rounds_operands,
    "optimizer_state_scale": takes_state_scale,
}
MOST = 6  # factors: 64 combinations


@dataclass(frozen=True)
class Factor:
    """One technique. switch: its name, as above; name: the technique in words.

    there: what the switch is where the technique is there; without: where it is missing, None where
    the precision then says nothing of it. is_usual: whether that was not asked for. of_part:
    whether a part of the precision says it.
    """

    switch: str
    name: str
    there: str
    without: str | None
    is_usual: bool
    of_part: bool

    @property
    def missing(self) -> str:
        """Where it is missing, in a table."""
        return "no" if self.is_usual else str(self.without)

    def removed(self, text: Text) -> Text:
        """The text of a precision, without this technique."""
        return text.saying(self.switch, self.without, self.of_part)


def as_factors(names: Iterable[str] | str, base: policy.Precision) -> list[Factor]:
    """Factors of their names, "loss_scale", or of a name and a value, "loss_scale=128".

    Raises ArgumentError for no factor, one that is there twice, one of another name, and one that
    changes nothing of `base`; PrecisionError for a value that its switch cannot have, and for a
    product or a switch of one that there is not.
    """
    texts = [names] if isinstance(names, str) else list(names)
    factors: list[Factor] = []
    for text in texts:
        switch, value = read_pair(str(text))
        factor = as_factor(switch, None if switch == str(text).strip() else value, base)
        if factor.without == factor.there or precision_without([factor], base) == base:
            raise ArgumentError(
                f"{switch}={factor.without} is what {str(base)!r} already has: taking it away "
                "changes nothing; leave it out, or give another base"
            )
        if switch in [f.switch for f in factors]:
            raise ArgumentError(f"{switch} appears twice: expected each technique once")
        factors.append(factor)
    if not 1 <= len(factors) <= MOST:
        number = f"{len(factors)} techniques make {2 ** len(factors)} combinations"
        raise ArgumentError(f"{number}: expected 1 to {MOST}")
    return factors


def as_factor(name: str, value: str | None, base: policy.Precision) -> Factor:
    """The Factor of a name, and of what it is where it is missing, if that was said."""
    switch, of, value_there = described(name, base)
    own, there = dict(base.products) | dict(base.parts), written(value_there)
    usual = None if name in own or switch is None else WITHOUT[switch]
    without = usual if value is None else value
    word = WORDS[switch] if switch else "{}"
    word = f"no {word.format('').strip()}" if there == OFF else word.format(there)
    instead = "" if without == usual else f" (not {without})"
    of_part = name not in WITHOUT and is_of_part(name, base)
    return Factor(name, f"{word}{of}{instead}", there, without, without == usual, of_part)


def is_of_part(name: str, base: policy.Precision) -> bool:
    """Whether a name is that of a part, or of a switch of a product of some modules."""
    pattern, of_product = read_part(name)
    return name in dict(base.parts) or (pattern is not None and of_product is not None)


def described(name: str, base: policy.Precision) -> tuple[str | None, str, Any]:
    """(its switch, of which products of which modules in words, its value in `base`). The switch is
    None for a part that is a precision. Raises as `as_factors`."""
    if name in WITHOUT:
        return name, "", getattr(base, name)
    if is_of_part(name, base):
        part = precision_parts.read_part(name, dict(base.parts).get(name))
        if part.switch is None:
            return None, f" in {part.pattern}", part.text
        there = part.text or getattr(products.of_product(base, part.product), part.switch)
        return part.switch, f" of {part.product} in {part.pattern}", there
    if read_product(name):
        product, switch = products.read_key(name, "to take away")
        return switch, f" of {product}", getattr(products.of_product(base, product), switch)
    near = " or ".join(nearest(name, WITHOUT)) or ", ".join(WITHOUT)
    raise ArgumentError(
        f"no technique {name!r} to take away: expected {near}, the switch of a product, as "
        f"{OF_PRODUCT}, of parts, as *.{OF_PRODUCT}, or the pattern of a part of the base"
    )


def as_base(text) -> policy.Precision:
    """The precision whose techniques are taken away. Raises ArgumentError for a control."""
    try:
        return policy.as_precision(text)
    except PrecisionError:
        if isinstance(text, str) and read_control(text)[1] is not None:
            raise ArgumentError(f"base={text!r} is a control, expected a precision") from None
        raise


def precision_without(missing: list[Factor], base: policy.Precision) -> policy.Precision:
    """A precision without some techniques. A scale that is left with nothing to multiply is off.

    Raises PrecisionError where what remains is none, as it has a switch that would do nothing.
    """
    text = read(str(base))
    for factor in missing:
        text = factor.removed(text)
    try:
        plain = policy.as_precision(str(text.changed(*((scale, OFF) for scale in SCALES))))
        idle = [(scale, OFF) for scale, is_used in SCALES.items() if not is_used(plain)]
        return policy.as_precision(str(text.changed(*idle)))
    except PrecisionError as error:
        raise PrecisionError(f"{str(base)!r} without {names_of(missing)}: {error}") from None


def names_of(factors: list[Factor]) -> str:
    """Their names, for an error."""
    return " and ".join(factor.switch for factor in factors)


def combinations(base: policy.Precision, factors: list[Factor]) -> dict[tuple, str]:
    """The canonical text of the precision of each combination, by whether each factor is there.

    From all of them to none; the last factor changes fastest. Raises PrecisionError for one that is
    no precision, and ArgumentError for two that are the same.
    """
    cells: dict[tuple, str] = {}
    for present in all_of((True, False), repeat=len(factors)):
        missing = [factor for factor, there in zip(factors, present) if not there]
        text = str(precision_without(missing, base))
        if text in cells.values():
            raise ArgumentError(
                f"{str(base)!r} without {names_of(missing)} is {text!r}, the same as another "
                "combination: expected techniques that have an effect without each other; leave "
                "one out"
            )
        cells[present] = text
    return cells
