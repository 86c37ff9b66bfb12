"""Formats in LLVM's terms: how stored numbers become float32, and float32 is rounded to them.

The bits of a float16 are LLVM's `half`, which the hardware converts (F16C on x86, always on ARM).
A CPU without would be killed by that instruction, and converts with integers instead:

- to half: below 2^-14 adding 0.5, whose ulp is 2^-24, rounds to the grid of the subnormal ones;
  above, the exponent's bias moves from 127 to 15, just under half an ulp is added, and one more
  where the last kept bit is odd;
- from half: the bits, moved to a float32's places, are too small by 2^112.

A further format is one more row of FORMATS: what lies in memory, and how its bits are read and
made.
"""

from llvmlite import ir

from minifp.runtime.cpu.compile.machine import F32, I8, I16, I32, IN_HARDWARE

# ---- bits to float32 and back, of a number or of a vector of them -------------------------------


def _like(type, element):
    """`element`, or a vector of as many as `type` has."""
    return ir.VectorType(element, type.count) if isinstance(type, ir.VectorType) else element


def _constant(type, value):
    if isinstance(type, ir.VectorType):
        return ir.Constant(type, [value] * type.count)
    return ir.Constant(type, value)


def wide_half(builder, bits):
    """A float16's bits as float32: exact."""
    if IN_HARDWARE:
        return builder.fpext(
            builder.bitcast(bits, _like(bits.type, ir.HalfType())), _like(bits.type, F32)
        )
    wide, single = _like(bits.type, I32), _like(bits.type, F32)
    x = builder.zext(bits, wide)
    magnitude = builder.shl(builder.and_(x, _constant(wide, 0x7FFF)), _constant(wide, 13))
    scaled = builder.fmul(builder.bitcast(magnitude, single), _constant(single, 2.0**112))
    lost = builder.icmp_unsigned(">=", magnitude, _constant(wide, 0x0F800000))
    infinite = builder.or_(magnitude, _constant(wide, 0x7F800000))
    result = builder.select(lost, infinite, builder.bitcast(scaled, wide))
    sign = builder.shl(builder.and_(x, _constant(wide, 0x8000)), _constant(wide, 16))
    return builder.bitcast(builder.or_(result, sign), single)


def half_bits(builder, x):
    """The bits of the float16 that is nearest to x, a float32."""
    if IN_HARDWARE:
        return builder.bitcast(builder.fptrunc(x, _like(x.type, ir.HalfType())), _like(x.type, I16))
    wide, single = _like(x.type, I32), _like(x.type, F32)
    bits = builder.bitcast(x, wide)
    sign = builder.and_(builder.lshr(bits, _constant(wide, 16)), _constant(wide, 0x8000))
    magnitude = builder.and_(bits, _constant(wide, 0x7FFFFFFF))
    small = builder.fadd(builder.bitcast(magnitude, single), _constant(single, 0.5))
    small = builder.sub(builder.bitcast(small, wide), _constant(wide, 0x3F000000))
    odd = builder.and_(builder.lshr(magnitude, _constant(wide, 13)), _constant(wide, 1))
    normal = builder.add(magnitude, _constant(wide, 0x100000000 - (112 << 23) + 0xFFF))
    normal = builder.lshr(builder.add(normal, odd), _constant(wide, 13))

    def where(name, limit, yes, no):
        return builder.select(
            builder.icmp_unsigned(name, magnitude, _constant(wide, limit)), yes, no
        )

    result = where("<", 0x38800000, small, normal)
    result = where(">=", 0x477FF000, _constant(wide, 0x7C00), result)
    result = where(">", 0x7F800000, _constant(wide, 0x7E00), result)
    return builder.trunc(builder.or_(result, sign), _like(x.type, I16))


def as_it_is(builder, x):
    """x: what is float32 already."""
    return x


def wide_truth(builder, x):
    """0 or 1 of a truth value."""
    return builder.uitofp(x, _like(x.type, F32))


def wide_code(exponent_bits, mantissa_bits, has_inf, element):
    """Of a narrower format: its bits, moved to a float32's places, are too small by a power of two,
    subnormal ones too."""
    bits = 1 + exponent_bits + mantissa_bits
    left = 23 - mantissa_bits
    power = 127 - (2 ** (exponent_bits - 1) - 1)
    last = 2**exponent_bits - 1

    def wide(builder, code):
        wide, single = _like(code.type, I32), _like(code.type, F32)
        x = builder.zext(code, wide)
        magnitude = builder.and_(x, _constant(wide, 2 ** (bits - 1) - 1))
        moved = builder.shl(magnitude, _constant(wide, left))
        scaled = builder.fmul(builder.bitcast(moved, single), _constant(single, 2.0**power))
        scaled = builder.bitcast(scaled, wide)
        if has_inf:
            limit, instead = last << mantissa_bits, builder.or_(moved, _constant(wide, 0x7F800000))
        else:
            limit, instead = 2 ** (bits - 1) - 1, _constant(wide, 0x7FC00000)
        lost = builder.icmp_unsigned(">=", magnitude, _constant(wide, limit))
        result = builder.select(lost, instead, scaled)
        sign = builder.and_(x, _constant(wide, 2 ** (bits - 1)))
        sign = builder.shl(sign, _constant(wide, 32 - bits))
        return builder.bitcast(builder.or_(result, sign), single)

    return wide


def code_bits(exponent_bits, mantissa_bits, has_inf, element):
    """The code that is nearest to a float32, as half_bits has it for 5 and 10 bits."""
    bits, bias = 1 + exponent_bits + mantissa_bits, 2 ** (exponent_bits - 1) - 1
    right = 23 - mantissa_bits
    top = 2**exponent_bits - 1
    if has_inf:
        beyond, quiet = top << mantissa_bits, 2 ** (mantissa_bits - 1)
    else:
        beyond, quiet = 2 ** (bits - 1) - 1, 0
    # what the first number that is too large would be: beyond, in a float32's places
    limit = ((beyond << right) + ((127 - bias) << 23)) - (1 << (right - 1))
    if beyond & 1 == 0 or not has_inf:  # the largest number is odd: a tie goes up
        limit += int((beyond - 1) & 1 == 0)
    unit = 1 - bias - mantissa_bits  # log2 of the smallest
    magic = 2.0 ** (unit + 23)

    def narrow(builder, x):
        wide, single = _like(x.type, I32), _like(x.type, F32)
        bits_of = builder.bitcast(x, wide)
        sign = builder.lshr(bits_of, _constant(wide, 32 - bits))
        sign = builder.and_(sign, _constant(wide, 2 ** (bits - 1)))
        magnitude = builder.and_(bits_of, _constant(wide, 0x7FFFFFFF))
        odd = builder.and_(builder.lshr(magnitude, _constant(wide, right)), _constant(wide, 1))
        offset = (0x100000000 - ((127 - bias) << 23) + (1 << (right - 1)) - 1) % 2**32
        result = builder.add(magnitude, _constant(wide, offset))
        result = builder.lshr(builder.add(result, odd), _constant(wide, right))

        def where(name, than, yes, no):
            test = builder.icmp_unsigned(name, magnitude, _constant(wide, than))
            return builder.select(test, yes, no)

        if exponent_bits < 8:
            small = builder.fadd(builder.bitcast(magnitude, single), _constant(single, magic))
            places = (unit + 23 + 127) << 23
            small = builder.sub(builder.bitcast(small, wide), _constant(wide, places))
            result = where("<", (128 - bias) << 23, small, result)
            result = where(">=", limit, _constant(wide, beyond), result)
        result = where(">", 0x7F800000, _constant(wide, beyond | quiet), result)
        return builder.trunc(builder.or_(result, sign), _like(x.type, element))

    return narrow


def row_of_table(exponent_bits, mantissa_bits, has_inf, element):
    """What FORMATS has of a format whose codes are integers."""
    given = exponent_bits, mantissa_bits, has_inf, element
    return element, wide_code(*given), code_bits(*given)


# By the name of a dtype: the element that lies in memory, and the ways to float32 and back.
FORMATS: dict = {
    "float16": (I16, wide_half, half_bits),
    "float32": (F32, as_it_is, as_it_is),
    "bfloat16": row_of_table(8, 7, True, I16),
    "float8_e4m3fn": row_of_table(4, 3, False, I8),
    "float8_e5m2": row_of_table(5, 2, True, I8),
    "bool": (I8, wide_truth, None),  # only read: masks
}
BYTES = {I16: 2, F32: 4, I8: 1}
