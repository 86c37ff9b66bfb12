"""What was done to gradients, from a sample of them before and after.

Clipping by a norm multiplies all by one number below 1; clipping by value cuts what is beyond a
limit; a weight decay adds a multiple of the weights. Each has a number of the user's that was meant
for true gradients. What commutes with the loss scale is not told: a mask, a factor of 1 or more,
and one that is a round number (of two digits, or 1/k up to k = 64, as for the mean over k
micro-batches), unless the norm has become a round number, as it does by clipping. By chance
one norm in 60 is that close to a number of two digits, and one factor in 60.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from minifp.numerics.formats import format_of

EXPLAINED = 0.9  # share of the squared change that a multiple of the weights must explain
NEARLY_ALL = 0.99  # of the numbers of a sample
MOST_BATCHES = 64
FEW = 8  # numbers, for a sum of two things to be told apart


class Change(NamedTuple):
    """One parameter's gradient: samples of it before and after, and of the weights.

    dtype: in which it is stored. was: by what backward multiplied it; seed: by what the step takes
    it to be multiplied. norm: of all of it, after.
    """

    name: str
    old: np.ndarray
    new: np.ndarray
    weights: np.ndarray
    dtype: np.dtype
    was: float
    seed: float
    norm: float


@dataclass
class Finding:
    """What was done (a kind), how it is told, and the way out."""

    kind: str
    what: str
    why: str
    fix: str

    def text(self, where: str) -> str:
        """All of it."""
        return f"{self.what} ({where}): {self.why}. {self.fix}"


@np.errstate(all="ignore")  # Inf and NaN are values here
def what_was_done(changes: list[Change], norm: float) -> Finding | None:
    """What was done to these gradients; None for what does no harm. norm: of all of them, after."""
    seed, was = changes[0].seed, changes[0].was
    factors = [factor_of(c) for c in changes]
    if seed == 1:
        return replaced(changes, factors, was)
    if all(was_masked(c) for c in changes):
        return None
    decay = multiple_of_weights(changes)
    if decay is not None:
        return of_decay(changes, decay)
    limit = cut_at(changes)
    if limit is not None:
        return of_limit(changes, *limit)
    exact_factors = [f for f in factors if f is not None]
    if len(exact_factors) == len(changes):
        return None if is_harmless(exact_factors, norm) else of_norm(changes, exact_factors, norm)
    return of_other(changes)


# ---- telling them apart ----


def factor_of(c: Change) -> float | None:
    """By what nearly all were multiplied, within their rounding; None if they were not."""
    good = np.isfinite(c.old) & np.isfinite(c.new)
    old, new = c.old[good], c.new[good]
    square = float(old @ old)
    if not square:
        return None
    factor = float(old @ new) / square
    close = np.abs(new - factor * old) <= format_of(c.dtype).ulp(factor * old)
    return factor if close.mean() >= NEARLY_ALL else None


def was_masked(c: Change) -> bool:
    """Whether each is as it was, or 0."""
    return bool(np.all((c.new == c.old) | (c.new == 0) | np.isnan(c.old)))


def multiple_of_weights(changes: list[Change]) -> float | None:
    """Which multiple of the weights was added, if that is what was done."""
    w = np.concatenate([c.weights for c in changes])
    added = np.concatenate([c.new - c.old for c in changes])
    good = np.isfinite(added) & np.isfinite(w)
    w, added = w[good], added[good]
    if len(w) < FEW or not w.any():
        return None
    multiple = float(w @ added) / float(w @ w)
    left = added - multiple * w
    return multiple if float(left @ left) < (1 - EXPLAINED) * float(added @ added) else None


def cut_at(changes: list[Change]) -> tuple[float, float] | None:
    """(limit, share cut) where what was beyond a limit is at it, and all else as it was."""
    old = np.concatenate([c.old for c in changes])
    new = np.concatenate([c.new for c in changes])
    limit = float(np.abs(new).max(initial=0.0))
    beyond = np.abs(old) > limit
    at_limit = np.abs(new[beyond]) == limit
    same_sign = np.sign(new[beyond]) == np.sign(old[beyond])
    if not beyond.any() or not np.all(at_limit & same_sign):
        return None
    return (limit, float(beyond.mean())) if np.array_equal(new[~beyond], old[~beyond]) else None


def is_harmless(factors: list[float], norm: float) -> bool:
    """Whether one factor for all commutes with the loss scale, and is no clipping by the norm."""
    least, most = min(factors), max(factors)
    if most - least > 1e-3 * abs(most):
        return False
    k = 1 / most if most else 1.0
    if most <= 0 or most >= 1 - 1e-3 or (k < MOST_BATCHES + 0.5 and math.isclose(
        k, round(k), rel_tol=5e-4
    )):  # fmt: skip
        return True
    return is_round(most) and not is_round(norm)


def is_round(x: float) -> bool:
    """Whether a number is one of two digits, within what rounding leaves of it."""
    return x > 0 and math.isclose(x, float(f"{x:.1e}"), rel_tol=2e-4)


# ---- telling of them ----


def named(changes: list[Change]) -> str:
    """Whose gradients."""
    more = f" and {len(changes) - 1} more" if len(changes) > 1 else ""
    return f"{changes[0].name}.grad{more}"


def of_norm(changes: list[Change], factors: list[float], norm: float) -> Finding:
    """Clipping by a norm."""
    seed, least, most = changes[0].seed, min(factors), max(factors)
    by = f"{most:.3g}" if most - least < 1e-3 * most else f"{least:.3g} to {most:.3g}"
    before = math.sqrt(sum((c.norm / f) ** 2 for c, f in zip(changes, factors) if f))
    return Finding(
        "norm",
        f"{named(changes)} multiplied by {by}, as clipping by a norm does, while multiplied by "
        f"{seed:g}",
        f"the norm that was compared is {before:.3g}, but the true norm is {before / seed:.3g}. "
        f"The step divides the clipped norm, {norm:.3g}, by {seed:g}: as if the largest norm were "
        f"{norm / seed:.2g}",
        f"Use fp.MixedOptimizer(..., clip_norm={norm:.3g}), or optimizer.unscale_() and then "
        "nn.utils.clip_grad_norm_",
    )


def of_limit(changes: list[Change], limit: float, share: float) -> Finding:
    """Clipping by value."""
    seed = changes[0].seed
    return Finding(
        "value",
        f"{named(changes)} cut at {limit:.3g} while multiplied by {seed:g}",
        f"{share:.0%} of the numbers were beyond it; for true gradients, that is a limit of "
        f"{limit / seed:.2g}",
        f"Use optimizer.unscale_() and then nn.utils.clip_grad_value_(model.parameters(), "
        f"{limit:.3g})",
    )


def of_decay(changes: list[Change], multiple: float) -> Finding:
    """Weight decay folded into gradients."""
    seed = changes[0].seed
    return Finding(
        "decay",
        f"{multiple:.2g} times the weights was added to {named(changes)} while multiplied by "
        f"{seed:g}",
        f"the step divides both by {seed:g}, so the real weight decay is {multiple / seed:.2g}, "
        f"{seed:g} times weaker",
        f"Use the optimizer's weight_decay={multiple:.2g}, as in optim.SGD(parameters, lr, "
        f"weight_decay={multiple:.2g}), or optimizer.unscale_() before adding it",
    )


def of_other(changes: list[Change]) -> Finding:
    """Something else."""
    seed = changes[0].seed
    share = np.mean(np.concatenate([c.new != c.old for c in changes]))
    return Finding(
        "other",
        f"{named(changes)} changed ({share:.0%} of the numbers) while multiplied by {seed:g}",
        f"the step also divides by {seed:g} whatever was added to the gradients or compared with "
        "them",
        "Call optimizer.unscale_() after backward, then change them",
    )


def replaced(changes: list[Change], factors: list, was: float) -> Finding | None:
    """Scaled gradients in new tensors, which nobody knows to be scaled; None for unscaled ones.

    Who divides by the scale by hand leaves a factor of 1/S or, clipped, less. Told is a factor
    above 1/sqrt(S).
    """
    forgotten = [f for f in factors if f is not None and f * math.sqrt(max(was, 1.0)) > 1]
    if was <= 1 or len(forgotten) < len(factors):
        return None
    return Finding(
        "replaced",
        f"{named(changes)} was replaced by a tensor made of gradients multiplied by {was:g}",
        "the new tensor does not know the loss scale, so the step does not divide by it: updates "
        f"use gradients up to {was * max(forgotten):.3g} times too large",
        "Call optimizer.unscale_() after backward, then replace .grad",
    )
