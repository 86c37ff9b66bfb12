"""Which class a model names for each example, and where two formats name different ones."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from minifp.data.structure import leaves
from minifp.lab.snapshots import class_axis
from minifp.lab.statistics.mcnemar import mcnemar_p

NONE = -1  # the class of outputs that are not finite


@dataclass(frozen=True)
class Predictions:
    """Of a whole test set. classes: (N, ...) int64, NONE where an output is not finite; shares: of
    the class that is named, by softmax, in the same shape; targets: the true classes."""

    classes: np.ndarray
    shares: np.ndarray
    targets: np.ndarray

    @property
    def not_finite(self) -> int:
        """How many outputs name no class."""
        return int((self.classes == NONE).sum())


def predictions_of(outputs: Any, targets: Any) -> Predictions | None:
    """What outputs name; None where they have no entry for each class, or targets are none."""
    parts = [leaf for _, leaf in leaves(outputs)]
    arrays = len(parts) == 1 and all(isinstance(a, np.ndarray) for a in (parts[0], targets))
    axis = class_axis(parts[0], targets) if arrays else -1
    if axis < 0:
        return None
    scores = np.moveaxis(parts[0], axis, -1)
    if scores.shape[:-1] != targets.shape:
        return None
    finite = np.isfinite(scores).all(-1)
    scores = np.where(finite[..., None], scores, 0)
    named = scores.argmax(-1)
    best = np.take_along_axis(scores, named[..., None], -1)
    shares = 1 / np.exp(scores - best).sum(-1)
    return Predictions(np.where(finite, named, NONE), shares * finite, targets)


@dataclass(frozen=True)
class Changed:
    """Where a format names another class than the baseline's.

    places: (n, dimensions of the targets) of them; of: how many predictions there are. gained,
    lost: how many became right, and wrong, by it; p: of "equally good" (see mcnemar.py).
    """

    places: np.ndarray
    of: int
    gained: int
    lost: int
    p: float


def changed(base: Predictions, other: Predictions) -> Changed:
    """Hold the predictions of a format against the baseline's."""
    right, still = (p.classes == p.targets for p in (base, other))
    gained, lost = int((still & ~right).sum()), int((right & ~still).sum())
    places = np.argwhere(base.classes != other.classes)
    return Changed(places, base.classes.size, gained, lost, mcnemar_p(gained, lost))
