"""Compiled kernels of ctc_loss.py: a sequence at a time, its states side by side.

Rows of alpha and beta are kept less an offset, the sum in float64 of what was the largest number of
each row before: so they stay near 0 however long a sequence is, where alpha itself would have lost
its last digits. States are followed by EDGE others of -Inf, from which none is reached; before the
first one there are as many.
"""

import numpy as np

from minifp.numerics.compiled import compiled_kernel
from minifp.numerics.formats import downcast, float32, float64
from minifp.ops.losses.ctc_loss import divisors, states
from minifp.runtime.cpu.compile.decorators import inline
from minifp.runtime.cpu.kernels.elementary import exp, log
from minifp.runtime.cpu.kernels.half import as_bits, as_float, load, store
from minifp.runtime.cpu.kernels.pool import flat, parallel
from minifp.runtime.cpu.kernels.sums import single

EDGE = 16  # numbers at both ends of a row: a vector
NANOSECONDS = 4.0  # a state of a step, of each recursion
MAGNITUDE, SIGN = np.int32(0x7FFFFFFF), np.int32(31)
LOWEST, HIGHEST = np.float32(-np.inf), np.float32(np.inf)
ZERO, NAN = np.float32(0), np.float32(np.nan)


def width(S):
    """Numbers of a row of S states: whole vectors, and the edges."""
    return (S + EDGE - 1) // EDGE * EDGE + 2 * EDGE


# ---- one step -----------------------------------------------------------------------------------


@inline
def log_sum(x, y, z):
    """log(e^x + e^y + e^z)."""
    top = x if x > y or x != x else y
    top = top if top > z or top != top else z
    base = ZERO if top == LOWEST else top
    return base + log(exp(x - base) + exp(y - base) + exp(z - base))


@inline
def key(x):
    """An integer that is the larger, the larger a number: -Inf's of what is Inf or NaN."""
    bits = as_bits(x if x < HIGHEST else LOWEST)
    return bits ^ ((bits >> SIGN) & MAGNITUDE)


@inline
def number_of(key):
    """The number with this key, or 0 for -Inf."""
    x = as_float(key ^ ((key >> SIGN) & MAGNITUDE))
    return x if x > LOWEST else ZERO


@inline
def fill(row, stride, value):
    for s in range(stride):
        row[s] = value


@inline
def gather(x, at, path, n, S, scores):
    """The scores of the states at one step, x[at + l'_s]."""
    for s in range(S):
        scores[EDGE + s] = load(x, at + path[n, s])


@inline
def step_forward(before, shift, skip, scores, row, stride):
    """The row of alpha behind `before`, whose numbers are taken less `shift`; its largest."""
    top = np.int32(-(2**31))
    for s in range(EDGE, stride - EDGE):
        far = load(before, s - 2)
        far = far if load(skip, s) > ZERO else LOWEST
        y = log_sum(load(before, s), load(before, s - 1), far) - shift + load(scores, s)
        store(row, s, y)
        top = max(top, key(y))
    return number_of(top)


@inline
def step_back(behind, shift, skip, row, stride):
    """The row of beta before `behind`, which has its own step's scores added; its largest."""
    top = np.int32(-(2**31))
    for s in range(EDGE, stride - EDGE):
        far = load(behind, s + 2)
        far = far if load(skip, s + 2) > ZERO else LOWEST
        y = log_sum(load(behind, s), load(behind, s + 1), far) - shift
        store(row, s, y)
        top = max(top, key(y))
    return number_of(top)


@inline
def begin(skip, can_skip, n, S, scores, stride):
    """The row of which states may be reached from two before, and scores of -Inf."""
    fill(skip, stride, ZERO)
    for s in range(S):
        skip[EDGE + s] = can_skip[n, s]
    fill(scores, stride, LOWEST)


@inline
def first_alpha(scores, row, S, stride):
    """alpha_0, and its largest."""
    fill(row, stride, LOWEST)
    top = key(LOWEST)
    for s in range(EDGE, EDGE + min(S, 2)):
        row[s] = scores[s]
        top = max(top, key(row[s]))
    return number_of(top)


@inline
def loss_of(row, S, offset):
    """-log of the probability of the last two states; offset: what alpha was taken less."""
    last = EDGE + S - 1
    return -(np.float64(log_sum(row[last], row[last - 1], LOWEST)) + offset)


@inline
def loss_without_steps(S):
    """The loss of a sequence of no steps: that of no labels is 0."""
    return HIGHEST if S > 1 else ZERO


# ---- losses -------------------------------------------------------------------------------------


@parallel
def sequence_losses(chunk, scratch, N, C, stride, x, path, can_skip, steps, lengths, losses):
    n, S = chunk, 2 * lengths[chunk] + 1
    row, other = scratch[:stride], scratch[stride : 2 * stride]
    scores, skip = scratch[2 * stride : 3 * stride], scratch[3 * stride : 4 * stride]
    losses[n] = loss_without_steps(S)
    if steps[n] > 0:
        begin(skip, can_skip, n, S, scores, stride)
        fill(other, stride, LOWEST)
        gather(x, n * C, path, n, S, scores)
        top, offset = first_alpha(scores, row, S, stride), 0.0
        for t in range(1, steps[n]):
            gather(x, (t * N + n) * C, path, n, S, scores)
            offset += top
            top = step_forward(row, top, skip, scores, other, stride)
            row, other = other, row
        losses[n] = loss_of(row, S, offset)


def sequences(x, labels, steps, lengths, blank):
    """What kernels are told of the sequences: sizes, states, lengths."""
    path, can_skip = states(labels, blank)
    N, S = path.shape
    found = np.ascontiguousarray(path, np.int64), can_skip.astype(float32)
    of_each = (np.ascontiguousarray(a, np.int64) for a in (steps, lengths))
    return N, x.shape[2], width(S), flat(x), *found, *of_each


@compiled_kernel
def ctc_loss_each(x, labels, steps, lengths, *, blank, zero_infinity, to):
    losses = np.empty(len(labels), float32)
    told = sequences(x, labels, steps, lengths, blank)
    stride = told[2]
    cost = len(x) * losses.size * stride * NANOSECONDS
    sequence_losses(losses.size, *told, losses, cost=cost, workspace=4 * stride)
    if zero_infinity:
        losses[np.isposinf(losses)] = 0
    return downcast(losses, to[0])


@compiled_kernel
def ctc_loss_total(x, labels, steps, lengths, *, blank, zero_infinity, reduction, to):
    settings = {"blank": blank, "zero_infinity": zero_infinity, "to": (float32,)}
    losses = ctc_loss_each(x, labels, steps, lengths, **settings)
    with np.errstate(all="ignore"):
        total = np.sum(losses / divisors(lengths, reduction, float64))
    return np.asarray(total).astype(to[0])


# ---- their gradient -----------------------------------------------------------------------------


@inline
def all_alphas(sequence):
    """alpha of all steps, each step's offset, and the loss."""
    N, C, stride, n, S, steps, x, path, skip, scores, rows, offsets = sequence
    gather(x, n * C, path, n, S, scores)
    top, offsets[0] = first_alpha(scores, rows, S, stride), 0.0
    for t in range(1, steps):
        gather(x, (t * N + n) * C, path, n, S, scores)
        offsets[t] = offsets[t - 1] + top
        before, row = rows[(t - 1) * stride :], rows[t * stride :]
        top = step_forward(before, top, skip, scores, row, stride)
    return loss_of(rows[(steps - 1) * stride :], S, offsets[steps - 1])


@inline
def add_to_classes(alpha, beta, behind, apart, path, n, S, in_classes):
    """Add e^(alpha + beta + apart) of each state to its class; behind: room for a row."""
    for s in range(EDGE, EDGE + S):
        store(behind, s, exp(load(alpha, s) + load(beta, s) + apart))
    for s in range(S):
        in_classes[path[n, s]] += behind[EDGE + s]


@inline
def write_gradients(x, at, C, in_classes, share, dx):
    for c in range(C):
        store(dx, at + c, (exp(load(x, at + c)) - load(in_classes, c)) * share)
        store(in_classes, c, ZERO)


@inline
def write_everywhere(value, first, last, N, C, n, dx):
    """One number as the gradient of some steps of a sequence."""
    for t in range(first, last):
        for c in range(C):
            store(dx, (t * N + n) * C + c, value)


@inline
def gradients_back(sequence, loss, share, beta, behind, in_classes, dx):
    """Go through beta from the last step to the first, and write the gradient of each."""
    N, C, stride, n, S, steps, x, path, skip, scores, rows, offsets = sequence
    fill(beta, stride, LOWEST)
    fill(behind, stride, LOWEST)
    fill(in_classes, C, ZERO)
    for s in range(max(S - 2, 0), S):
        beta[EDGE + s] = ZERO
    top, offset = ZERO, 0.0
    for step in range(steps):
        t = steps - 1 - step
        at = (t * N + n) * C
        if step > 0:
            for s in range(EDGE, stride - EDGE):
                store(behind, s, load(beta, s) + load(scores, s))
            offset += top
            top = step_back(behind, top, skip, beta, stride)
        gather(x, at, path, n, S, scores)
        apart = np.float32(offsets[t] + offset + loss)
        add_to_classes(rows[t * stride :], beta, behind, apart, path, n, S, in_classes)
        write_gradients(x, at, C, in_classes, share, dx)


@parallel
def sequence_gradients(
    chunk, scratch, T, impossible, N, C, stride, x, path, can_skip, steps, lengths, shares, dx
):
    n, S, done = chunk, 2 * lengths[chunk] + 1, steps[chunk]
    write_everywhere(ZERO, done, T, N, C, n, dx)
    if done > 0:
        offsets, after = scratch[: 2 * T].view(np.float64), scratch[2 * T :]
        skip, scores = after[:stride], after[stride : 2 * stride]
        beta, behind = after[2 * stride : 3 * stride], after[3 * stride : 4 * stride]
        in_classes, rows = after[4 * stride : 4 * stride + C], after[4 * stride + C :]
        begin(skip, can_skip, n, S, scores, stride)
        fill(rows, done * stride, LOWEST)
        sequence = N, C, stride, n, S, done, x, path, skip, scores, rows, offsets
        loss = all_alphas(sequence)
        if loss == np.inf:
            write_everywhere(impossible, 0, done, N, C, n, dx)
        else:
            gradients_back(sequence, loss, shares[n], beta, behind, in_classes, dx)


@compiled_kernel
def ctc_loss_dx(dl, x, labels, steps, lengths, *, blank, zero_infinity, reduction, to):
    dx = np.empty(x.shape, to[0] or x.dtype)
    told = sequences(x, labels, steps, lengths, blank)
    (T, N, C), stride = x.shape, told[2]
    shares = np.empty(N, float32)
    with np.errstate(all="ignore"):
        shares[:] = single(dl) / divisors(lengths, reduction, float32)
    impossible = ZERO if zero_infinity else NAN
    cost = 3 * T * N * stride * NANOSECONDS
    workspace = 2 * T + (T + 4) * stride + C
    sequence_gradients(N, T, impossible, *told, shares, flat(dx), cost=cost, workspace=workspace)
    return dx
