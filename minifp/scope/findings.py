"""What a microscope has found: kept apart from the watching, so that it can be saved and read."""

import io
import json
import math
from dataclasses import asdict, dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from minifp import files
from minifp.errors import ArgumentError
from minifp.scope.advice import TOLERANCE, Advice, advise
from minifp.scope.histogram import PARTS, Histogram, total_of
from minifp.scope.observed import GRADIENTS, KINDS, ObservedStep
from minifp.scope.updates import Updates

VERSION = 1
PLAIN = ("step", "stepped", "reason", "scale", "dial", "in_half", "grad_norm")  # of a step


@dataclass
class Findings:
    """What was seen of a training run.

    about: of the model, the precision and the optimizer, as texts. steps: those that were looked
    at. scales, skipped: of every step, the loss scale before it and whether it was skipped.
    diagnoses: of skipped steps, {"step", "phase", "operation", "module", "line", "persists",
    "text"}. warnings: misuse that was seen, as texts.
    details: of one step, what was asked for: see details.py.
    """

    about: dict[str, Any] = field(default_factory=dict)
    steps: list[ObservedStep] = field(default_factory=list)
    scales: list[float] = field(default_factory=list)
    skipped: list[bool] = field(default_factory=list)
    diagnoses: list[dict] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    details: dict[str, Any] = field(default_factory=dict)
    _advised: tuple | None = field(default=None, init=False, repr=False, compare=False)

    @property
    def count(self) -> int:
        """How many steps were made."""
        return len(self.scales)

    def layers(self, kind: str) -> list[str]:
        """The layers of a kind, in the order in which they were first seen."""
        return list(dict.fromkeys(name for step in self.steps for name in step.histograms[kind]))

    def total(self, kind: str, layer: str | None = None) -> Histogram:
        """The histogram of one layer, or of all, over all steps, as numbers were stored."""
        found = (step.histograms[kind] for step in self.steps)
        return total_of(h for of in found for name, h in of.items() if layer in (None, name))

    def advice(self, tolerance: float = TOLERANCE) -> Advice:
        """Advice on the loss scale. tolerance: see advice.advise."""
        key = len(self.steps), self.count, tolerance
        if self._advised is None or self._advised[0] != key:
            failed = [self.scales[d["step"] - 1] for d in self.diagnoses if not d["persists"]]
            self._advised = key, advise(self.steps, tolerance, min(failed, default=math.inf))
        return self._advised[1]

    # ---- as text, page and picture ----

    def summary(self) -> str:
        """All of it in a page of plain text."""
        return import_module("minifp.report.scope_text").text_of(self)

    def __str__(self) -> str:
        return self.summary()

    def report(self, path: str | Path) -> Path:
        """Write all of it as one page of HTML that needs nothing else; return its path."""
        return import_module("minifp.report.scope_page").write_page(self, path)

    def write(self, folder: str | Path) -> Path:
        """Write page (report.html), data (scope.npz), text and picture into a folder; return the
        page's path."""
        folder, picture = Path(folder), self._repr_png_()
        self.save(folder / "scope.npz")
        files.write(folder / "scope.txt", self.summary() + "\n")
        if picture is not None:
            files.write(folder / "scope.png", picture)
        return self.report(folder / "report.html")

    def _repr_html_(self) -> str:
        return import_module("minifp.report.scope_page").fragment(self)

    def _repr_png_(self) -> bytes | None:
        return import_module("minifp.report.scope_overview").png_of(self)

    # ---- as a file ----

    def save(self, path: str | Path) -> Path:
        """Write it as an .npz file (arrays of NumPy, and JSON); `Findings.load` reads it."""
        names = sorted({n for s in self.steps for k in KINDS for n in s.histograms[k]})
        number, rows, ends, counts = {n: i for i, n in enumerate(names)}, [], [], []
        for i, step in enumerate(self.steps):
            for k, kind in enumerate(KINDS):
                for name, h in step.histograms[kind].items():
                    place = i, k, number[name], h.lowest, len(h.counts)
                    rows.append((*place, h.zeros, h.infs, h.nans))
                    ends.append((h.largest, h.smallest))
                    counts.append(h.counts)
        told = {
            "version": VERSION, "about": self.about, "names": names, "kinds": KINDS,
            "steps": [{name: getattr(step, name) for name in PLAIN} for step in self.steps],
            "updates": [{n: asdict(u) for n, u in s.updates.items()} for s in self.steps],
            "scales": self.scales, "skipped": self.skipped, "diagnoses": self.diagnoses,
            "warnings": self.warnings, "details": self.details,
        }  # fmt: skip
        text = np.frombuffer(json.dumps(told, default=plain).encode(), np.uint8)
        out = io.BytesIO()
        np.savez_compressed(
            out, json=text, histograms=np.array(rows, np.int64).reshape(-1, 8),
            ends=np.array(ends, np.float64).reshape(-1, 2),
            counts=np.concatenate([np.zeros((0, PARTS), np.int64), *counts]),
        )  # fmt: skip
        return files.write(path, out.getvalue())

    @staticmethod
    def load(path: str | Path) -> "Findings":
        """What `save` has written. Raises ArgumentError, with the reason, for another file."""
        try:
            with np.load(path, allow_pickle=False) as held:
                told = json.loads(held["json"].tobytes())
                rows, ends, counts = held["histograms"], held["ends"], held["counts"]
            if told["version"] != VERSION:
                raise ValueError(f"written by another version of minifp ({told['version']})")
            return restored(told, rows.tolist(), ends.tolist(), counts)
        except FileNotFoundError:
            raise ArgumentError(f"{path}: there is no such file") from None
        except (OSError, ValueError, KeyError, TypeError, IndexError, EOFError) as error:
            raise ArgumentError(
                f"{path}: expected a file that a microscope's save() has written: {error}"
            ) from error


def restored(told: dict, rows: list, ends: list, counts: np.ndarray) -> Findings:
    """Findings from what a file holds."""
    steps = [ObservedStep(**step) for step in told["steps"]]
    start = 0
    for (i, k, name, lowest, bins, *others), (largest, smallest) in zip(rows, ends):
        part = counts[start : start + bins]
        start += bins
        h = Histogram(lowest, part, *others, largest, smallest)
        steps[i].histograms[told["kinds"][k]][told["names"][name]] = h
    for step, updates in zip(steps, told["updates"]):
        step.updates = {name: Updates(**found) for name, found in updates.items()}
    names = "about", "scales", "skipped", "diagnoses", "warnings", "details"
    return Findings(steps=steps, **{name: told[name] for name in names})


def plain(value: Any) -> Any:
    """NumPy's numbers as JSON takes them."""
    if isinstance(value, (np.integer, np.floating, np.bool_)):
        return value.item()
    raise TypeError(f"{type(value).__name__} in a microscope's findings")


def share_lost(findings: Findings) -> dict[str, float]:
    """For each kind, the share of numbers other than 0 that float16 would flush, as stored."""
    found = {kind: findings.total(kind) for kind in KINDS}
    return {kind: h.flushed() / max(1, h.nonzero) for kind, h in found.items()}


def unscaled(step: ObservedStep, kind: str) -> int:
    """What to subtract from a stored exponent to have the number's own."""
    return step.shift if kind in GRADIENTS else 0
