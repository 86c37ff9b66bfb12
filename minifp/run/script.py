"""A script that was written for PyTorch, run in this process as `python script.py` would."""

import os
import runpy
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np

from minifp.compat.amp import automatic
from minifp.compat.torch import files
from minifp.compat.torch.mirror import install
from minifp.errors import ArgumentError
from minifp.numerics import policy
from minifp.run import child
from minifp.run.losses import Losses
from minifp.run.watching import Watching
from minifp.runtime import random


class Script(NamedTuple):
    """path: its file. args: what stands behind it on the command line. steps: after how many calls
    of `backward` to end it. seed: of all random numbers, set before it starts; None for not."""

    path: str
    args: tuple[str, ...] = ()
    steps: int | None = None
    seed: int | None = None

    def run(self, losses: Losses, watching: Watching | None = None) -> None:
        """Run it; what it raises, SystemExit too, is raised here."""
        install()
        losses.watch()
        if watching is not None:
            watching.begin()
        if self.seed is not None:
            seed_all(self.seed)
        sys.argv = [self.path, *self.args]
        files.home = Path(self.path).resolve().parent
        sys.path[0] = str(files.home)
        child.follow(os.path.abspath(self.path))
        runpy.run_path(os.path.abspath(self.path), run_name="__main__")


def seed_all(seed: int) -> None:
    """Seed what scripts draw from: torch, NumPy, and Python's own."""
    import random as of_python

    random.manual_seed(seed)
    np.random.seed(seed)  # noqa: NPY002 (scripts draw from it)
    of_python.seed(seed)


def set_precision(precision: str | None) -> None:
    """Train what follows in a precision, with a loss scale where it has one. None: as the
    environment says. Raises ArgumentError where that says so too, PrecisionError for no precision.
    """
    if precision is None:
        return
    for name in (automatic.VARIABLE, "TF_ENABLE_AUTO_MIXED_PRECISION", "MINIFP_PRECISION"):
        if os.environ.get(name, "") not in automatic.OFF:
            raise ArgumentError(f"--precision and the environment variable {name}: expected one")
    asked = policy.as_precision(precision)
    if asked == policy.as_precision(policy.SINGLE):
        policy.set_precision(asked)
        return
    automatic.start(precision, "dynamic" if asked.loss_scale == "dynamic" else asked.loss_scale)
