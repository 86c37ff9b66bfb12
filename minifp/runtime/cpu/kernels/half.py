"""Stored numbers in kernels of numba: `load` widens to float32, `store` rounds once.

numba has no float16 on the CPU: a float16 array is viewed as uint16 (`pool.view`), and its bits are
read and made as formats_ir.py says.
"""

import numpy as np
from llvmlite import ir

from minifp.derive.dtypes import name_of
from minifp.runtime.cpu.compile.decorators import intrinsic, types
from minifp.runtime.cpu.compile.entries import CODES, MEANINGS
from minifp.runtime.cpu.compile.machine import F32, I32
from minifp.runtime.cpu.emit import formats_ir
from minifp.runtime.cpu.emit.formats_ir import BYTES

# By the dtype of the view: the element that lies in memory, and the ways to float32 and back.
VIEWED = {codes: name_of(dtype) for codes, dtype in MEANINGS.items()}
VIEWED |= {"float32": "float32", "bool": "bool"}
FORMATS = {kind: formats_ir.FORMATS[name] for kind, name in VIEWED.items()}
HALF, BITS = np.dtype("float16"), np.dtype("uint16")
VIEWS = {**CODES, np.dtype("float32"): np.dtype("float32")}


# ---- in kernels ---------------------------------------------------------------------------------


def place(context, builder, kind, array, index, index_type):
    """A pointer to the element of a contiguous array; its index is not checked."""
    found = context.make_array(kind)(context, builder, array)
    index = context.cast(builder, index, index_type, types.intp)
    return builder.gep(found.data, [index])


def read(builder, kind, pointer, lanes=None):
    """The number, or as many neighbours as `lanes`, in float32."""
    element, wide, _ = FORMATS[str(kind.dtype)]
    form = element if lanes is None else ir.VectorType(element, lanes)
    x = builder.load(builder.bitcast(pointer, form.as_pointer()))
    x.align = BYTES[element]
    return wide(builder, x)


def write(builder, kind, pointer, x):
    """Write a float32, or a vector of them, rounded to the array's format."""
    write_as(builder, str(kind.dtype), pointer, x)


def write_as(builder, view, pointer, x):
    """The same for a format by the dtype of its view."""
    element, _, narrow = FORMATS[view]
    bits = narrow(builder, x)
    found = builder.store(bits, builder.bitcast(pointer, bits.type.as_pointer()))
    found.align = BYTES[element]


@intrinsic
def load(typing, array, index):
    """array[index] of a contiguous array in C order, counted over all axes, in float32."""
    if not isinstance(array, types.Array) or str(array.dtype) not in FORMATS:
        return None

    def generate(context, builder, signature, args):
        return read(builder, array, place(context, builder, array, args[0], args[1], index))

    return types.float32(array, index), generate


@intrinsic
def store(typing, array, index, x):
    """array[index] = x, rounded once to nearest even."""
    if not isinstance(array, types.Array) or str(array.dtype) not in FORMATS:
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
    _, wide, narrow = FORMATS[str(array.dtype)]

    def generate(context, builder, signature, args):
        value = context.cast(builder, args[1], x, types.float32)
        return wide(builder, narrow(builder, value))

    return types.float32(array, x), generate
