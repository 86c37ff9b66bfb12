"""Arms of a comparison: a precision, or a control, which is a precision with one small disturbance.

    float32@order     another order of the data
    float32@ulp       one weight moved by one unit in its last place, before training
    float32@kernels   all computed by the NumPy references, whose sums have another order
    float32@repeat    the same once more: the difference must be exactly zero

None of them should matter. So what they do to a result is how far apart equally good runs end, and
a precision that differs by no more is nothing special.
"""

from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from minifp.errors import ArgumentError
from minifp.numerics import policy
from minifp.numerics.precision_grammar import read_control, written_control
from minifp.runtime.cuda.arrays import is_on_device, to_host
from minifp.runtime.nearest import nearest

CONTROLS = {
    "order": "another order of the data",
    "ulp": "one weight moved by one unit in its last place",
    "kernels": "computed by the NumPy references",
    "repeat": "the same once more",
}
OTHER_ORDER = 1 << 40  # what is added to the seed of the order


@dataclass(frozen=True)
class Arm:
    """A precision, and the name of a control or "". Its text is `str`: "mixed@ulp"."""

    precision: policy.Precision
    control: str = ""

    def __str__(self) -> str:
        return written_control(str(self.precision), self.control)

    @property
    def is_control(self) -> bool:
        """Whether it is a disturbance of a precision."""
        return bool(self.control)

    @contextmanager
    def active(self):
        """Within, all is built and computed as the arm says."""
        of_references = policy.by_references if self.control == "kernels" else lambda p: p
        with policy.precision(of_references(self.precision)):
            yield

    def order_seed(self, seed: int) -> int:
        """The seed of the order of the data."""
        return seed + OTHER_ORDER if self.control == "order" else seed

    def disturb(self, models, seed: int) -> None:
        """Move one weight, drawn by the seed, to the next number of its format, if the arm says so.

        models: by name, as they were built, without masters yet.
        """
        if self.control != "ulp":
            return
        parameters = [p for m in models.values() for p in m.parameters() if p.numel()]
        # Next to 0 is a number so small that the first sum loses it.
        parameters = [p for p in parameters if p.numpy().any()] or parameters
        draw = np.random.default_rng(seed)
        parameter = parameters[draw.integers(len(parameters))]
        stored = parameter.numpy().ravel()
        nonzero = np.flatnonzero(stored)
        chosen = draw.choice(nonzero if nonzero.size else np.arange(stored.size))
        numbers = parameter.array if parameter.exact is None else parameter.exact
        numbers = np.array(to_host(numbers) if is_on_device(numbers) else numbers)
        numbers.ravel()[chosen] = np.nextafter(stored[chosen], stored.dtype.type(np.inf))
        parameter.data = numbers


def as_arm(text) -> Arm:
    """The arm that "float32@order" or a precision means. Raises ArgumentError for no control, and
    PrecisionError for no precision."""
    if isinstance(text, Arm):
        return text
    precision, control = read_control(text) if isinstance(text, str) else (text, None)
    if control is None:
        return Arm(policy.as_precision(text))
    if control not in CONTROLS:
        near = " or ".join(nearest(control, CONTROLS)) or ", ".join(CONTROLS)
        raise ArgumentError(f"{text!r}: no control {control!r}, expected {near}")
    return Arm(policy.as_precision(precision), control)


def split(text: str) -> tuple[str, str]:
    """(precision, control or "") of the canonical text of an arm."""
    precision, control = read_control(text)
    return precision, control or ""


def is_control(text: str) -> bool:
    """Whether the canonical text of an arm is that of a control."""
    return read_control(text)[1] is not None


def partner(text: str, baseline: str) -> str | None:
    """What an arm is held against: a control, the precision that it disturbs; any other, the
    baseline; the baseline, nothing."""
    precision, control = split(text)
    if control:
        return precision
    return baseline if text != baseline else None
