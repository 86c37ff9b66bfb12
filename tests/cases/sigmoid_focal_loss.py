"""The focal loss of logits, with targets that are sigmoids, so that they lie between 0 and 1."""

import numpy as np
from bounds import magnitude, magnitude_of_losses
from hypothesis import strategies as st

import minifp.nn.functional as F
from cases.case import Case, drawn, shapes
from minifp.ops.elementwise import sum_to
from minifp.ops.losses.sigmoid_focal_loss import parts_of

REDUCTIONS = {"none": lambda x: x, "mean": lambda x: x.mean(), "sum": lambda x: x.sum()}


def focal(shape, alpha=0.25, gamma=2.0, reduction="none"):
    def theirs(t, x, y):
        """By the formula of the paper, in PyTorch's operations."""
        y, p = y.sigmoid(), x.sigmoid()
        losses = t.nn.functional.binary_cross_entropy_with_logits(x, y, reduction="none")
        losses = losses * (1 - p * y - (1 - p) * (1 - y)) ** gamma
        if alpha >= 0:
            losses = losses * (alpha * y + (1 - alpha) * (1 - y))
        return REDUCTIONS[reduction](losses)

    ours = lambda x, y: F.sigmoid_focal_loss(x, F.sigmoid(y), alpha, gamma, reduction)  # noqa: E731
    return Case("sigmoid_focal_loss", ours, (shape, shape), -8.0, 8.0, torch=theirs)


CASES = [
    *(focal((3, 4), reduction=reduction) for reduction in REDUCTIONS),
    *(focal((7,), gamma=gamma) for gamma in (0.0, 0.5, 1.0, 3.7)),
    *(focal((7,), alpha=alpha) for alpha in (-1, 0.0, 1.0)),
    *(focal((0, 2), reduction="sum"), focal(())),
]


@drawn("sigmoid_focal_loss")
def draw_focal(draw, name):
    alpha = draw(st.sampled_from([-1, 0.0, 0.25, 0.8]))
    gamma = draw(st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.3]))
    return focal(draw(shapes(most=3)), alpha, gamma, draw(st.sampled_from([*REDUCTIONS])))


#
# A power magnifies the relative error of q by gamma.


def losses(x, t, w, p, *, alpha, gamma):
    weight, entropy, _, _, _, focus = parts_of(x, t, alpha, gamma)
    return weight * entropy * focus * (1 + gamma)


magnitude_of_losses("sigmoid_focal_loss", losses)


@magnitude
def sigmoid_focal_loss_dx(dl, x, t, w, p, *, alpha, gamma, divisor, shape, exact):
    weight, entropy, p, other, wrong, focus = parts_of(x, t, alpha, gamma)
    steep = gamma * entropy * np.abs(1 - 2 * t) * p * other / wrong if gamma else 0
    slope = weight * focus * ((1 - t) * p + t * other + steep) * (1 + gamma)
    slope = np.where(wrong == 0, 0, slope)
    return sum_to(slope * np.abs(dl / divisor), shape, np.sum)


@magnitude
def sigmoid_focal_loss_dt(dl, x, t, w, p, *, alpha, gamma, divisor, shape, exact):
    weight, entropy, p, other, wrong, focus = parts_of(x, t, alpha, gamma)
    change = abs(2 * alpha - 1) * entropy if alpha >= 0 else 0
    steep = gamma * entropy / wrong if gamma else 0
    slope = focus * (change + weight * (np.abs(x) + steep)) * (1 + gamma)
    slope = np.where((wrong == 0) & (gamma > 0), 0, slope)
    return sum_to(slope * np.abs(dl / divisor), shape, np.sum)
