"""Losses element by element: of differences, of probabilities."""

import warnings

import numpy as np
from bounds import magnitude, magnitude_of_losses
from hypothesis import strategies as st

import minifp as fp
import minifp.nn.functional as F
from cases.case import Case, broadcast_shapes, drawn, functional, shapes
from minifp.ops.elementwise import sum_to
from minifp.ops.losses.scaled_loss import scaled_loss

REDUCTIONS = ("mean", "sum", "none")
REDUCTION = st.sampled_from(REDUCTIONS)


def as_is(array):
    """A tensor of an array in its own format, on the default device."""
    return fp.tensor(array, dtype=array.dtype)


def with_constants(name, call, *shapes, **limits):
    """A case that calls call(functional, constant, *tensors): constant(array) is no input."""

    def theirs(t, *xs):
        def constant(a):
            return t.tensor(a).to(xs[0].dtype) if a.dtype.kind == "f" else t.tensor(a)

        with warnings.catch_warnings():  # of kl_div, that "mean" is no divergence
            warnings.simplefilter("ignore")
            return call(t.nn.functional, constant, *xs)

    return Case(name, lambda *xs: call(F, as_is, *xs), shapes, torch=theirs, **limits)


def of_differences(name, shape, **settings):
    return functional(
        name, lambda f, x, y: getattr(f, name)(x, y, **settings), shape, shape, low=-3.0, high=3.0
    )


def random_weights(shape, low=0.25, high=2.0):
    return np.random.default_rng(7).uniform(low, high, shape).astype("float32")


def of_logits(shape, weight=None, pos_weight=None, reduction="mean"):
    """Binary cross entropy; weight, pos_weight: shapes."""
    given = {"weight": weight, "pos_weight": pos_weight}
    arrays = {n: random_weights(s) for n, s in given.items() if s is not None}
    return with_constants(
        "binary_cross_entropy_with_logits",
        lambda f, c, x, t: f.binary_cross_entropy_with_logits(
            x, t, reduction=reduction, **{n: c(a) for n, a in arrays.items()}
        ),
        *(shape, shape),
        **{"low": -8.0, "high": 8.0},
    )


def of_probabilities(shape, weight=None, reduction="mean"):
    """Binary cross entropy of probabilities, which no sigmoid has made; weight: a shape."""
    array = None if weight is None else random_weights(weight)

    def loss(f, c, x, t):
        p, w = (0.5 + 0.5 * f.tanh(x)), None if array is None else c(array)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "binary_cross_entropy computes in float32")
            return f.binary_cross_entropy(p, f.sigmoid(t), w, reduction=reduction)

    return with_constants("binary_cross_entropy", loss, shape, shape, low=-1.5, high=1.5)


def in_minifp(case):
    """The same, where PyTorch refuses NaN, or gives it without need."""
    return Case(case.name, case.fn, case.shapes, case.low, case.high)


def divergence(x, t, **settings):
    limits = {} if settings.get("log_target") else {"low": 0.1, "high": 3.0}
    return with_constants("kl_div", lambda f, c, a, b: f.kl_div(a, b, **settings), x, t, **limits)


CASES = [
    *(
        of_differences(name, (3, 4), reduction=r)
        for name in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")
        for r in REDUCTIONS
    ),
    *(of_differences(name, (0, 3), reduction="sum") for name in ("mse_loss", "huber_loss")),
    *(of_differences(name, ()) for name in ("l1_loss", "smooth_l1_loss")),
    *(of_differences("smooth_l1_loss", (7,), beta=b) for b in (0.0, 0.5, 2.0)),
    *(of_differences("huber_loss", (7,), delta=d) for d in (0.25, 2.0)),
    Case("scaled_loss", lambda x: scaled_loss(x, 8.0), ((),)),
    *(of_logits((3, 4), reduction=r) for r in REDUCTIONS),
    *(of_logits((2, 3, 4), (3, 1), (4,)), of_logits((2, 3, 4), pos_weight=(4,), reduction="none")),
    *(of_logits((4, 3), (3,), reduction="sum"), of_logits((0, 2), reduction="sum")),
    *(in_minifp(of_probabilities((3, 4), reduction=r)) for r in REDUCTIONS),
    in_minifp(of_probabilities((3, 4), (4,))),
    *(divergence((3, 4), (3, 4), reduction=r) for r in (*REDUCTIONS, "batchmean")),
    *(divergence((3, 4), (3, 4), log_target=True, reduction=r) for r in REDUCTIONS),
    divergence((3, 4), (4,), reduction="batchmean"),
    *(divergence((4,), (3, 1), log_target=True, reduction="sum"), divergence((), ())),
]


@drawn("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")
def draw_of_differences(draw, name):
    settings = {"reduction": draw(REDUCTION)}
    if name == "smooth_l1_loss":
        settings["beta"] = draw(st.sampled_from([0.0, 0.25, 1.0, 3.0]))
    if name == "huber_loss":
        settings["delta"] = draw(st.sampled_from([0.25, 1.0, 3.0]))
    return of_differences(name, draw(shapes(most=3)), **settings)


@st.composite
def weight_shapes(draw, shape):
    if draw(st.booleans()):
        return None
    kept = shape[draw(st.integers(0, len(shape))) :]
    return tuple(n if draw(st.booleans()) else 1 for n in kept)


@drawn("binary_cross_entropy_with_logits")
def draw_of_logits(draw, name):
    shape = draw(shapes(most=3))
    weights = draw(weight_shapes(shape)), draw(weight_shapes(shape))
    return of_logits(shape, *weights, draw(REDUCTION))


@drawn("binary_cross_entropy")
def draw_of_probabilities(draw, name):
    shape = draw(shapes(most=3))
    return of_probabilities(shape, draw(weight_shapes(shape)), draw(REDUCTION))


@drawn("kl_div")
def draw_divergence(draw, name):
    reduction, pair = draw(st.sampled_from([*REDUCTIONS, "batchmean"])), draw(broadcast_shapes(2))
    if reduction == "batchmean" and pair[0][:1] == (0,):  # the sum of none by none
        pair = ((2, 3), (3,))
    return divergence(*pair, reduction=reduction, log_target=draw(st.booleans()))


def logits_terms(x, t, w, p):
    """The absolute values of the two terms that a loss of logits is made of."""
    s, w = np.logaddexp(0, x), 1 if w is None else np.abs(w)
    q = np.abs(t if p is None else t * p)
    return (np.abs(1 - t) * s + q * np.logaddexp(0, -x)) * w


@magnitude
def binary_cross_entropy_with_logits_dx(dl, x, t, w, p, *, exact, divisor, shape):
    q, w = np.abs(t if p is None else t * p), 1 if w is None else np.abs(w)
    slope = np.abs(1 - t) / (1 + np.exp(-x)) + q / (1 + np.exp(x))
    return slope * w * np.abs(dl) / divisor


@magnitude
def binary_cross_entropy_with_logits_dt(dl, x, t, w, p, *, exact, divisor, shape):
    slope = np.abs(x) if p is None else np.abs(p) * np.logaddexp(0, -x) + np.logaddexp(0, x)
    return slope * (1 if w is None else np.abs(w)) * np.abs(dl) / divisor


def logarithms(x):
    """|log x| and |log(1 - x)|, no larger than 100."""
    return np.minimum(np.abs(np.log(x)), 100), np.minimum(np.abs(np.log1p(-x)), 100)


def probability_terms(x, t, w, p):
    """The absolute values of the two terms that a loss of probabilities is made of."""
    log, log1m = logarithms(x)
    return (np.abs(t) * log + np.abs(1 - t) * log1m) * (1 if w is None else np.abs(w))


@magnitude
def binary_cross_entropy_dt(dl, x, t, w, p, *, exact, divisor, shape):
    slope = sum(logarithms(x)) * (1 if w is None else np.abs(w))
    return slope * np.abs(dl) / divisor


def divergence_terms(x, t, w, p, *, log_target):
    """The absolute values of the two terms that a loss is made of."""
    if log_target:
        return np.exp(t) * (np.abs(t) + np.abs(x))
    return np.where(t == 0, 0, np.abs(t * np.log(t))) + np.abs(t * x)


magnitude_of_losses("binary_cross_entropy_with_logits", logits_terms)
magnitude_of_losses("binary_cross_entropy", probability_terms)
magnitude_of_losses("kl_div", divergence_terms)


@magnitude
def kl_div_dt(dl, x, t, w, p, *, exact, log_target, divisor, shape):
    slope = np.abs(t) + np.abs(x) + 1 if log_target else np.abs(np.log(t)) + np.abs(x) + 1
    slope = slope * np.exp(t) if log_target else slope
    return sum_to(slope * np.abs(dl / divisor), t.shape, np.sum) * 2
