"""How far each run is from its partner, step by step: the baseline's run of the same seed, and for
a control the run that it disturbs."""

from dataclasses import dataclass

import numpy as np

from minifp.lab.arms import partner


@dataclass(frozen=True)
class Distances:
    """Of one run, at each of `steps`; None for what was not noted.

    weights: |w - b| / |b|, of the sampled weights w of the run and b of its partner. outputs:
    the same of the outputs for the first test examples. predictions: the share of them, 0 to 1, for
    which another class is largest.
    """

    precision: str
    seed: int
    steps: np.ndarray
    weights: np.ndarray
    outputs: np.ndarray | None = None
    predictions: np.ndarray | None = None


def of(comparison) -> list[Distances]:
    """The distances of all runs that have a partner with the same seed.

    They are kept in the comparison, because a page asks for the same again and again.
    """
    known = comparison.known_distances  # with the snapshots that they were found of
    noted = {(r.precision, r.seed): r for r in comparison.runs if r.snapshots}
    every = []
    for arm in comparison.precisions:
        against = partner(arm, comparison.baseline)
        for run in comparison.runs_of(arm):
            other = noted.get((against, run.seed))
            if not run.snapshots or other is None:
                continue
            mine, theirs, distances = known.get((arm, run.seed), (None, None, None))
            if mine is not run.snapshots or theirs is not other.snapshots:
                distances = between(run, other)
                known[arm, run.seed] = run.snapshots, other.snapshots, distances
            every.append(distances)
    return [distances for distances in every if distances.steps.size]


def between(run, other) -> Distances:
    """The distances of a run from another, at the steps that both have."""
    a, b = run.snapshots, other.snapshots
    steps, i, j = np.intersect1d(a["steps"], b["steps"], return_indices=True)
    weights = relative(a["weights"][i], b["weights"][j])
    if "outputs" not in a or "outputs" not in b:
        return Distances(run.precision, run.seed, steps, weights)
    y, z = a["outputs"][i], b["outputs"][j]
    axis = int(a["classes"])
    predictions = None
    if axis >= 0:
        differ = y.argmax(axis + 1) != z.argmax(axis + 1)  # before the axes of a batch: steps
        lost = ~np.isfinite(y).all(axis + 1)  # the largest of NaNs is no prediction
        predictions = (differ | lost).reshape(len(y), -1).mean(1)
    return Distances(run.precision, run.seed, steps, weights, relative(y, z), predictions)


def relative(a, b) -> np.ndarray:
    """|a - b| / |b| for each row, in float64."""
    a, b = (x.reshape(len(x), -1).astype(np.float64) for x in (a, b))
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        return np.linalg.norm(a - b, axis=1) / np.linalg.norm(b, axis=1)


def facts_of(distances: Distances, baseline: str) -> dict:
    """As plain numbers and texts, for results."""
    kinds = ("steps", "weights", "outputs", "predictions")
    columns = {kind: getattr(distances, kind) for kind in kinds}
    return {
        "arm": distances.precision,
        "against": partner(distances.precision, baseline),
        "seed": distances.seed,
        **{kind: None if c is None else c.tolist() for kind, c in columns.items()},
    }
