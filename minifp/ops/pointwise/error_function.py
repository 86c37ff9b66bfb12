"""The error function, and what is made of it.

    erf x = 2 / sqrt(pi) times the integral of e^(-t^2) from 0 to x;   dx = dy 2 / sqrt(pi) e^(-x^2)
    P(x) = (1 + erf(x / sqrt(2))) / 2, the standard normal distribution;  p(x) = P'(x)
    gelu x = x P(x);   dx = dy (P(x) + x p(x));   or, with tanh for erf:
    gelu x = x s(2 u), s the sigmoid, u = sqrt(2 / pi) (x + 0.044715 x^3);
        dx = dy s(2 u) (1 + 2 x u' s(-2 u))

(Hendrycks and Gimpel 2016, arXiv:1606.08415.) x is stored. Far from 0 on the left P is taken from
the tail, not from 1 + erf, of which float32 would leave no digit.
"""

from functools import wraps
from math import pi, sqrt

import numpy as np

from minifp.autograd.tape import Tensor
from minifp.checks import check_choice
from minifp.derive import elementary
from minifp.derive.symbol import in_formulas
from minifp.ops.elementwise import operation, takes_floats
from minifp.ops.pointwise.unary_math import floating
from minifp.ops.public import public

# W. J. Cody, "Rational Chebyshev Approximations for the Error Function", Math. Comp. 23 (1969),
# 631-637, as in his CALERF (SPECFUN, netlib, 1990): top and bottom, the highest power first.
# All coefficients are positive, so that float32 loses next to nothing in the sums.
NEAR = (  # erf x / x by x^2, for |x| <= 0.46875
    (1.85777706184603153e-1, 3.16112374387056560e0, 1.13864154151050156e2,
     3.77485237685302021e2, 3.20937758913846947e3),
    (1.0, 2.36012909523441209e1, 2.44024637934444173e2, 1.28261652607737228e3,
     2.84423683343917062e3),
)  # fmt: skip
MIDDLE = (  # e^(x^2) erfc x by x, for 0.46875 <= x <= 4
    (2.15311535474403846e-8, 5.64188496988670089e-1, 8.88314979438837594e0,
     6.61191906371416295e1, 2.98635138197400131e2, 8.81952221241769090e2,
     1.71204761263407058e3, 2.05107837782607147e3, 1.23033935479799725e3),
    (1.0, 1.57449261107098347e1, 1.17693950891312499e2, 5.37181101862009858e2,
     1.62138957456669019e3, 3.29079923573345963e3, 4.36261909014324716e3,
     3.43936767414372164e3, 1.23033935480374942e3),
)  # fmt: skip
FAR = (  # (1 / sqrt(pi) - x e^(x^2) erfc x) x^2 by 1 / x^2, for x > 4
    (1.63153871373020978e-2, 3.05326634961232344e-1, 3.60344899949804439e-1,
     1.25781726111229246e-1, 1.60837851487422766e-2, 6.58749161529837803e-4),
    (1.0, 2.56852019228982242e0, 1.87295284992346725e0, 5.27905102951428412e-1,
     6.05183413124413191e-2, 2.33520497626869185e-3),
)  # fmt: skip
BORDER = 0.46875
BLOCK = 8192


def _ratio(x, top, bottom):
    """The quotient of two polynomials."""

    def polynomial(coefficients):
        y = np.full_like(x, coefficients[0])
        for c in coefficients[1:]:
            y *= x
            y += c
        return y

    return polynomial(top) / polynomial(bottom)


@in_formulas(elementary.decay)
def _decay(x, rate):
    """e^(-rate x^2), for a rate of 1 or 1/2.

    x^2 would be rounded, and the exponential makes x^2 times as much of it. So x is split in h,
    with few enough bits that h^2 is exact, and a rest: x^2 = h^2 + (x - h) (x + h).
    """
    x = np.minimum(np.abs(x), 40)  # from where on it is 0, in float64 too
    h = np.floor(16 * x) / 16
    return np.exp(-rate * (h * h)) * np.exp(-rate * ((x - h) * (x + h)))


def _tail(x):
    """e^(x^2) erfc x, for x >= BORDER."""
    y, far = _ratio(np.minimum(x, 4), *MIDDLE), x > 4
    if np.any(far):
        r = 1 / (x * x)
        y = np.where(far, (1 / sqrt(pi) - r * _ratio(r, *FAR)) / x, y)
    return y


def _erf_near(x):
    return x * _ratio(np.minimum(x * x, BORDER**2), *NEAR)


def in_blocks(f):
    """f of arrays of any shape, BLOCK numbers at a time: its many temporaries stay in the cache."""

    @wraps(f)
    def whole(x):
        flat = x.reshape(-1)
        y = np.empty_like(flat)
        for i in range(0, flat.size, BLOCK):
            y[i : i + BLOCK] = f(flat[i : i + BLOCK])
        return y.reshape(x.shape)

    return whole


@in_formulas(elementary.erf)
@in_blocks
def _erf(x):
    y = np.copysign(1 - _decay(x, 1) * _tail(np.abs(x)), x)
    return np.where(np.abs(x) <= BORDER, _erf_near(x), y)


@in_formulas(elementary.normal_distribution)
@in_blocks
def normal_distribution(x):
    """P(x), with all its digits in both tails."""
    z = sqrt(0.5) * x
    tail = 0.5 * _decay(x, 0.5) * _tail(np.abs(z))
    y = np.where(x < 0, tail, 1 - tail)
    return np.where(np.abs(z) <= BORDER, 0.5 + 0.5 * _erf_near(z), y)


ERF = "The error function: 2 / sqrt(pi) times the integral of e^(-t^2) from 0 to x."
erf = floating(
    "erf", _erf, lambda dy, x: dy * (2 / sqrt(pi) * _decay(x, 1)), ERF, autocast="pointwise"
)


# ---- gelu ---------------------------------------------------------------------------------------


def _twice_u(x):
    return x * (2 * sqrt(2 / pi) * (1 + 0.044715 * (x * x)))


def _gelu(x, approximate):
    if approximate == "tanh":
        return x / (1 + np.exp(-_twice_u(x)))
    return x * normal_distribution(x)


def _gelu_slope(dy, x, approximate):
    if approximate == "tanh":
        v = _twice_u(x)
        rise = 2 * sqrt(2 / pi) * (1 + 3 * 0.044715 * (x * x)) / (1 + np.exp(v))
        return dy * ((1 + x * rise) / (1 + np.exp(-v)))
    return dy * (normal_distribution(x) + x * (_decay(x, 0.5) / sqrt(2 * pi)))


gelu_op = operation("gelu", _gelu, _gelu_slope)


@public("F", autocast="pointwise")
@takes_floats
def gelu(input: Tensor, *, approximate: str = "none") -> Tensor:
    """x P(x), with P the normal distribution; with approximate="tanh" by a tanh in its place.

    Raises ArgumentError for another `approximate`.
    """
    check_choice("gelu: approximate", approximate, ("none", "tanh"))
    return gelu_op(input, approximate=approximate)
