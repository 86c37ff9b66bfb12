"""Elementary functions of float32 numbers, in arithmetic alone, so that loops over them vectorise.

A call of the C library would be made for one number at a time. These have no branches: what cannot
be known before is computed both ways and selected. They are inlined in the kernels that use them.

Largest errors, against float64, in units of the last place (half of one is the best there is):

    exp32   1.2     expm1_32  1.5     sigmoid32  2.5     tanh32  2.4     erf32  1.3
    log32   0.9     log1p_32  1.4     log2_32    2.0     log10_32  2.2
    sin32   2.3     cos32     2.3     (for the numbers that float16 holds)

NaN stays NaN, -0 stays -0 where f(0) = 0, results below 2^-126 are right too, and what overflows is
Inf. All numbers in these functions are named constants: numba computes with a literal in float64.
"""

import math

import numpy as np
from llvmlite import ir

from minifp.runtime.cpu.compile import inline as inlined
from minifp.runtime.cpu.compile import intrinsic, types
from minifp.runtime.cpu.half import as_bits
from minifp.runtime.cpu.machine import F32, I32

NOTHING, HALF, ONE, TWO = (np.float32(c) for c in (0, 0.5, 1, 2))
INF, NAN = np.float32(np.inf), np.float32(np.nan)

# ---- bits ---------------------------------------------------------------------------------------

SHIFT = 1.5 * 2**23  # x + SHIFT has x, as a whole number, in its last bits
TO_WHOLE = np.float32(SHIFT)


@inlined
def whole32(x):
    """x rounded to a whole number, for |x| up to 2^22."""
    return (x + TO_WHOLE) - TO_WHOLE


def _power(bias):
    @intrinsic
    def power(typing, k):
        def generate(context, builder, signature, args):
            shifted = builder.fadd(args[0], ir.Constant(F32, SHIFT + bias))
            return builder.bitcast(builder.shl(builder.bitcast(shifted, I32), I32(23)), F32)

        return types.float32(types.float32), generate

    return power


power_of_two = _power(127)  # 2^k for a whole float32 k from -126 to 127
power_below = _power(126)  # 2^(k - 1) for k from -125 to 128


@intrinsic
def copysign32(typing, x, y):
    """|x| with the sign of y."""

    def generate(context, builder, signature, args):
        x, y = (builder.bitcast(v, I32) for v in args)
        bits = builder.or_(builder.and_(x, I32(0x7FFFFFFF)), builder.and_(y, I32(0x80000000)))
        return builder.bitcast(bits, F32)

    return types.float32(types.float32, types.float32), generate


@intrinsic
def split32(typing, x):
    """(k, m) with x = 2^k m and m in [sqrt(1/2), sqrt(2)), for a normal x > 0."""
    least = int(np.float32(math.sqrt(0.5)).view(np.int32))

    def generate(context, builder, signature, args):
        bits = builder.bitcast(args[0], I32)
        k = builder.ashr(builder.sub(bits, I32(least)), I32(23))
        m = builder.bitcast(builder.sub(bits, builder.shl(k, I32(23))), F32)
        return context.make_tuple(builder, signature.return_type, (builder.sitofp(k, F32), m))

    return types.UniTuple(types.float32, 2)(types.float32), generate


# ---- e^x ----------------------------------------------------------------------------------------
#
# x = k log 2 + r, |r| <= log(2) / 2. log 2 has two parts, of which k times the first is exact.
# e^r = 1 + r + r^2 q(r), with a q fitted so that the relative error is at most 2^-28, and another
# one for e^r - 1, whose own relative error is at most 2^-31.

LOG2_E, LN2_HIGH, LN2_LOW = (np.float32(c) for c in (1 / math.log(2), 0.693359375, -2.12194440e-4))
TWICE_0, TWICE_1, TWICE_2, TWICE_3, TWICE_4 = (
    np.float32(2 * c)
    for c in (4.999999404e-1, 1.666652113e-1, 4.166838899e-2, 8.368745446e-3, 1.381453942e-3)
)
LESS_0, LESS_1, LESS_2, LESS_3, LESS_4, LESS_5 = (
    np.float32(c)
    for c in (0.5, 1.666666716e-1, 4.166635498e-2, 8.333273232e-3, 1.394105144e-3, 1.991419267e-4)
)
LOWEST, HIGHEST = np.float32(-103.972084), np.float32(89)  # e^x is 0 below, and Inf above
DEEP, LIFT, DROP = np.float32(-80), np.float32(32), np.float32(2.0**-32)
NO_REST = np.float32(-0.0)  # x + NO_REST is x, whatever it is: the compiler leaves it out
FLAT_FROM = np.float32(-20)  # e^x - 1 is -1 below
TINY = np.float32(2.0**-60)


@inlined
def _powers_in(x):
    """k and r."""
    k = whole32(x * LOG2_E)
    return k, (x - k * LN2_HIGH) - k * LN2_LOW


@inlined
def _twice_exp_of(r):
    """2 e^r, for |r| up to a little more than log(2) / 2."""
    y = TWICE_4 * r + TWICE_3
    y = y * r + TWICE_2
    y = y * r + TWICE_1
    y = y * r + TWICE_0
    y = y * r + TWO
    return y * r + TWO


@inlined
def _expm1_of(r):
    """e^r - 1."""
    q = LESS_5 * r + LESS_4
    q = q * r + LESS_3
    q = q * r + LESS_2
    q = q * r + LESS_1
    q = q * r + LESS_0
    return q * (r * r) + r


@inlined
def _exp_near(x):
    """e^x, for x from -80 to HIGHEST."""
    k, r = _powers_in(x)
    return _twice_exp_of(r) * power_below(k)


@inlined
def exp_of_sum32(x, rest):
    """e^(x + rest), where |rest| <= 0.1: what was rounded off x, so that no digit is lost."""
    gone, low = x < LOWEST, x < DEEP
    x = NOTHING if gone else HIGHEST if x > HIGHEST else x  # no subnormals where it takes long
    k, r = _powers_in(x)
    y = _twice_exp_of(r + rest) * power_below(k + LIFT if low else k)  # of a normal power
    y = y * DROP if low else y
    return NOTHING if gone else y


@inlined
def exp32(x):
    """e^x."""
    return exp_of_sum32(x, NO_REST)


@inlined
def _expm1_between(x):
    """e^x - 1, for x from -20 to 80."""
    k, r = _powers_in(x)
    scale = power_of_two(k)
    return _expm1_of(r) * scale + (scale - ONE)


@inlined
def expm1_32(x):
    """e^x - 1, with all its digits where x is small."""
    k, r = _powers_in(FLAT_FROM if x < FLAT_FROM else HIGHEST if x > HIGHEST else x)
    scale = power_below(k)
    y = _expm1_of(r) * scale + (scale - HALF)
    return x if abs(x) < TINY else y + y


# ---- logarithms ---------------------------------------------------------------------------------
#
# x = 2^k (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)), and log(1 + f) = f - f^2 / 2 + f^3 q(f), with
# a q fitted to 2^-30.

NORMAL, LARGER, LARGER_BY = np.float32(2.0**-126), np.float32(2.0**25), np.float32(25)
LOG10_E, LOG10_2_HIGH = np.float32(1 / math.log(10)), np.float32(0.30078125)  # 8 bits
LOG10_2_LOW = np.float32(math.log10(2) - 0.30078125)
LARGE_POWER = np.float32(126)
LOG_0, LOG_1, LOG_2, LOG_3, LOG_4, LOG_5, LOG_6, LOG_7, LOG_8 = (
    np.float32(c)
    for c in (
        *(3.333331347e-1, -2.500000894e-1, 2.000211924e-1, -1.666799635e-1, 1.421955228e-1),
        *(-1.240558922e-1, 1.188816205e-1, -1.167565212e-1, 6.746640801e-2),
    )
)


@inlined
def _log_near(f):
    """log(1 + f) - (f - f^2 / 2), for 1 + f from sqrt(1/2) to sqrt(2)."""
    q = LOG_8 * f + LOG_7
    q = q * f + LOG_6
    q = q * f + LOG_5
    q = q * f + LOG_4
    q = q * f + LOG_3
    q = q * f + LOG_2
    q = q * f + LOG_1
    q = q * f + LOG_0
    return (q * f) * (f * f)


@inlined
def _log_of(k, f):
    """k log 2 + log(1 + f)."""
    return (((_log_near(f) + k * LN2_LOW) - HALF * (f * f)) + f) + k * LN2_HIGH


@inlined
def _split(x):
    """(k, f) with x = 2^k (1 + f), for x > 0."""
    small = x < NORMAL
    k, m = split32(x * LARGER if small else x)
    return (k - LARGER_BY if small else k), m - ONE


@inlined
def _log_anywhere(x, y):
    """y, the logarithm of x, or what it is of a 0, a negative number, Inf or NaN."""
    y = y if x > NOTHING else -INF if x == NOTHING else NAN
    return x if x == INF else y


@inlined
def log32(x):
    """The natural logarithm."""
    k, f = _split(x)
    return _log_anywhere(x, _log_of(k, f))


@inlined
def log2_32(x):
    """The logarithm to base 2, exact of powers of 2."""
    k, f = _split(x)
    y = (_log_near(f) - HALF * (f * f)) * LOG2_E + f * LOG2_E
    return _log_anywhere(x, y + k)


@inlined
def log10_32(x):
    """The logarithm to base 10."""
    k, f = _split(x)
    y = (_log_near(f) - HALF * (f * f)) * LOG10_E + (f * LOG10_E + k * LOG10_2_LOW)
    return _log_anywhere(x, y + k * LOG10_2_HIGH)


@inlined
def log1p_32(x):
    """The natural logarithm of 1 + x, with all its digits where x is small."""
    u = ONE + x
    lost = x - (u - ONE) if x < ONE else ONE - (u - x)  # what rounding u took away
    k, m = split32(u)
    f = (m - ONE) + lost * power_of_two(-(k if k < LARGE_POWER else LARGE_POWER))
    return x if abs(x) < TINY else _log_anywhere(u, _log_of(k, f))


# ---- functions of e^x ---------------------------------------------------------------------------

FLAT = np.float32(20)  # tanh(x / 2) is 1 from here on


@inlined
def tanh32(x):
    """The hyperbolic tangent: e / (e + 2) with e = e^(2 |x|) - 1, which cancels nowhere."""
    t = abs(x) + abs(x)
    e = _expm1_between(FLAT if t > FLAT else t)
    return copysign32(e / (e + TWO), x)


@inlined
def sigmoid32(x):
    """1 / (1 + e^-x), also where that is tiny: with e^-|x|, which does not overflow."""
    t = -abs(x)
    e = exp32(t)
    return (e if x < NOTHING else ONE) / (ONE + e)


# ---- the error function -------------------------------------------------------------------------
#
# erf x = x (1 + p(x^2)) near 0, to 2^-31; further out 1 - e^(-x g(x)), with an error of 2^-31.

BORDER, END = np.float32(0.92), np.float32(4)  # erf x is 1 from 3.92 on
NEAR_0, NEAR_1, NEAR_2, NEAR_3, NEAR_4, NEAR_5, NEAR_6 = (
    np.float32(c)
    for c in (
        *(1.283791661e-1, -3.761263490e-1, 1.128369719e-1, -2.685950138e-2, 5.201287102e-3),
        *(-8.145606262e-4, 8.382424858e-5),
    )
)
FAR_0, FAR_1, FAR_2, FAR_3, FAR_4, FAR_5, FAR_6, FAR_7 = (
    np.float32(-c)
    for c in (
        *(1.128541470e0, 6.356731653e-1, 1.051694825e-1, -2.257560194e-2, 2.869112184e-3),
        *(-2.743184268e-5, -4.994115443e-5, 5.297059488e-6),
    )
)


@inlined
def erf32(x):
    """The error function."""
    s = x * x
    p = NEAR_6 * s + NEAR_5
    p = p * s + NEAR_4
    p = p * s + NEAR_3
    p = p * s + NEAR_2
    p = p * s + NEAR_1
    p = p * s + NEAR_0
    near = p * x + x
    t = abs(x)
    t = END if t > END else t
    g = FAR_7 * t + FAR_6
    g = g * t + FAR_5
    g = g * t + FAR_4
    g = g * t + FAR_3
    g = g * t + FAR_2
    g = g * t + FAR_1
    g = g * t + FAR_0
    far = ONE - _exp_near(g * t)
    return near if t < BORDER else copysign32(far, x)


# ---- angles -------------------------------------------------------------------------------------
#
# x = k pi / 2 + r with |r| <= pi / 4, and polynomials of r to 2^-37 or better. pi / 2 is in four
# parts, of which k times the first three is exact for |k| < 2^16: so far |x| may go.

PER_QUARTER = np.float32(2 / math.pi)
QUARTER_0, QUARTER_1, QUARTER_2, QUARTER_3 = (
    np.float32(c)
    for c in (1.5703125, 4.825592041015625e-4, 1.2665987014770508e-6, 9.92093629470503e-10)
)
SIN_0, SIN_1, SIN_2, SIN_3, COS_0, COS_1, COS_2, COS_3 = (
    np.float32(c)
    for c in (
        *(-1.666666716e-1, 8.333329111e-3, -1.983930415e-4, 2.718046971e-6),
        *(4.166666791e-2, -1.388888340e-3, 2.479945215e-5, -2.720504710e-7),
    )
)
ODD, UPPER = np.int32(1), np.int32(2)


@inlined
def _in_quarter(x, shifted):
    """The sine and the cosine of r. shifted: x / (pi / 2) + TO_WHOLE."""
    k = shifted - TO_WHOLE
    r = (((x - k * QUARTER_0) - k * QUARTER_1) - k * QUARTER_2) - k * QUARTER_3
    s = r * r
    sine = (((SIN_3 * s + SIN_2) * s + SIN_1) * s + SIN_0) * (s * r) + r
    cosine = (((COS_3 * s + COS_2) * s + COS_1) * s + COS_0) * (s * s) + (ONE - HALF * s)
    return sine, cosine


@inlined
def sin32(x):
    """The sine, for |x| up to 65536."""
    shifted = x * PER_QUARTER + TO_WHOLE
    sine, cosine = _in_quarter(x, shifted)
    quarter = as_bits(shifted)
    y = cosine if quarter & ODD else sine
    y = -y if quarter & UPPER else y
    return x if abs(x) < TINY else y  # -0


@inlined
def cos32(x):
    """The cosine, for |x| up to 65536."""
    shifted = x * PER_QUARTER + TO_WHOLE
    sine, cosine = _in_quarter(x, shifted)
    quarter = as_bits(shifted)
    y = sine if quarter & ODD else cosine
    return -y if (quarter + ODD) & UPPER else y
