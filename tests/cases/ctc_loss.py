"""Connectionist temporal classification, of log_softmax, which makes the gradients the slopes."""

import numpy as np
from bounds import magnitude
from hypothesis import strategies as st

from cases.case import drawn
from cases.losses import REDUCTION, in_minifp, with_constants
from minifp.ops.losses.ctc_loss import alphas, betas, states
from minifp.ops.losses.ctc_loss import ctc_loss_each as kernel_of_each


def ctc(shape, targets, steps, lengths, blank=0, reduction="mean", zero_infinity=False):
    targets = np.array(targets, dtype=np.int64)

    def call(f, constant, x):
        log_probs = f.log_softmax(x, -1)
        settings = blank, reduction, zero_infinity
        return f.ctc_loss(log_probs, constant(targets), steps, lengths, *settings)

    return with_constants("ctc_loss", call, shape)


PADDED = [[1, 2, 2], [3, 1, 0], [2, 0, 0]]

OF_SEQUENCES = [
    *(ctc((6, 3, 4), PADDED, (6, 5, 4), (3, 2, 1), 0, r) for r in ("mean", "sum", "none")),
    ctc((5, 2, 4), [0, 1, 1, 2], (5, 5), (1, 3), 3),  # one after the other
    ctc((5, 3), [1, 1], (5,), (2,)),  # without a batch
    ctc((4, 3), [2, 1], (4,), (2,), 0, "none"),
    ctc((4, 2, 3), [[1, 2], [1, 0]], (4, 3), (0, 1), 0, "sum"),  # no labels: blanks alone
    ctc((2, 2, 3), [[1, 1], [1, 2]], (2, 2), (2, 2), 0, "mean", True),  # 1 blank 1 needs three
    ctc((1, 1, 2), [[1]], (1,), (1,)),
]

# Only drawn ones are compared: a class of probability 0 gives NaN as gradient in PyTorch.
CASES = [in_minifp(case) for case in OF_SEQUENCES]


@drawn("ctc_loss")
def draw_ctc(draw, name):
    T, N, C = draw(st.integers(1, 6)), draw(st.integers(1, 3)), draw(st.integers(2, 4))
    blank, zero_infinity = draw(st.integers(0, C - 1)), draw(st.booleans())
    labels = st.sampled_from([c for c in range(C) if c != blank])
    steps = [draw(st.integers(1, T)) for _ in range(N)]
    rows = [  # that fit, even if all labels are the same, unless infinity is to be zero
        draw(st.lists(labels, max_size=3 if zero_infinity else (n + 1) // 2)) for n in steps
    ]
    lengths = [len(row) for row in rows]
    form = draw(st.sampled_from(["padded", "joined", "single"]))
    targets = [label for row in rows for label in row]
    if form == "padded":
        targets = [row + [blank] * (max(lengths) - len(row)) for row in rows]
    settings = blank, draw(REDUCTION), zero_infinity
    if form == "single":
        return ctc((T, C), rows[0], (steps[0],), (lengths[0],), *settings)
    return ctc((T, N, C), targets, tuple(steps), tuple(lengths), *settings)


#
# One step of the recursion, log sum e^.. + x, errs by at most 6 + 3 |alpha| units of 2^-24 (three
# exponentials, a sum, a logarithm, and two additions of what is no larger than alpha), of which a
# bound allows at least 16 (`growth`): less than half of 1 + |alpha|. An error in alpha_t(s) moves
# the loss by the probability that a path is there, gamma_t(s); it moves later alphas by at most
# itself, because the weights of what they are summed from add up to 1. Of beta the same holds.
# And e^y errs, relatively, by what y errs absolutely.


def sizes(a):
    """(1 + |a|) / 2 where a is finite."""
    return np.where(np.isfinite(a), 1 + np.abs(a), 0) / 2


def parts(x, labels, steps, lengths, blank):
    """alpha, beta, the losses (0 for infinite ones), and gamma: 0 where a sequence has ended."""
    alpha, beta = alphas(x, labels, blank, np.sum), betas(x, labels, steps, lengths, blank, np.sum)
    losses = -np.logaddexp.reduce(alpha[0] + beta[0], axis=-1)
    losses = np.where(np.isfinite(losses), losses, 0)
    inside = (np.arange(len(x))[:, None] < steps)[:, :, None]
    inside = inside & (alpha > -np.inf) & (beta > -np.inf)  # and none of them NaN
    gamma = np.where(inside, np.exp(alpha + beta + losses[:, None]), 0)
    return alpha, beta, losses, np.minimum(gamma, 1)


def of_losses(x, labels, steps, lengths, blank):
    """M of each loss, and the losses."""
    alpha, _, losses, gamma = parts(x, labels, steps, lengths, blank)
    return (gamma * sizes(alpha)).sum((0, 2)) + 1 + np.abs(losses), losses


def shares(lengths, reduction):
    return np.maximum(lengths, 1) * len(lengths) if reduction == "mean" else lengths * 0 + 1


@magnitude
def ctc_loss_each(x, labels, steps, lengths, *, exact, blank, zero_infinity):
    return of_losses(x, labels, steps, lengths, blank)[0]


@magnitude
def ctc_loss_total(x, labels, steps, lengths, *, exact, blank, zero_infinity, reduction):
    m, losses = of_losses(x, labels, steps, lengths, blank)
    return np.sum((m + 2 * np.abs(losses)) / shares(lengths, reduction))


@magnitude
def ctc_loss_dx(dl, x, labels, steps, lengths, *, exact, blank, zero_infinity, reduction):
    alpha, beta, losses, gamma = parts(x, labels, steps, lengths, blank)
    inside, forward = np.arange(len(x))[:, None] < steps, np.cumsum(sizes(alpha).max(-1), 0)
    backward = np.where(inside, sizes(beta).max(-1), 0)
    backward = np.cumsum(backward[::-1], 0)[::-1]
    spread = (forward + backward)[:, :, None] + of_losses(x, labels, steps, lengths, blank)[0][
        :, None
    ]
    gamma = 2 * gamma * (spread + sizes(alpha) + sizes(beta))
    dx, path = np.exp(x), states(labels, blank)[0]
    for n, s in np.ndindex(*path.shape):
        dx[:, n, path[n, s]] += gamma[:, n, s]
    dx = dx * np.abs(dl / shares(lengths, reduction))[:, None]
    of_each = kernel_of_each.reference(
        x, labels, steps, lengths, blank=blank, zero_infinity=False, sum=np.sum
    )
    chosen = ~inside | np.isposinf(of_each)
    return np.where(chosen[:, :, None], 0, dx)  # 0 or NaN, whatever was computed
