"""What the microscope sees of a task in float32 before anything else is trained: which loss scales
it advises, and where the gradients of activations lie (figure 3 of Micikevicius et al. 2018, which
was gathered in float32 training too).
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from minifp.numerics import policy
from minifp.report import drawing, words
from minifp.report.content import Picture, Section
from minifp.saving import files
from minifp.scope.findings import Findings
from minifp.scope.histogram import HALF
from minifp.scope.inspecting import looked_at
from minifp.scope.observed import ACTIVATION_GRADIENTS
from minifp.scope.page.figures import SMALLEST, WIDTH, draw_bars

FILE, PICTURE = "beforehand.npz", "beforehand"
LOOKS = 20  # steps that are looked at, about
SEED = 0


@dataclass(frozen=True)
class Beforehand:
    """What was seen: findings of the microscope, of which task, and what was published of it."""

    title: str
    findings: Findings
    published: str = ""

    @property
    def shares(self) -> dict[str, float]:
        """Of all gradients of activations, as they are stored with S = 1: exact zeros; of those
        that are not 0, what lies below 2^-27, from there to 2^-24, and above."""
        total = self.findings.total(ACTIVATION_GRADIENTS)
        shares_by_range = {"zeros": total.zeros / max(total.total, 1)}
        edges = {"below 2^-27": (-(10**6), -27), "2^-27 to 2^-24": (-27, SMALLEST)}
        edges |= {"2^-24 and above": (SMALLEST, 10**6)}
        for name, (low, high) in edges.items():
            count = sum(n for e, n in total.exponents.items() if low <= e < high)
            shares_by_range[name] = count / max(total.nonzero, 1)
        return shares_by_range

    @property
    def text(self) -> str:
        """All of it in words."""
        s = {name: words.three_digits(100 * share) + "%" for name, share in self.shares.items()}
        others = [f"{share} lie {name}" for name, share in list(s.items())[1:-1]]
        return (
            f"Before the other runs, the microscope looked at {len(self.findings.steps)} of "
            f"{self.findings.count} steps in float32. Its advice: {self.findings.advice()} Of the "
            f"gradients of activations {s['zeros']} are exact zeros; of the others, "
            f"{words.listed(others)}."
        )

    @property
    def data(self) -> dict[str, Any]:
        """Its numbers."""
        advice = self.findings.advice()
        exponents = self.findings.total(ACTIVATION_GRADIENTS).exponents
        return {
            "advised": {"log2_low": advice.low, "log2_high": advice.high, "said": str(advice)},
            "activation_gradients": {**self.shares, "by_exponent": exponents},
            "steps": self.findings.count,
        }

    def section(self, name: str) -> Section:
        """All of it, with a picture whose file begins with that name."""
        title = f"{self.title}: what the microscope saw beforehand"
        description = f"{self.text} {self.published}"
        picture = Picture(
            f"{name}-{PICTURE}", title, description, lambda look: self.figure(), self.published
        )
        return Section(title, [self.text, picture])

    def figure(self):
        """A matplotlib Figure: gradients of activations by power of two, and float16's window."""
        with drawing.canvas(WIDTH, 2.6) as (figure, axes):
            total = self.findings.total(ACTIVATION_GRADIENTS)
            bars = {e: n / max(total.nonzero, 1) for e, n in total.exponents.items()}
            low, high = ends_of(bars)
            exponents = range(low, high + 1)
            draw_bars(axes, exponents, [bars.get(e, 0) for e in exponents], 0, HALF)
            axes.set_xlabel("magnitude, with S = 1; shaded: what float16 holds")
            axes.set_title(f"{self.title}: gradients of activations that are not 0, in float32")
        return figure


def ends_of(bars: dict[int, float]) -> tuple[int, int]:
    """The exponents that the axis has room for: those of all but the rarest, and the window."""
    common = [e for e, share in bars.items() if share >= 1e-4] or [SMALLEST]
    return min(*common, SMALLEST) - 1, max(*common, -8) + 1


def look(
    title: str, task, data, folder: Path | None, progress: bool, published: str = ""
) -> Beforehand:
    """Train the task once in float32 under the microscope, or read what was seen before.

    folder: where that is kept. published: what stands below the picture. Looks at some LOOKS steps
    of the whole training.
    """
    path = None if folder is None else folder / FILE
    if path is not None and path.is_file():
        return Beforehand(title, Findings.load(path), published)
    findings = looked_at(task, policy.SINGLE, SEED, data, LOOKS, progress)
    result = Beforehand(title, findings, published)
    if folder is not None and path is not None:
        files.write_into(folder, {path: findings._npz()})
    return result
