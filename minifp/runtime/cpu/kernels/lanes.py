"""Planes side by side: each lane of a vector works on a plane of its own.

    x[f LANES + r]      number f of plane r, in float32

A sum that reads a plane at several places so needs no neighbours in memory: planes may be small,
and windows may be far apart. Tables say where numbers lie, in units of a float32.
"""

from llvmlite import ir

from minifp.runtime.cpu.compile.decorators import intrinsic, types
from minifp.runtime.cpu.compile.machine import I64
from minifp.runtime.cpu.kernels.half import place, read, write
from minifp.runtime.cpu.kernels.packing import transposed
from minifp.runtime.cpu.kernels.tile import (
    LANES,
    VECTOR,
    Loop,
    integer,
    load_vector,
    multiply_add,
    store_vector,
)

OUTPUTS = 6  # results that are computed at once
TAPS = 9  # sums that are added up at once: those of a 3x3 kernel


def entry(builder, table, index):
    """The number at a place of a table of int32, as an index."""
    return builder.sext(builder.load(builder.gep(table, [index])), I64)


@intrinsic
def spread(typing, source, i, lds, last, target, places, f):
    """target[places[f + c] + r] = source[i + r lds + c] in float32, for all lanes r and c.

    r beyond `last` read that plane again.
    """
    kinds = (source, i, lds, last, target, places, f)

    def generate(context, builder, signature, args):
        at, step, end, first = (integer(context, builder, args[p], kinds[p]) for p in (1, 2, 3, 6))
        rows = []
        for r in range(LANES):
            here = builder.select(builder.icmp_signed("<", end, I64(r)), end, I64(r))
            where = builder.add(at, builder.mul(step, here))
            pointer = place(context, builder, source, args[0], where, types.intp)
            rows.append(read(builder, source, pointer, LANES))
        data = context.make_array(target)(context, builder, args[4]).data
        table = context.make_array(places)(context, builder, args[5]).data
        for c, x in enumerate(transposed(builder, rows)):
            where = entry(builder, table, builder.add(first, I64(c)))
            store_vector(builder, x, builder.gep(data, [where]))
        return context.get_dummy_value()

    return types.void(*kinds), generate


@intrinsic
def collect(typing, source, i, bias, b, target, j, ldt):
    """target[j + r ldt + c] = source[i + c LANES + r] + bias[b + r], rounded once, for all lanes r
    and c."""
    kinds = (source, i, bias, b, target, j, ldt)

    def generate(context, builder, signature, args):
        at, of_bias, into, far = (
            integer(context, builder, args[p], kinds[p]) for p in (1, 3, 5, 6)
        )
        data = context.make_array(source)(context, builder, args[0]).data
        addends = context.make_array(bias)(context, builder, args[2]).data
        addend = load_vector(builder, builder.gep(addends, [of_bias]))
        columns = [
            load_vector(builder, builder.gep(data, [builder.add(at, I64(c * LANES))]))
            for c in range(LANES)
        ]
        columns = [builder.fadd(x, addend) for x in columns]
        for r, x in enumerate(transposed(builder, columns)):
            where = builder.add(into, builder.mul(far, I64(r)))
            write(builder, target, place(context, builder, target, args[4], where, types.intp), x)
        return context.get_dummy_value()

    return types.void(*kinds), generate


@intrinsic
def weighted(typing, x, starts, targets, o, steps, s, K, w, iw, ldw):
    """x[targets[o + u]] = sum_k w[iw + k ldw] x[starts[o + u] + steps[s + k]], a vector each, for u
    below OUTPUTS and k below K, which is at least 1."""
    kinds = (x, starts, targets, o, steps, s, K, w, iw, ldw)

    def generate(context, builder, signature, args):
        first, table, count, at, far = (
            integer(context, builder, args[p], kinds[p]) for p in (3, 5, 6, 8, 9)
        )
        data, begins, ends, shifts, weights = (
            context.make_array(kinds[p])(context, builder, args[p]).data for p in (0, 1, 2, 4, 7)
        )
        outputs = [builder.add(first, I64(u)) for u in range(OUTPUTS)]
        here = [builder.gep(data, [entry(builder, begins, o)]) for o in outputs]
        there = [builder.gep(data, [entry(builder, ends, o)]) for o in outputs]
        loop = Loop(builder, count)
        sums = [loop.carry(ir.Constant(VECTOR, [0.0] * LANES)) for _ in outputs]
        shift = entry(builder, shifts, builder.add(table, loop.turn))
        of_tap = builder.gep(weights, [builder.add(at, builder.mul(far, loop.turn))])
        weight = load_vector(builder, of_tap)
        following = [
            multiply_add(builder, weight, load_vector(builder, builder.gep(p, [shift])), total)
            for p, total in zip(here, sums)
        ]
        for pointer, total in zip(there, loop.end(following)):
            store_vector(builder, total, pointer)
        return context.get_dummy_value()

    return types.void(*kinds), generate


def _weighted_sums(taps):
    @intrinsic
    def weighted_sums(typing, x, iy, starts, o, n, steps, s, to):
        """x[to + t LANES] += sum_o x[iy + o LANES] x[starts[o] + steps[s + t]], a vector each, over
        o and the n - 1 behind it, for t below `taps`."""
        kinds = (x, iy, starts, o, n, steps, s, to)

        def generate(context, builder, signature, args):
            at, first, count, table, into = (
                integer(context, builder, args[p], kinds[p]) for p in (1, 3, 4, 6, 7)
            )
            data, begins, shifts = (
                context.make_array(kinds[p])(context, builder, args[p]).data for p in (0, 2, 5)
            )
            far = [entry(builder, shifts, builder.add(table, I64(t))) for t in range(taps)]
            loop = Loop(builder, count)
            sums = [loop.carry(ir.Constant(VECTOR, [0.0] * LANES)) for _ in far]
            output = builder.add(first, loop.turn)
            factor = builder.add(at, builder.mul(output, I64(LANES)))
            factor = load_vector(builder, builder.gep(data, [factor]))
            here = builder.gep(data, [entry(builder, begins, output)])
            following = [
                multiply_add(builder, factor, load_vector(builder, builder.gep(here, [f])), total)
                for f, total in zip(far, sums)
            ]
            for t, total in enumerate(loop.end(following)):
                pointer = builder.gep(data, [builder.add(into, I64(t * LANES))])
                total = builder.fadd(load_vector(builder, pointer), total)
                store_vector(builder, total, pointer)
            return context.get_dummy_value()

        return types.void(*kinds), generate

    return weighted_sums


weighted_sums, weighted_sum = _weighted_sums(TAPS), _weighted_sums(1)
