"""Random numbers in LLVM's terms (see random.py), and rounding by them (see format_codes.py)."""

from typing import Any

from llvmlite import ir

from minifp.runtime import random
from minifp.runtime.cpu.compile.machine import I32, I64

MANTISSA, BIAS = 23, 127  # of float32
INFINITE = 0x7F800000


def word_of(b: ir.IRBuilder, i: Any, call: Any, key: tuple) -> Any:
    """Word i of a call's: Philox 4x32-10 of block i // 4. i, call and the two words of the key are
    i64, the result is i32."""
    block = b.lshr(i, I64(2))
    c = [b.trunc(x, I32) for x in (block, b.lshr(block, I64(32)), call, b.lshr(call, I64(32)))]
    keys = [b.trunc(k, I32) for k in key]
    multipliers, steps = (w.reshape(-1).tolist() for w in (random.MULTIPLIERS, random.KEY_STEPS))
    for _ in range(random.ROUNDS):
        products = [b.mul(b.zext(x, I64), I64(m)) for x, m in zip(c[::2], multipliers)]
        low = [b.trunc(p, I32) for p in products]
        high = [b.trunc(b.lshr(p, I64(32)), I32) for p in products]
        even = [b.xor(b.xor(h, x), k) for h, x, k in zip(high[::-1], c[1::2], keys)]
        c = [even[0], low[1], even[1], low[0]]
        keys = [b.add(k, I32(step)) for k, step in zip(keys, steps)]
    is_odd, is_late = (b.icmp_unsigned("!=", b.and_(i, I64(bit)), I64(0)) for bit in (1, 2))
    pairs = [b.select(is_odd, c[k + 1], c[k]) for k in (0, 2)]
    return b.select(is_late, pairs[1], pairs[0])


def stochastic_code(b: ir.IRBuilder, x: Any, word: Any, format: Any) -> Any:
    """The code of x, a float32, rounded by a random word: as `codes_of` gives it.

    format: a Format (of number_format.py) of less than 23 bits of mantissa, whose exponents float32
    has.
    """
    m, lowest = format.mantissa_bits, 1 - format.bias + BIAS

    def larger(x, y):
        return b.select(b.icmp_unsigned(">", x, y), x, y)

    def least(x, y):
        return b.select(b.icmp_unsigned("<", x, y), x, y)

    bits = b.bitcast(x, I32)
    sign, magnitude = b.lshr(bits, I32(31)), b.and_(bits, I32(0x7FFFFFFF))
    field = b.lshr(magnitude, I32(MANTISSA))
    fraction = b.and_(magnitude, I32(2**MANTISSA - 1))
    is_normal = b.icmp_unsigned("!=", field, I32(0))
    fraction = b.or_(fraction, b.select(is_normal, I32(2**MANTISSA), I32(0)))
    exponent = larger(field, I32(1))
    binade = larger(exponent, I32(lowest))
    shift = b.add(b.sub(binade, exponent), I32(MANTISSA - m))
    kept = b.lshr(fraction, least(shift, I32(31)))
    rest = b.sub(fraction, b.shl(kept, least(shift, I32(31))))
    # floor(2^32 rest / 2^shift)
    is_far = b.icmp_unsigned(">", shift, I32(32))
    near = b.shl(rest, b.select(is_far, I32(0), b.sub(I32(32), shift)))
    far = b.lshr(rest, least(b.select(is_far, b.sub(shift, I32(32)), I32(0)), I32(31)))
    goes_up = b.icmp_unsigned(">", b.select(is_far, far, near), word)
    code = b.add(b.shl(b.sub(binade, I32(lowest)), I32(m)), b.add(kept, b.zext(goes_up, I32)))
    if not format.subnormals:
        code = b.select(b.icmp_unsigned("<", code, I32(2**m)), I32(0), code)
    is_large = b.icmp_unsigned(">", code, I32(format.largest_code))
    is_large = b.or_(is_large, b.icmp_unsigned(">=", magnitude, I32(INFINITE)))
    code = b.select(is_large, I32(format.beyond), code)
    is_nan = b.icmp_unsigned(">", magnitude, I32(INFINITE))
    if format.quiet_nan is None:
        sign = b.xor(sign, b.zext(is_nan, I32))
    code = b.select(is_nan, I32(format.quiet_nan or 0), code)
    code = b.or_(code, b.shl(sign, I32(format.bits - 1)))
    return b.trunc(code, ir.IntType(8 * format.bytes))
