"""Elementary functions of float32 numbers as arithmetic, so that loops over them vectorise.

A call of the C library would be made for one number at a time. These have no branches: what cannot
be known before is computed both ways and selected. `x` is a Symbol (see symbol.py); what a function
does with it becomes part of the graph, and so is the same on all machines.

Largest errors, against float64, in units of the last place (half of one is the best there is):

    exp   1.2     expm1  1.5     tanh   2.4     erf    1.3
    log   0.9     log1p  1.4     log2     2.0     log10  2.2
    sin   2.3     cos    2.3     (for the numbers that float16 holds)

NaN stays NaN, -0 stays -0 where f(0) = 0, results below 2^-126 are right too, and what overflows is
Inf. FUNCTIONS has those that NumPy has, by their names there.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

NEAREST_WHOLE = 1.5 * 2**23  # x + it has x, as a whole number, in its last bits
MAGNITUDE, SIGN = np.int32(0x7FFFFFFF), np.int32(-(2**31))


def where(condition: Any, yes: Any, no: Any) -> Any:
    """The one or the other, element by element."""
    return condition.where(yes, no)


def polynomial(x: Any, *coefficients: float) -> Any:
    """The polynomial of x with these coefficients, that of the highest power first."""
    y: Any = coefficients[0]
    for c in coefficients[1:]:
        y = y * x + c
    return y


# ---- bits ---------------------------------------------------------------------------------------


def power_of_two(k: Any, bias: int = 127) -> Any:
    """2^(k + bias - 127), for a whole number k from 1 - bias to 254 - bias: put in its place."""
    bits = (k + (NEAREST_WHOLE + bias)).bitwise("bits", k + (NEAREST_WHOLE + bias))
    bits = bits.bitwise("shl", bits, np.int32(23))
    return bits.bitwise("float", bits)


def power_below(k: Any) -> Any:
    """2^(k - 1), for k from -125 to 128."""
    return power_of_two(k, 126)


def copysign(x: Any, y: Any) -> Any:
    """|x| with the sign of y."""
    magnitude, sign = x.bitwise("bits", x) & MAGNITUDE, y.bitwise("bits", y) & SIGN
    return x.bitwise("float", magnitude | sign)


def split(x: Any) -> tuple[Any, Any]:
    """(k, m) with x = 2^k m and m in [sqrt(1/2), sqrt(2)), for a normal x > 0."""
    least = np.float32(math.sqrt(0.5)).view(np.int32)
    bits = x.bitwise("bits", x)
    k = x.bitwise("ashr", x.bitwise("isub", bits, least), np.int32(23))
    m = x.bitwise("float", x.bitwise("isub", bits, x.bitwise("shl", k, np.int32(23))))
    return x.bitwise("tofloat", k), m


# ---- e^x ----------------------------------------------------------------------------------------
#
# x = k log 2 + r, |r| <= log(2) / 2. log 2 has two parts, of which k times the first is exact.
# e^r = 1 + r + r^2 q(r), with a q fitted so that the relative error is at most 2^-28, and another
# one for e^r - 1, whose own relative error is at most 2^-31.

LOG2_E, LN2_HIGH, LN2_LOW = 1 / math.log(2), 0.693359375, -2.12194440e-4
EXP = (1.381453942e-3, 8.368745446e-3, 4.166838899e-2, 1.666652113e-1, 4.999999404e-1, 1.0, 1.0)
EXPM1 = (1.991419267e-4, 1.394105144e-3, 8.333273232e-3, 4.166635498e-2, 1.666666716e-1, 0.5)
LOWEST, HIGHEST = -103.972084, 89.0  # e^x is 0 below, and Inf above
DEEP, LIFT = -80.0, 32  # below, powers of two are kept normal by 2^32, and the result is scaled
FLAT_BELOW = -20.0  # e^x - 1 is -1 there
TINY = 2.0**-60


def _powers_in(x):
    """k and r."""
    k = (x * LOG2_E + NEAREST_WHOLE) - NEAREST_WHOLE
    return k, (x - k * LN2_HIGH) - k * LN2_LOW


def _twice_exp_of(r):
    """2 e^r, for |r| up to a little more than log(2) / 2."""
    return polynomial(r, *(2 * c for c in EXP))


def _expm1_of(r):
    """e^r - 1."""
    return polynomial(r, *EXPM1) * (r * r) + r


def _exp_near(x):
    """e^x, for x from -80 to HIGHEST."""
    k, r = _powers_in(x)
    return _twice_exp_of(r) * power_below(k)


def exp_of_sum(x: Any, rest: Any) -> Any:
    """e^(x + rest), where |rest| <= 0.1: what was rounded off x, so that no digit is lost."""
    gone, low = x < LOWEST, x < DEEP
    x = where(gone, 0.0, where(x > HIGHEST, HIGHEST, x))  # no subnormals where it takes long
    k, r = _powers_in(x)
    y = _twice_exp_of(r if rest is None else r + rest)
    y = y * power_below(where(low, k + LIFT, k))  # of a normal power
    return where(gone, 0.0, where(low, y * 2.0**-LIFT, y))


def exp(x: Any) -> Any:
    """e^x."""
    return exp_of_sum(x, None)


def _expm1_between(x):
    """e^x - 1, for x from -20 to 80."""
    k, r = _powers_in(x)
    scale = power_of_two(k)
    return _expm1_of(r) * scale + (scale - 1)


def expm1(x: Any) -> Any:
    """e^x - 1, with all its digits where x is small."""
    k, r = _powers_in(where(x < FLAT_BELOW, FLAT_BELOW, where(x > HIGHEST, HIGHEST, x)))
    scale = power_below(k)
    y = _expm1_of(r) * scale + (scale - 0.5)
    return where(abs(x) < TINY, x, y + y)


# ---- logarithms ---------------------------------------------------------------------------------
#
# x = 2^k (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)), and log(1 + f) = f - f^2 / 2 + f^3 q(f), with
# a q fitted to 2^-30.

LOG = (
    6.746640801e-2, -1.167565212e-1, 1.188816205e-1, -1.240558922e-1, 1.421955228e-1,
    -1.666799635e-1, 2.000211924e-1, -2.500000894e-1, 3.333331347e-1,
)  # fmt: skip
NORMAL, LARGER_BY = 2.0**-126, 25  # smaller numbers are multiplied by 2^25
LOG10_E, LOG10_2_HIGH = 1 / math.log(10), 0.30078125  # 8 bits
LOG10_2_LOW = math.log10(2) - LOG10_2_HIGH


def _log_near(f):
    """log(1 + f) - (f - f^2 / 2), for 1 + f from sqrt(1/2) to sqrt(2)."""
    return (polynomial(f, *LOG) * f) * (f * f)


def _log_of(k, f):
    """k log 2 + log(1 + f)."""
    return (((_log_near(f) + k * LN2_LOW) - 0.5 * (f * f)) + f) + k * LN2_HIGH


def _split_any(x):
    """(k, f) with x = 2^k (1 + f), for x > 0."""
    small = x < NORMAL
    k, m = split(where(small, x * 2.0**LARGER_BY, x))
    return where(small, k - LARGER_BY, k), m - 1


def _log_anywhere(x, y):
    """y, the logarithm of x, or what it is of a 0, a negative number, Inf or NaN."""
    y = where(x > 0, y, where(x == 0, -math.inf, math.nan))
    return where(x == math.inf, x, y)


def log(x: Any) -> Any:
    """The natural logarithm."""
    return _log_anywhere(x, _log_of(*_split_any(x)))


def log2(x: Any) -> Any:
    """The logarithm to base 2, exact of powers of 2."""
    k, f = _split_any(x)
    y = (_log_near(f) - 0.5 * (f * f)) * LOG2_E + f * LOG2_E
    return _log_anywhere(x, y + k)


def log10(x: Any) -> Any:
    """The logarithm to base 10."""
    k, f = _split_any(x)
    y = (_log_near(f) - 0.5 * (f * f)) * LOG10_E + (f * LOG10_E + k * LOG10_2_LOW)
    return _log_anywhere(x, y + k * LOG10_2_HIGH)


def log1p(x: Any) -> Any:
    """The natural logarithm of 1 + x, with all its digits where x is small."""
    u = x + 1
    lost = where(x < 1, x - (u - 1), 1 - (u - x))  # what rounding u took away
    k, m = split(u)
    f = (m - 1) + lost * power_of_two(-where(k < 126, k, 126.0))
    return where(abs(x) < TINY, x, _log_anywhere(u, _log_of(k, f)))


# ---- functions of e^x ---------------------------------------------------------------------------

FLAT_FROM = 20.0  # tanh(x / 2) is 1 from here on


def tanh(x: Any) -> Any:
    """The hyperbolic tangent: e / (e + 2) with e = e^(2 |x|) - 1, which cancels nowhere."""
    t = abs(x) + abs(x)
    e = _expm1_between(where(t > FLAT_FROM, FLAT_FROM, t))
    return copysign(e / (e + 2), x)


# ---- the error function -------------------------------------------------------------------------
#
# erf x = x (1 + p(x^2)) near 0, to 2^-31; further out 1 - e^(-x g(x)), with an error of 2^-31.

BORDER, END = 0.92, 4.0  # erf x is 1 from 3.92 on
NEAR = (
    8.382424858e-5, -8.145606262e-4, 5.201287102e-3, -2.685950138e-2, 1.128369719e-1,
    -3.761263490e-1, 1.283791661e-1,
)  # fmt: skip
FAR = (
    5.297059488e-6, -4.994115443e-5, -2.743184268e-5, 2.869112184e-3, -2.257560194e-2,
    1.051694825e-1, 6.356731653e-1, 1.128541470e0,
)  # fmt: skip


def erf(x: Any) -> Any:
    """The error function."""
    near = polynomial(x * x, *NEAR) * x + x
    t = where(abs(x) > END, END, abs(x))
    far = 1 - _exp_near(polynomial(t, *(-c for c in FAR)) * t)
    return where(t < BORDER, near, copysign(far, x))


# The scaled tail e^(z^2) erfc z of z >= 0, by t = 1 / (1 + 0.34 z): fitted to 2^-28 for z <= 10.3.
TAIL = (
    5.048443750e-2, -2.446990013e-1, 3.984784782e-1, -2.737758458e-1, 2.715152502e-1,
    6.167403236e-2, 1.740311682e-1, 1.784615368e-1, 1.920120120e-1, 1.918179393e-1,
)  # fmt: skip
STEEPNESS, FARTHEST = 0.34, 14.5  # the normal distribution is 0 beyond
FEW_BITS = np.int32(-4096)  # 12 of a number's 24: its square is exact


def _near(x):
    """|x|, or FARTHEST."""
    return where(abs(x) > FARTHEST, FARTHEST, abs(x))


def decay(x: Any, rate: float) -> Any:
    """e^(-rate x^2), for a rate of 1 or 1/2, with x^2 = h^2 + (x - h) (x + h), h^2 exact."""
    t = _near(x)
    h = t.bitwise("float", t.bitwise("bits", t) & FEW_BITS)
    return exp_of_sum(-rate * (h * h), -rate * ((t - h) * (t + h)))


def normal_distribution(x: Any) -> Any:
    """The integral of the standard normal density up to x, with all its digits in both tails."""
    t = 1 / (1 + STEEPNESS * (math.sqrt(0.5) * _near(x)))
    tail = (0.5 * decay(x, 0.5)) * (polynomial(t, *TAIL) * t)
    return where(x < 0, tail, 1 - tail)


# ---- angles -------------------------------------------------------------------------------------
#
# x = k pi / 2 + r with |r| <= pi / 4, and polynomials of r to 2^-37 or better. pi / 2 is in four
# parts, of which k times the first three is exact for |k| < 2^16: so far |x| may go.

QUARTERS = (1.5703125, 4.825592041015625e-4, 1.2665987014770508e-6, 9.92093629470503e-10)
SIN = (2.718046971e-6, -1.983930415e-4, 8.333329111e-3, -1.666666716e-1)
COS = (-2.720504710e-7, 2.479945215e-5, -1.388888340e-3, 4.166666791e-2)


def _quarter_of(x):
    """(which quarter, as an integer; the sine and the cosine of r)."""
    shifted = x * (2 / math.pi) + NEAREST_WHOLE
    k, r = shifted - NEAREST_WHOLE, x
    for part in QUARTERS:
        r = r - k * part
    s = r * r
    sine = polynomial(s, *SIN) * (s * r) + r
    cosine = polynomial(s, *COS) * (s * s) + (1 - 0.5 * s)
    return shifted.bitwise("bits", shifted), sine, cosine


def sin(x: Any) -> Any:
    """The sine: as arithmetic where |x| is at most 65536."""
    if not x.is_half():
        return x.call("sinf")
    quarter, sine, cosine = _quarter_of(x)
    y = where(quarter & np.int32(1), cosine, sine)
    y = where(quarter & np.int32(2), -y, y)
    return where(abs(x) < TINY, x, y)  # -0


def cos(x: Any) -> Any:
    """The cosine: as arithmetic where |x| is at most 65536."""
    if not x.is_half():
        return x.call("cosf")
    quarter, sine, cosine = _quarter_of(x)
    y = where(quarter & np.int32(1), sine, cosine)
    return where(x.bitwise("iadd", quarter, np.int32(1)) & np.int32(2), -y, y)


# ---- whole quotients ----------------------------------------------------------------------------
#
# As NumPy has them (npy_divmod): of x / 0 what division gives, and NaN of an Inf that is divided.


def _signed_zero(y):
    """0 with the sign of y."""
    return y.bitwise("float", y.bitwise("bits", y) & SIGN)


def _with_rest(x, y):
    """(fmod, whether it and y have different signs)."""
    rest = np.fmod(x, y)
    return rest, where(y < 0, rest > 0, rest < 0)


def remainder(x: Any, y: Any) -> Any:
    """x - y floor(x / y), with the sign of y."""
    rest, differ = _with_rest(x, y)
    return where(rest == 0, _signed_zero(y), rest + where(differ, y, 0.0))


def floor_divide(x: Any, y: Any) -> Any:
    """floor(x / y), where x - fmod is as good as a multiple of y."""
    rest, differ = _with_rest(x, y)
    q = (x - rest) / y - where(differ, 1.0, 0.0)
    whole = np.floor(q)
    whole = where(q - whole > 0.5, whole + 1, whole)
    return where(y == 0, x / y, where(q == 0, _signed_zero(x / y), whole))


# ---- the C library's ----------------------------------------------------------------------------


def library(name: str) -> Callable[[Any], Any]:
    """The function of this name of C's library, called for one number at a time."""
    return lambda x: x.call(name)


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    **{f.__name__: f for f in (exp, expm1, log, log2, log10, log1p, tanh, sin, cos)},
    **{"tan": library("tanf"), "arcsin": library("asinf"), "arccos": library("acosf")},
    **{"arctan": library("atanf"), "sinh": library("sinhf"), "cosh": library("coshf")},
}
