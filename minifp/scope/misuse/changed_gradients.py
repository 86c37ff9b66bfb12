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
from typing import Any, NamedTuple

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
        return finding("decay", changes, multiple=decay, true=decay / seed)
    limit = cut_at(changes)
    if limit is not None:
        return finding("value", changes, limit=limit[0], share=limit[1], true=limit[0] / seed)
    exact_factors = [f for f in factors if f is not None]
    if len(exact_factors) == len(changes):
        return None if is_harmless(exact_factors, norm) else of_norm(changes, exact_factors, norm)
    share = np.mean(np.concatenate([c.new != c.old for c in changes]))
    return finding("other", changes, share=share)


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
    rest = added - multiple * w
    return multiple if float(rest @ rest) < (1 - EXPLAINED) * float(added @ added) else None


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
    is_mean = k < MOST_BATCHES + 0.5 and math.isclose(k, round(k), rel_tol=5e-4)
    if most <= 0 or most >= 1 - 1e-3 or is_mean:
        return True
    return is_round(most) and not is_round(norm)


def is_round(x: float) -> bool:
    """Whether a number is one of two digits, within what rounding leaves of it."""
    return x > 0 and math.isclose(x, float(f"{x:.1e}"), rel_tol=2e-4)


# ---- telling of them ----

# Of each kind: what was done, why it does harm, and the way out.
TOLD = {
    "norm": (
        "{grads} multiplied by {by}, as clipping by a norm does, while multiplied by {seed:g}",
        "the norm that was compared is {before:.3g}, but the true norm is {true:.3g}. The step "
        "divides the clipped norm, {norm:.3g}, by {seed:g}: as if the largest norm were {most:.2g}",
        "Use fp.MixedOptimizer(..., clip_norm={norm:.3g}), or optimizer.unscale_() and then "
        "nn.utils.clip_grad_norm_",
    ),
    "value": (
        "{grads} cut at {limit:.3g} while multiplied by {seed:g}",
        "{share:.0%} of the numbers were beyond it; for true gradients, that is a limit of "
        "{true:.2g}",
        "Use optimizer.unscale_() and then nn.utils.clip_grad_value_(model.parameters(), "
        "{limit:.3g})",
    ),
    "decay": (
        "{multiple:.2g} times the weights was added to {grads} while multiplied by {seed:g}",
        "the step divides both by {seed:g}, so the real weight decay is {true:.2g}, {seed:g} times "
        "weaker",
        "Use the optimizer's weight_decay={multiple:.2g}, as in optim.SGD(parameters, lr, "
        "weight_decay={multiple:.2g}), or optimizer.unscale_() before adding it",
    ),
    "other": (
        "{grads} changed ({share:.0%} of the numbers) while multiplied by {seed:g}",
        "the step also divides by {seed:g} whatever was added to the gradients or compared with "
        "them",
        "Call optimizer.unscale_() after backward, then change them",
    ),
    "replaced": (
        "{grads} was replaced by a tensor made of gradients multiplied by {was:g}",
        "the new tensor does not know the loss scale, so the step does not divide by it: updates "
        "use gradients up to {times:.3g} times too large",
        "Call optimizer.unscale_() after backward, then replace .grad",
    ),
}


def finding(kind: str, changes: list[Change], **numbers: Any) -> Finding:
    """What is told of these gradients."""
    more = f" and {len(changes) - 1} more" if len(changes) > 1 else ""
    grads, seed = f"{changes[0].name}.grad{more}", changes[0].seed
    return Finding(kind, *(text.format(grads=grads, seed=seed, **numbers) for text in TOLD[kind]))


def of_norm(changes: list[Change], factors: list[float], norm: float) -> Finding:
    """Clipping by a norm."""
    seed, least, most = changes[0].seed, min(factors), max(factors)
    by = f"{most:.3g}" if most - least < 1e-3 * most else f"{least:.3g} to {most:.3g}"
    before = math.sqrt(sum((c.norm / f) ** 2 for c, f in zip(changes, factors) if f))
    norms = {"before": before, "true": before / seed, "norm": norm, "most": norm / seed}
    return finding("norm", changes, by=by, **norms)


def replaced(changes: list[Change], factors: list, was: float) -> Finding | None:
    """Scaled gradients in new tensors, which nobody knows to be scaled; None for unscaled ones.

    Who divides by the scale by hand leaves a factor of 1/S or, clipped, less. Told is a factor
    above 1/sqrt(S).
    """
    large = [f for f in factors if f is not None and f * math.sqrt(max(was, 1.0)) > 1]
    if was <= 1 or len(large) < len(factors):
        return None
    return finding("replaced", changes, was=was, times=was * max(large))
