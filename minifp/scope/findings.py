"""What a microscope has found: kept apart from the watching, so that it can be saved and read."""

import io
import json
from base64 import b64encode
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from minifp.errors import ArgumentError
from minifp.numerics.number_format import FORMATS
from minifp.report import rendering
from minifp.report.content import Document
from minifp.report.documented import Shown
from minifp.runtime import untrusted
from minifp.saving import files
from minifp.scope.borders import too_large_from
from minifp.scope.details_schema import (
    DETAILS,
    FLAG,
    LIMIT,
    NUMBER,
    TEXT,
    WHOLE_NUMBER,
    by_name,
    each,
    not_together,
    rows,
)
from minifp.scope.histogram import Histogram
from minifp.scope.observed import GRADIENTS, KINDS, ObservedStep
from minifp.scope.record import Record
from minifp.scope.updates import Updates

VERSION = 3  # 2 knew float16 alone, 1 had what `details` calls "reference" under another name
BEFORE = 2  # the oldest that is read
FILES = "report.html", "scope.npz", "scope.txt", "scope.csv", "scope.png"
PLAIN = ("step", "stepped", "reason", "scale", "dial", "grad_norm", "rates", "formats")  # of a step
WHOLE = ("about", "scales", "skipped", "diagnoses", "warnings", "details")  # of all of it


class Findings(Shown, Record):
    """What was seen of a training run: see Record. It shows, saves and reads itself."""

    # ---- as text, page and picture ----

    def document(self) -> Document:
        """All that is shown of it."""
        return import_module("minifp.scope.page.microscope_document").document(self)

    def summary(self) -> str:
        """All of it in a page of plain text."""
        return self.table()

    def rows(self) -> list[dict[str, Any]]:
        """Where the numbers lie, as data: a dict for each layer of each kind in each step that was
        looked at, with its "format" and how many of its "numbers" are "zeros", "infs" or "nans", or
        would be lost in some format: "flushed float16", "subnormal float16", "overflow float16",
        and so for bfloat16, both float8 and the run's own. All as they were stored: gradients are
        multiplied by "scale". `write` puts the same into scope.csv.
        """
        return import_module("minifp.scope.what_if").rows_of(self)

    def report(self, path: str | Path, progress: bool = True) -> Path:
        """Write all of it as one page of HTML that needs nothing else; return its path."""
        return files.write(path, self._page(progress))

    def _page(self, progress):
        return rendering.page(self.document(), progress=progress)

    def write(self, folder: str | Path, progress: bool = True) -> Path:
        """Write page (report.html), data (scope.npz, and scope.csv for others), text and picture
        into a folder, all or none; return the page's path. A picture that was there goes where none
        can be drawn."""
        table = import_module("minifp.scope.what_if").csv_of(self)
        texts = self._page(progress), self._npz(), self.summary() + "\n", table
        contents = (*texts, self._png())
        paths = places(folder)
        files.write_all(dict(zip(paths, contents)))
        return paths[0]

    def _repr_png_(self) -> str | None:
        """As base64, which JSON can carry: not every kernel encodes bytes."""
        picture = self._png()
        return None if picture is None else b64encode(picture).decode()

    def _png(self) -> bytes | None:
        return import_module("minifp.scope.page.overview").png_of(self)

    # ---- as a file ----

    def save(self, path: str | Path) -> Path:
        """Write it as an .npz file (arrays of NumPy, and JSON); `Findings.load` reads it."""
        return files.write(path, self._npz())

    def _npz(self) -> bytes:
        names = sorted({n for s in self.steps for k in KINDS for n in s.histograms[k]})
        number, rows, ends, counts = {n: i for i, n in enumerate(names)}, [], [], []
        for i, step in enumerate(self.steps):
            for k, kind in enumerate(KINDS):
                for name, h in step.histograms[kind].items():
                    place = i, k, number[name], h.lowest, len(h.counts)
                    rows.append((*place, h.zeros, h.infs, h.nans))
                    ends.append((h.largest, h.smallest))
                    counts.append(h.counts)
        texts = {"version": VERSION, "names": names, "kinds": KINDS, "borders": self.borders}
        texts |= {name: getattr(self, name) for name in WHOLE}
        texts["steps"] = [{name: getattr(step, name) for name in PLAIN} for step in self.steps]
        texts["updates"] = [{n: asdict(u) for n, u in s.updates.items()} for s in self.steps]
        arrays: dict[str, Any] = {
            "json": np.frombuffer(json.dumps(texts, default=plain).encode(), np.uint8),
            "histograms": np.array(rows, np.int64).reshape(-1, 8),
            "ends": np.array(ends, np.float64).reshape(-1, 2),
            "counts": np.concatenate([np.zeros((0, len(self.borders)), np.int64), *counts]),
        }
        out = io.BytesIO()
        np.savez_compressed(out, **arrays)
        return out.getvalue()

    @staticmethod
    def load(path: str | Path) -> "Findings":
        """What `save` has written. Raises ArgumentError, with the reason, for another file."""
        try:
            place = files.as_path(path)
            if not place.exists():
                raise FileNotFoundError
            arrays = untrusted.arrays_of(untrusted.content(place), path)
            texts = untrusted.parsed(arrays["json"].tobytes(), path, finite=False)
            rows, ends, counts = arrays["histograms"], arrays["ends"], arrays["counts"]
            if texts["version"] == BEFORE:
                texts |= of_before(texts)
            elif texts["version"] != VERSION:
                raise ValueError(f"written by another version of minifp ({texts['version']})")
            wrong = untrusted.not_as(expected(), texts) or wrong_arrays(rows, ends, counts, texts)
            if wrong := wrong or not_together(texts["details"]):
                raise ValueError(f"damaged{wrong}")
            return restored(texts, rows.tolist(), ends.tolist(), counts)
        except FileNotFoundError:
            raise ArgumentError(f"{path}: no such file") from None
        except (ArgumentError, MemoryError):
            raise
        except Exception as error:  # NumPy, zipfile and zlib have one for each way to be damaged
            raise ArgumentError(
                f"{path}: expected a file written by a microscope's save(): {error}"
            ) from error


def places(folder: str | Path) -> list[Path]:
    """Where `write` puts page, data, text, table and picture."""
    return [files.as_path(folder) / name for name in FILES]


def expected() -> dict:
    """The JSON schema of what a file holds beside arrays."""
    table = {"type": "object"}
    border = {"type": "array", "prefixItems": [NUMBER, FLAG], "minItems": 2, "maxItems": 2}
    update = {**by_name(NUMBER), "properties": {"alone": by_name(WHOLE_NUMBER)}}
    formats = {**by_name(by_name(TEXT)), "required": [*KINDS]}
    step = {"formats": formats, "step": WHOLE_NUMBER, "dial": NUMBER, "scale": NUMBER}
    parts = each(rows(TEXT), "names warnings")
    parts |= {"about": table, "kinds": {"const": [*KINDS]}, "borders": rows(border)}
    parts |= {"steps": rows({**table, "properties": step}), "updates": rows(by_name(update))}
    parts |= {"scales": rows(LIMIT), "skipped": rows(FLAG), "details": DETAILS}
    parts["diagnoses"] = rows({**table, "required": ["step", "text"]})
    return {**table, "properties": parts, "required": [*parts]}


def wrong_arrays(rows, ends, counts, texts) -> str:
    """How arrays do not fit together; "" where they do."""
    bins = int(rows[:, 4].sum()) if rows.ndim == 2 and rows.shape[1] == 8 else -1
    kinds = [a.dtype.kind for a in (rows, ends, counts)]
    shapes = (len(rows), 2), (bins, len(texts["borders"]))
    if (
        kinds != ["i", "f", "i"]
        or (ends.shape, counts.shape) != shapes
        or (rows[:, 4:] < 0).any()
        or (ends < 0).any()
    ):
        return f": arrays of shapes {rows.shape}, {ends.shape} and {counts.shape}"
    return ""


def restored(texts: dict, rows: list, ends: list, counts: np.ndarray) -> Findings:
    """Findings from what a file holds."""
    steps = [ObservedStep(**step) for step in texts["steps"]]
    start, borders = 0, tuple(map(tuple, texts["borders"]))
    for (i, k, name, lowest, bins, zeros, infs, nans), (largest, smallest) in zip(rows, ends):
        part = counts[start : start + bins]
        start += bins
        h = Histogram(lowest, part, zeros, infs, nans, largest, smallest, borders)
        steps[i].histograms[texts["kinds"][k]][texts["names"][name]] = h
    for step, updates in zip(steps, texts["updates"]):
        step.updates = {name: Updates(**fields) for name, fields in updates.items()}
    return Findings(steps=steps, **{name: texts[name] for name in WHOLE})


def of_before(texts: dict) -> dict:
    """What a file of the version before lacks, as it would be there."""
    half, steps = FORMATS["float16"], []
    for step in texts["steps"]:
        stored = dict.fromkeys(texts["names"], half.name) if step.pop("in_half") else {}
        formats = {kind: stored if kind in GRADIENTS else {} for kind in KINDS}
        steps.append({**step, "formats": formats})
    updates = [
        {name: {"alone": {half.name: u.pop("lost_in_half")}, **u} for name, u in of.items()}
        for of in texts["updates"]
    ]
    borders = [[1.0, False], [1.0, True], [*too_large_from(half).place]]
    return {"borders": borders, "steps": steps, "updates": updates}


def plain(value: Any) -> Any:
    """NumPy's numbers as JSON takes them."""
    if isinstance(value, (np.integer, np.floating, np.bool_)):
        return value.item()
    raise TypeError(f"{type(value).__name__} in a microscope's findings")
