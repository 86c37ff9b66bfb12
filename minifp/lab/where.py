"""Where runs are made, and what is kept of them: what `compare` and all like it are told."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from minifp.errors import ArgumentError
from minifp.lab.results.products import Products, products_of
from minifp.lab.workers.engines import engine_for
from minifp.lab.workers.in_process import InProcess
from minifp.saving import files


@dataclass
class Where:
    """Where runs are made, and what is kept of them: the last arguments, all by name, of `compare`,
    `ablate`, `plan`, `sweep` and `gallery`. `evaluate`, `largest_batch` and `merge` take some.

    out: a folder; every finished run is written there at once. The same call with the same folder
    makes only the runs that are missing, also for more seeds or precisions; a second call at the
    same time waits for the first. An interrupt (Ctrl-C) leaves the finished runs there. None keeps
    nothing. figures: "png", "svg" or "pdf" writes pictures into `out`. style, width, font: how
    these look, as in `Comparison.figures`. tensorboard: whether to write event files too, for
    `tensorboard --logdir`. keep_weights: whether to keep the weights of each run in `out`, as
    checkpoints for `evaluate`; runs that are there without weights are repeated.
    device: "cpu" or "cuda", by default MINIFP_DEVICE; on a GPU, steps are captured as CUDA graphs
    if they allow it. jobs: how many runs at a time, each in its own process with one thread, with
    the same bits as one after another. client: a `distributed.Client` whose workers train (see
    docs/comparing.md). progress: whether to show a bar.

    Raises ArgumentError for what cannot be, and for what needs a folder where there is none;
    MinifpError where a library is missing: before training, not after it.
    """

    out: str | os.PathLike | None = None
    figures: str | None = None
    style: str | None = None
    width: str | float | None = None
    font: str | None = None
    tensorboard: bool = False
    keep_weights: bool = False
    device: str | None = None
    jobs: int = 1
    client: Any = None
    progress: bool = True
    folder: Path | None = field(init=False)
    products: Products = field(init=False)
    engine: Any = field(init=False)  # who trains

    def __post_init__(self) -> None:
        self.folder = None if self.out is None else files.as_path(self.out)
        self.engine = engine_for(self.jobs, self.client)
        self.products = products_of(
            self.folder, self.figures, self.style, self.width, self.font, self.tensorboard
        )
        if self.keep_weights and self.folder is None:
            raise ArgumentError("keep_weights=True without out: give the folder to keep them in")

    @property
    def is_elsewhere(self) -> bool:
        """Whether other processes train, which tasks must get to."""
        return not isinstance(self.engine, InProcess)

    def place(self, *names: str) -> Path | None:
        """A folder in `out`, or None."""
        return None if self.folder is None else files.place_within(self.folder, *names)

    def save(self, result) -> None:
        """Write a result into `out`, if there is one, with its pictures."""
        if self.folder is not None:
            result.save(self.folder, self.products.figures, self.products.look)


NAMES = tuple(f.name for f in fields(Where) if f.init)
PRODUCTS = ("figures", "style", "width", "font", "tensorboard")
HERE = ("out", "figures", "style", "width", "font", "device", "progress")  # of what trains nothing


def where_of(function: str, keywords: Mapping[str, Any], names: Sequence[str] = NAMES) -> Where:
    """The Where that keyword arguments of a function mean, of which it takes those called `names`.

    Raises TypeError for others, and as Where does.
    """
    for name in keywords:
        if name not in names:
            known = ", ".join(names)
            raise TypeError(f"{function}() has no argument {name!r}; by name it also takes {known}")
    return Where(**keywords)
