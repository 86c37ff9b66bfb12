"""Reading an array in the C order of the shape that broadcasting stretches it to.

Compiled once for each format, and called by kernels through its symbol.
"""

from llvmlite import ir

from minifp.runtime.cpu.compile import cgutils, intrinsic, native, types
from minifp.runtime.cpu.half import FORMATS, place, read
from minifp.runtime.cpu.machine import I64


@intrinsic
def load_at(typing, pointer, index):
    """pointer[index] in float32."""

    def generate(context, builder, signature, args):
        at = context.cast(builder, args[1], index, types.intp)
        return read(builder, pointer, builder.gep(args[0], [at]))

    return types.float32(pointer, index), generate


def _gather(x, places, i, n, into):
    axes, inner, step = places[0], places[1], places[2]
    row = i // inner
    c = i - row * inner
    j = 0
    while j < n:
        m = min(inner - c, n - j)
        start, rest = c * step, row
        for d in range(3, 2 * axes - 1, 2):
            further = rest // places[d]
            start += (rest - further * places[d]) * places[d + 1]
            rest = further
        if axes > 1:
            start += rest * places[2 * axes]
        if step == 1:
            for t in range(m):
                into[j + t] = load_at(x, start + t)
        elif step == 0:
            value = load_at(x, start)
            for t in range(m):
                into[j + t] = value
        else:
            for t in range(m):
                into[j + t] = load_at(x, start + t * step)
        j += m
        row, c = row + 1, 0


SIGNATURE = "void(CPointer({}), CPointer(int64), int64, int64, CPointer(float32))"


def _symbol(kind):
    return f"minifp_gather_{kind}"


for _kind in FORMATS:
    native(SIGNATURE.format("boolean" if _kind == "bool" else _kind), _symbol(_kind))(_gather)


@intrinsic
def gather(typing, x, places, p, i, n, into, at):
    """into[at + j] = element i + j of x, in C order of the shape it is stretched to, j below n.

    places[p] is the number of axes; then come, for each, the last one first, its size and stride.
    """
    if not isinstance(x, types.Array) or str(x.dtype) not in FORMATS:
        return None
    kinds = (x, places, p, i, n, into, at)

    def generate(context, builder, signature, args):
        source, axes, target = (
            place(context, builder, kind, array, index, types.intp)
            for kind, array, index in (
                (x, args[0], I64(0)), (places, args[1], args[2]), (into, args[5], args[6])
            )
        )  # fmt: skip
        first, count = (context.cast(builder, args[k], kinds[k], types.int64) for k in (3, 4))
        given = [source, axes, first, count, target]
        form = ir.FunctionType(ir.VoidType(), [v.type for v in given])
        made = cgutils.get_or_insert_function(builder.module, form, _symbol(x.dtype))
        builder.call(made, given)
        return context.get_dummy_value()

    return types.void(*kinds), generate
