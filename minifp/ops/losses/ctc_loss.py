"""Connectionist temporal classification (Graves et al. 2006, doi:10.1145/1143844.1143891).

The loss is -log of the probability of all paths that give the labels: repetitions on a path count
once, then blanks are left out. l' is the labels with blanks around each, of S = 2 L + 1 states:

    alpha_t(s) = x_t,l'_s + log(e^alpha_t-1(s) + e^alpha_t-1(s-1)
                 + [l'_s no blank, != l'_s-2] e^alpha_t-1(s-2))   from x_0 in states 0 and 1
    beta_t(s)  = log(e^(beta_t+1(s) + x_t+1,l'_s) + ...)   from 0 in the last two states at the end
    loss = -log(e^alpha_T(S-1) + e^alpha_T(S-2))

x: (T, N, C) logarithms of probabilities, stored;  labels: (N, L) integers, padded;  losses: (N).

    dx_tc = (e^x_tc - sum over s with l'_s = c of e^(alpha_t(s) + beta_t(s) + loss)) dl

It is PyTorch's gradient: that of logits whose log_softmax is x. (Backward of log_softmax leaves it
as it is.) Logarithms and sums are float32; backward computes alpha again rather than keep it.
"""

from collections.abc import Sequence

import numpy as np

from minifp.autograd.op import op
from minifp.autograd.tape import Tensor
from minifp.checks import check_count, check_flag
from minifp.errors import ShapeError
from minifp.numerics.kernels import kernel
from minifp.numerics.rules import COMPUTE, GIVEN
from minifp.ops.arguments import check_tensors
from minifp.ops.losses.ctc_targets import as_labels
from minifp.ops.losses.loss import check_reduction
from minifp.ops.public import public
from minifp.ops.shaping.indexing import add_rows
from minifp.runtime.device import placed


def states(labels, blank):
    """l' (N, S), and whether each state may be reached from two before it."""
    shape = len(labels), 2 * labels.shape[1] + 1
    path = np.full_like(labels, blank, int, "C", shape=shape)
    path[:, 1::2] = labels
    skip = np.zeros(path.shape, bool, like=labels)
    skip[:, 2:] = (path[:, 2:] != blank) & (path[:, 2:] != path[:, :-2])
    return path, skip


def _log_sum(terms, sum):
    """log sum e^term over the first axis; -Inf where all are."""
    top = terms.max(0)
    top = np.where(np.isneginf(top), 0, top)
    return top + np.log(sum(np.exp(terms - top), axis=0))


def _shifted(a, by):
    """a (N, S) moved by so many states to the right (left if negative), -Inf moving in."""
    y = np.full_like(a, -np.inf)
    if by > 0:
        y[:, by:] = a[:, :-by]
    else:
        y[:, :by] = a[:, -by:]
    return y


def alphas(x, labels, blank, sum):
    """alpha (T, N, S), for every state, whether it is one of the labels' or of the padding."""
    path, skip = states(labels, blank)
    scores = np.take_along_axis(x, path[None], 2)
    alpha = np.full_like(scores, -np.inf)
    for t in range(len(x)):
        if t == 0:
            alpha[0, :, :2] = scores[0, :, :2]
            continue
        a = alpha[t - 1]
        terms = np.stack([a, _shifted(a, 1), np.where(skip, _shifted(a, 2), -np.inf)])
        alpha[t] = _log_sum(terms, sum) + scores[t]
    return alpha


def betas(x, labels, steps, lengths, blank, sum):
    """beta (T, N, S); -Inf where a sequence has ended, and in states of the padding."""
    path, skip = states(labels, blank)
    scores = np.take_along_axis(x, path[None], 2)
    from_end = 2 * lengths[:, None] - np.arange(path.shape[1], like=lengths)
    last = np.where((from_end == 0) | (from_end == 1), x.dtype.type(0), -np.inf)
    beta = np.full_like(scores, -np.inf)
    for t in reversed(range(len(x))):
        if t + 1 < len(x):
            a = beta[t + 1] + scores[t + 1]
            beta[t] = _log_sum(
                np.stack([a, _shifted(a, -1), _shifted(np.where(skip, a, -np.inf), -2)]), sum
            )
        beta[t] = np.where((t == steps - 1)[:, None], last, beta[t])
    return beta


def _losses(alpha, steps, lengths, sum):
    """-log of the probability of the labels (N): of the last two states at each end."""
    rows = np.arange(len(steps), like=steps)
    ends = alpha[np.maximum(steps - 1, 0), rows]
    before = np.where(lengths > 0, ends[rows, np.maximum(2 * lengths - 1, 0)], -np.inf)
    losses = -_log_sum(np.stack([ends[rows, 2 * lengths], before]), sum)
    without_steps = np.where(lengths > 0, np.full_like(losses, np.inf), 0)
    return np.where(steps > 0, losses, without_steps)


@kernel("loss", "x")
def ctc_loss_each(x, labels, steps, lengths, *, blank, zero_infinity, sum):
    losses = _losses(alphas(x, labels, blank, sum), steps, lengths, sum)
    return np.where(np.isposinf(losses), 0, losses) if zero_infinity else losses


def divisors(lengths, reduction, dtype):
    """By what each loss is divided: in a mean by its labels, and all by the batch."""
    counts = np.maximum(lengths, 1) * len(lengths) if reduction == "mean" else lengths * 0 + 1
    return np.asarray(counts, dtype, like=lengths)


@kernel("loss", COMPUTE)
def ctc_loss_total(x, labels, steps, lengths, *, blank, zero_infinity, reduction, sum):
    losses = ctc_loss_each.reference(
        x, labels, steps, lengths, blank=blank, zero_infinity=zero_infinity, sum=sum
    )
    return sum(losses / divisors(lengths, reduction, x.dtype))


@kernel("loss", GIVEN)
def ctc_loss_dx(dl, x, labels, steps, lengths, *, blank, zero_infinity, reduction, sum):
    alpha = alphas(x, labels, blank, sum)
    losses = _losses(alpha, steps, lengths, sum)
    gamma = np.exp(alpha + betas(x, labels, steps, lengths, blank, sum) + losses[:, None])
    T, N, S = gamma.shape
    rows = states(labels, blank)[0] + x.shape[2] * np.arange(N, like=labels)[:, None]
    in_states = gamma.transpose(1, 2, 0).reshape(N * S, T)
    in_classes = add_rows(in_states, rows.reshape(-1), N * x.shape[2], sum)
    dx = np.exp(x) - in_classes.reshape(N, x.shape[2], T).transpose(2, 0, 1)
    dx = dx * (dl / divisors(lengths, reduction, x.dtype))[:, None]
    impossible = np.isposinf(losses)
    dx = np.where(impossible[:, None], 0 if zero_infinity else np.nan, dx)
    return np.where((np.arange(T, like=steps)[:, None] < steps)[:, :, None], dx, 0)


def ctc_loss_backward(dl, x, labels, steps, lengths, to, **settings):
    dx = ctc_loss_dx(dl, x, labels, steps, lengths, to=to[0], **settings)
    return dx, None, None, None


@op
def ctc_loss_op(x, labels, steps, lengths, *, blank, zero_infinity, reduction):
    settings = {"blank": blank, "zero_infinity": zero_infinity}
    if reduction == "none":
        losses = ctc_loss_each(x, labels, steps, lengths, **settings)
    else:
        losses = ctc_loss_total(x, labels, steps, lengths, reduction=reduction, **settings)
    return losses, (x, labels, steps, lengths), ctc_loss_backward


@public("fp F", autocast="loss")
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor | np.ndarray,
    input_lengths: Tensor | np.ndarray | Sequence[int] | int,
    target_lengths: Tensor | np.ndarray | Sequence[int] | int,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """The loss of label sequences whose places in the input are not known, in nats.

    log_probs: (T, N, C), or (T, C) without a batch: log_softmax's, also where that is not checked.
    targets: integers, classes other than `blank`: (N, S), of which each row counts up to its
        length; or all one after the other, (sum of target_lengths); without a batch (S).
    input_lengths, target_lengths: (N) integers, as a tensor, array, tuple or list; or one number.
    zero_infinity: whether labels that do not fit into their input (an infinite loss, with NaN as
        gradient) count as 0 and have gradient 0.

    Result: the mean over the batch of losses divided by their target lengths, a float32 scalar;
    "sum"; or with reduction "none" the losses, (N). Raises DTypeError for anything but a floating
    tensor and integers, ShapeError where shapes do not fit, ArgumentError for lengths and labels
    outside of their range.
    """
    check_reduction("ctc_loss", reduction)
    check_flag("ctc_loss: zero_infinity", zero_infinity)
    check_tensors("ctc_loss", log_probs=log_probs)
    if log_probs.ndim not in (2, 3) or 0 in (log_probs.shape[0], log_probs.shape[-1]):
        raise ShapeError(
            f"ctc_loss: log_probs of shape {log_probs.shape}: expected (T, N, C) or (T, C)"
        )
    blank = check_count("ctc_loss: blank", blank, least=0)
    x = log_probs if log_probs.ndim == 3 else log_probs.reshape(len(log_probs), 1, -1)
    indices = as_labels(log_probs, targets, input_lengths, target_lengths, blank)
    labels, steps, lengths = (placed(a, like=x.array) for a in indices)
    settings = {"blank": blank, "zero_infinity": bool(zero_infinity), "reduction": reduction}
    losses = ctc_loss_op(x, labels, steps, lengths, **settings)
    return losses if log_probs.ndim == 3 or losses.ndim == 0 else losses.reshape()
