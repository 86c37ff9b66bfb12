"""Stored numbers as kernels read and write them: `load` widens to float32, `store` rounds once.

numba has no float16 on the CPU, but LLVM has. A float16 array is viewed as uint16, and its bits
are LLVM's `half`, which the hardware converts (F16C on x86, always on ARM). A CPU without would be
killed by that instruction, and converts with integers instead:

- to half: below 2^-14 adding 0.5, whose ulp is 2^-24, rounds to the grid of the subnormal ones;
  above, the exponent's bias moves from 127 to 15, just under half an ulp is added, and one more
  where the last kept bit is odd;
- from half: the bits, moved to a float32's places, are too small by 2^112.

A further format is one more row of FORMATS: the view's dtype, and how its bits are read and made.
"""

import numpy as np
from llvmlite import binding, ir
from numba import config, types
from numba.extending import intrinsic

F32, I16, I32, I64 = ir.FloatType(), ir.IntType(16), ir.IntType(32), ir.IntType(64)


def features() -> set:
    """The features of the CPU that kernels are compiled for, by LLVM's names."""
    if config.CPU_NAME not in (None, "", "host"):
        given = (config.CPU_FEATURES or "").split(",")
        return {f[1:] for f in given if f.startswith("+")}
    return {name for name, there in binding.get_host_cpu_features().items() if there}


FEATURES = features()
IS_X86 = binding.get_process_triple().startswith(("x86_64", "i386", "i686"))
IS_ARM = binding.get_process_triple().startswith(("aarch64", "arm64"))
IN_HARDWARE = IS_ARM or "f16c" in FEATURES

# ---- bits to float32 and back, of a number or of a vector of them -------------------------------


def _like(type, element):
    """`element`, or a vector of as many as `type` has."""
    return ir.VectorType(element, type.count) if isinstance(type, ir.VectorType) else element


def _constant(type, value):
    if isinstance(type, ir.VectorType):
        return ir.Constant(type, [value] * type.count)
    return ir.Constant(type, value)


def _wide_half(builder, bits):
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


def _half_bits(builder, x):
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


def _as_it_is(builder, x):
    return x


def _wide_truth(builder, x):
    return builder.uitofp(x, _like(x.type, F32))


# By the dtype of the view: the element that lies in memory, and the ways to float32 and back.
FORMATS: dict = {
    types.uint16: (I16, _wide_half, _half_bits),
    types.float32: (F32, _as_it_is, _as_it_is),
    types.boolean: (ir.IntType(8), _wide_truth, None),  # only read: masks
}
BYTES = {I16: 2, F32: 4, ir.IntType(8): 1}
HALF = np.dtype("float16")
VIEWS = {np.dtype("float16"): np.dtype("uint16"), np.dtype("float32"): np.dtype("float32")}


class _Memory:
    """The memory of an array that may not be written to, for a kernel that only reads it."""

    def __init__(self, x):
        self.owner, described = x, x.__array_interface__
        self.__array_interface__ = {**described, "data": (described["data"][0], False)}


def view(x):
    """A stored array as kernels take it: its bits, where numba does not know its format.

    Writable, because numba would compile another kernel for an array that is not.
    """
    if not x.flags.writeable:
        x = np.asarray(_Memory(x))
    return x.view(np.uint16) if x.dtype == HALF else x


def flat(x):
    """A stored array as kernels take it, a copy only if it is not contiguous."""
    return view(x if x.flags.c_contiguous else np.ascontiguousarray(x)).reshape(-1)


# ---- in kernels ---------------------------------------------------------------------------------


def place(context, builder, kind, array, index, index_type):
    """A pointer to the element of a contiguous array; its index is not checked."""
    found = context.make_array(kind)(context, builder, array)
    index = context.cast(builder, index, index_type, types.intp)
    return builder.gep(found.data, [index])


def read(builder, kind, pointer, lanes=None):
    """The number, or as many neighbours as `lanes`, in float32."""
    element, wide, _ = FORMATS[kind.dtype]
    form = element if lanes is None else ir.VectorType(element, lanes)
    x = builder.load(builder.bitcast(pointer, form.as_pointer()))
    x.align = BYTES[element]
    return wide(builder, x)


def write(builder, kind, pointer, x):
    """Write a float32, or a vector of them, rounded to the array's format."""
    element, _, narrow = FORMATS[kind.dtype]
    bits = narrow(builder, x)
    found = builder.store(bits, builder.bitcast(pointer, bits.type.as_pointer()))
    found.align = BYTES[element]


@intrinsic
def load(typing, array, index):
    """array[index] of a contiguous array in C order, counted over all axes, in float32."""
    if not isinstance(array, types.Array) or array.dtype not in FORMATS:
        return None

    def generate(context, builder, signature, args):
        return read(builder, array, place(context, builder, array, args[0], args[1], index))

    return types.float32(array, index), generate


@intrinsic
def store(typing, array, index, x):
    """array[index] = x, rounded once to nearest even."""
    if not isinstance(array, types.Array) or array.dtype not in FORMATS:
        return None

    def generate(context, builder, signature, args):
        value = context.cast(builder, args[2], x, types.float32)
        write(builder, array, place(context, builder, array, args[0], args[1], index), value)
        return context.get_dummy_value()

    return types.void(array, index, x), generate


@intrinsic
def as_float(typing, bits):
    """The float32 with these 32 bits."""

    def generate(context, builder, signature, args):
        return builder.bitcast(context.cast(builder, args[0], bits, types.int32), F32)

    return types.float32(bits), generate


@intrinsic
def as_bits(typing, x):
    """The 32 bits of a float32, as an int32."""

    def generate(context, builder, signature, args):
        return builder.bitcast(context.cast(builder, args[0], x, types.float32), I32)

    return types.int32(x), generate


@intrinsic
def rounded(typing, array, x):
    """x as the array's format would hold it, in float32."""
    _, wide, narrow = FORMATS[array.dtype]

    def generate(context, builder, signature, args):
        value = context.cast(builder, args[1], x, types.float32)
        return wide(builder, narrow(builder, value))

    return types.float32(array, x), generate
