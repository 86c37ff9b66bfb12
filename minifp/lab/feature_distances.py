"""How far made pictures are from real ones, in the features of a network that scores both.

Two distances of samples x (m, d) and y (n, d) of features:

    kernel    MMD^2 = mean of k(x_i, x_j), i /= j, + mean of k(y_i, y_j), i /= j,
              - 2 mean of k(x_i, y_j), with k(a, b) = (a b / d + 1)^3: expected to be 0 where both
              are drawn alike, whatever m and n are (Binkowski et al. 2018, arXiv:1801.01401)
    Frechet   |mu_x - mu_y|^2 + tr(S_x + S_y - 2 (S_x S_y)^(1/2)), of means and covariances, which
              is above 0 by about 1/m + 1/n even then (Heusel et al. 2017, arXiv:1706.08500)
"""

from dataclasses import dataclass

import numpy as np

from minifp.errors import ShapeError
from minifp.lab.statistics.distributions import t_quantile
from minifp.lab.statistics.moments import deviation, mean
from minifp.runtime import random
from minifp.typing import Ints

CONFIDENCE = 0.9


@dataclass(frozen=True)
class FeatureDistance:
    """kernel: MMD^2, the mean over groups of the first sample; low, high: its interval, of what
    making pictures again would change. frechet: the Frechet distance of all."""

    kernel: float
    low: float
    high: float
    frechet: float


def feature_distance(samples: np.ndarray, real: np.ndarray, groups: int = 10) -> FeatureDistance:
    """Return the FeatureDistance of features (m, d) from others (n, d): the kernel distance of
    Binkowski et al. 2018 (arXiv:1801.01401) and the Frechet distance of Heusel et al. 2017
    (arXiv:1706.08500), of no network but that which the features are from.

    groups: into how many parts of the same size the made ones are cut, whose MMD^2 are independent
    but for the real ones, which all share; the interval is Student's, of 90%. Raises ShapeError for
    features that do not fit, or fewer than two in a group. Of features that are not finite all is
    NaN.
    """
    samples, real = (np.asarray(a, np.float64) for a in (samples, real))
    size = len(samples) // groups
    if samples.ndim != 2 or real.ndim != 2 or samples.shape[1] != real.shape[1]:
        raise ShapeError(
            f"feature_distance: features of shapes {samples.shape} and {real.shape}: expected "
            "(m, d) and (n, d)"
        )
    if size < 2 or len(real) < 2 or groups < 2:
        raise ShapeError(
            f"feature_distance: {len(samples)} made and {len(real)} real pictures in {groups} "
            "groups: expected two groups or more, of at least two pictures each"
        )
    if not (np.isfinite(samples).all() and np.isfinite(real).all()):
        return FeatureDistance(*[np.nan] * 4)
    parts = [samples[i * size : (i + 1) * size] for i in range(groups)]
    of_real = within(real)
    distances = [within(part) + of_real - 2 * kernel(part, real).mean() for part in parts]
    center = mean(distances)
    tail = (1 + CONFIDENCE) / 2
    reach = t_quantile(tail, groups - 1) * deviation(distances) / groups**0.5
    return FeatureDistance(center, center - reach, center + reach, frechet(samples, real))


def fixed_noise(shape: Ints, low: float = -1.0, high: float = 1.0) -> np.ndarray:
    """Return float32 numbers of this shape, uniform in [low, high), the same in every run whatever
    its seed: what samples are made of that are to be compared. Nothing else is drawn by it.

    Raises ArgumentError for sizes that are no integers, and unless low <= high, both finite.
    """
    return random.Streams(0).uniform(shape, low, high, purpose="shown", call=0)


def kernel(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """k of each row of x with each of y."""
    return (x @ y.T / x.shape[1] + 1) ** 3


def within(x: np.ndarray) -> float:
    """The mean of k over pairs of different rows."""
    k = kernel(x, x)
    return float((k.sum() - np.trace(k)) / (len(x) * (len(x) - 1)))


def frechet(x: np.ndarray, y: np.ndarray) -> float:
    """The Frechet distance of two normal distributions with their means and covariances."""
    of_x, of_y = np.atleast_2d(np.cov(x.T)), np.atleast_2d(np.cov(y.T))
    off = x.mean(0) - y.mean(0)
    root = symmetric_root(of_x)
    both = symmetric_root(root @ of_y @ root)  # has the trace of (S_x S_y)^(1/2)
    return float(off @ off + np.trace(of_x) + np.trace(of_y) - 2 * np.trace(both))


def symmetric_root(s: np.ndarray) -> np.ndarray:
    """The square root of a symmetric matrix without negative eigenvalues but for rounding."""
    values, vectors = np.linalg.eigh((s + s.T) / 2)
    return vectors * np.sqrt(values.clip(0)) @ vectors.T
