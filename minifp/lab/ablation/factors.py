"""Techniques that can be taken away, and the precisions that all combinations of them make."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product

from minifp.errors import ArgumentError, PrecisionError
from minifp.numerics import policy, precision_parts
from minifp.runtime.nearest import nearest

DEFAULT = ("master_weights", "loss_scale", "accumulate")
WITHOUT = {  # what a switch is where its technique is missing
    "master_weights": "off",
    "loss_scale": "off",
    "accumulate": policy.HALF,
    "reduce": policy.HALF,
    "norm_parameters": policy.HALF,
    "optimizer_state": policy.HALF,
}
WORDS = {
    "master_weights": "master weights",
    "loss_scale": "loss scaling",
    "accumulate": "float32 sums",  # inside of products
    "reduce": "float32 reduce",
    "norm_parameters": "float32 norms",
    "optimizer_state": "float32 state",
}
MOST = 6  # factors: 64 combinations


@dataclass(frozen=True)
class Factor:
    """A switch of a precision, and its value where the technique is missing, as a text."""

    switch: str
    without: str

    @property
    def name(self) -> str:
        """The technique in words."""
        word = WORDS[self.switch]
        return word if self.without == WITHOUT[self.switch] else f"{word} (not {self.without})"

    def removed(self, text: str) -> str:
        """The text of a precision, without this technique."""
        return precision_parts.changed(text, f"{self.switch}={self.without}")


def as_factors(given: Iterable[str] | str, base: policy.Precision) -> list[Factor]:
    """Factors of their names, "loss_scale", or of a name and a value, "loss_scale=128".

    Raises ArgumentError for no factor, one that is there twice, one of another name, and one that
    changes nothing of `base`; PrecisionError for a value that its switch cannot have.
    """
    texts = [given] if isinstance(given, str) else list(given)
    factors: list[Factor] = []
    for text in texts:
        switch, equals, value = (part.strip() for part in str(text).partition("="))
        if switch not in WITHOUT:
            near = " or ".join(nearest(switch, WITHOUT)) or ", ".join(WITHOUT)
            raise ArgumentError(f"no technique {switch!r} to take away: expected {near}")
        factor = Factor(switch, value if equals else WITHOUT[switch])
        if policy.as_precision(factor.removed(str(base))) == base:
            raise ArgumentError(
                f"{switch}={factor.without} is what {str(base)!r} has already: taking it away "
                "changes nothing; leave it out, or give another base"
            )
        if switch in [f.switch for f in factors]:
            raise ArgumentError(f"{switch} is given twice, expected each technique once")
        factors.append(factor)
    if not 1 <= len(factors) <= MOST:
        raise ArgumentError(
            f"{len(factors)} techniques make {2 ** len(factors)} combinations: expected 1 to {MOST}"
        )
    return factors


def as_base(text) -> policy.Precision:
    """The precision whose techniques are taken away. Raises ArgumentError for a control."""
    try:
        return policy.as_precision(text)
    except PrecisionError:
        if isinstance(text, str) and "@" in text:
            raise ArgumentError(f"base={text!r} is a control, expected a precision") from None
        raise


def combinations(base: policy.Precision, factors: list[Factor]) -> dict[tuple, str]:
    """The canonical text of the precision of each combination, by whether each factor is there.

    From all of them to none; the last factor changes fastest.
    """
    cells = {}
    for present in product((True, False), repeat=len(factors)):
        text = str(base)
        for factor, there in zip(factors, present):
            text = text if there else factor.removed(text)
        cells[present] = str(policy.as_precision(text))
    return cells
