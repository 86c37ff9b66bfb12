"""Operands of products, widened and laid out as tiles read them: see tile.py.

Numbers are moved a vector at a time, and transposed in registers.
"""

from llvmlite import ir

from minifp.runtime.cpu.compile.decorators import inline, intrinsic, types
from minifp.runtime.cpu.compile.machine import I32, I64
from minifp.runtime.cpu.kernels.half import load, place, read, store, write
from minifp.runtime.cpu.kernels.tile import COLUMNS, LANES, ROWS, all_lanes, integer, store_vector


def _widen(lanes):
    @intrinsic
    def widen(typing, source, i, target, j):
        """target[j + c] = source[i + c] in float32, for all lanes c."""

        def generate(context, builder, signature, args):
            x = read(builder, source, place(context, builder, source, args[0], args[1], i), lanes)
            store_vector(builder, x, place(context, builder, target, args[2], args[3], j))
            return context.get_dummy_value()

        return types.void(source, i, target, j), generate

    return widen


widen, widen_rows = _widen(LANES), _widen(ROWS)  # as many numbers as a vector, as a tile has rows


@intrinsic
def widen_second(typing, source, i, target, j):
    """target[j + c] = source[i + 2 c] in float32, for all lanes c; as many are read again behind
    them."""

    def generate(context, builder, signature, args):
        pointer = place(context, builder, source, args[0], args[1], i)
        x = read(builder, source, pointer, 2 * LANES)
        mask = ir.Constant(ir.VectorType(I32, LANES), [2 * c for c in range(LANES)])
        x = builder.shuffle_vector(x, x, mask)
        store_vector(builder, x, place(context, builder, target, args[2], args[3], j))
        return context.get_dummy_value()

    return types.void(source, i, target, j), generate


@intrinsic
def interleave(typing, source, i, lds, last, target, j):
    """target[j + c ROWS + r] = source[i + r lds + c] in float32, for r below ROWS, c below LANES.

    r beyond `last` read that row again.
    """
    kinds = (source, i, lds, last, target, j)

    def generate(context, builder, signature, args):
        at, step, end, into = (integer(context, builder, args[p], kinds[p]) for p in (1, 2, 3, 5))
        rows = []
        for r in range(ROWS):
            here = builder.select(builder.icmp_signed("<", end, I64(r)), end, I64(r))
            where = builder.add(at, builder.mul(step, here))
            pointer = place(context, builder, source, args[0], where, types.intp)
            rows.append(read(builder, source, pointer, LANES))
        half, turns = ROWS // 2, ROWS.bit_length() - 1
        for _ in range(turns):  # a perfect shuffle of all numbers: the highest bit of r goes last
            mixed = []
            for upper, lower in zip(rows[:half], rows[half:]):
                for first in (0, LANES // 2):
                    pairs = [n for c in range(first, first + LANES // 2) for n in (c, c + LANES)]
                    mask = ir.Constant(ir.VectorType(I32, LANES), pairs)
                    mixed.append(builder.shuffle_vector(upper, lower, mask))
            rows = mixed
        data = context.make_array(target)(context, builder, args[4]).data
        for r, x in enumerate(rows):
            store_vector(builder, x, builder.gep(data, [builder.add(into, I64(r * LANES))]))
        return context.get_dummy_value()

    return types.void(*kinds), generate


@intrinsic
def settle(typing, source, i, bias, target, j):
    """target[j + c] = source[i + c] + bias, rounded once, for c from 0 to LANES - 1."""

    def generate(context, builder, signature, args):
        x = read(builder, source, place(context, builder, source, args[0], args[1], i), LANES)
        x = builder.fadd(x, all_lanes(builder, args[2]))
        write(builder, target, place(context, builder, target, args[3], args[4], j), x)
        return context.get_dummy_value()

    return types.void(source, i, types.float32, target, j), generate


def transposed(builder, rows):
    """LANES vectors, of which the r-th has what was the r-th in each."""
    half = 1
    while half < LANES:  # exchange the off-diagonal blocks of `half` rows and columns
        mixed = list(rows)
        low = [c if not c & half else c - half + LANES for c in range(LANES)]
        high = [c + half if not c & half else c + LANES for c in range(LANES)]
        for r in range(LANES):
            if not r & half:
                for mask, to in ((low, r), (high, r + half)):
                    mask = ir.Constant(ir.VectorType(I32, LANES), mask)
                    mixed[to] = builder.shuffle_vector(rows[r], rows[r + half], mask)
        rows, half = mixed, 2 * half
    return rows


@intrinsic
def transpose(typing, source, i, lds, target, j, ldt):
    """target[j + c ldt + r] = source[i + r lds + c] in float32, for r and c from 0 to LANES - 1."""
    kinds = (source, i, lds, target, j, ldt)

    def generate(context, builder, signature, args):
        at, step, into, far = (integer(context, builder, args[p], kinds[p]) for p in (1, 2, 4, 5))
        data = context.make_array(target)(context, builder, args[3]).data
        rows = []
        for r in range(LANES):
            where = builder.add(at, builder.mul(step, I64(r)))
            pointer = place(context, builder, source, args[0], where, types.intp)
            rows.append(read(builder, source, pointer, LANES))
        rows = transposed(builder, rows)
        for c in range(LANES):
            where = builder.add(into, builder.mul(far, I64(c)))
            store_vector(builder, rows[c], builder.gep(data, [where]))
        return context.get_dummy_value()

    return types.void(*kinds), generate


# ---- operands -----------------------------------------------------------------------------------


@inline
def pack_rows(a, start, sm, sk, M, K, out, apart):
    """A (M, K) in strips of ROWS rows, each as (K, ROWS); there may be anything below M.

    apart: from one strip to the next; not a power of 2, or all begin in one place of the cache.
    """
    if sk == 1:
        for m in range(0, M, ROWS):
            at, to, last = start + m * sm, m // ROWS * apart, min(ROWS, M - m) - 1
            if K >= LANES:
                for k in range(0, K, LANES):
                    k = min(k, K - LANES)
                    interleave(a, at + k, sm, last, out, to + k * ROWS)
            else:
                for k in range(K):
                    for i in range(last + 1):
                        store(out, to + k * ROWS + i, load(a, at + i * sm + k))
    else:
        whole = M // ROWS * ROWS
        for k in range(K):
            at = start + k * sk
            for m in range(0, whole, ROWS):
                widen_rows(a, at + m, out, m // ROWS * apart + k * ROWS)
            for m in range(whole, M):
                store(out, whole // ROWS * apart + k * ROWS + m - whole, load(a, at + m))


@inline
def pack_columns(b, start, sk, sn, K, N, out):
    """B (K, N) as panels (N / COLUMNS, K, COLUMNS), zeros behind N."""
    whole_n, whole_k = N // COLUMNS * COLUMNS, K // LANES * LANES
    if sn == 1:
        for k in range(K):
            for n in range(0, whole_n, COLUMNS):
                for j in range(0, COLUMNS, LANES):
                    widen(b, start + k * sk + n + j, out, n * K + k * COLUMNS + j)
            for j in range(whole_n, N):
                store(out, whole_n * K + k * COLUMNS + j - whole_n, load(b, start + k * sk + j))
    else:
        for n in range(0, N // LANES * LANES, LANES):
            panel = n // COLUMNS * COLUMNS * K + n % COLUMNS
            for k in range(0, whole_k, LANES):
                transpose(b, start + n * sn + k, sn, out, panel + k * COLUMNS, COLUMNS)
            for k in range(whole_k, K):
                for j in range(LANES):
                    store(out, panel + k * COLUMNS + j, load(b, start + (n + j) * sn + k))
        for n in range(N // LANES * LANES, N):
            for k in range(K):
                store(out, whole_n * K + k * COLUMNS + n - whole_n, load(b, start + n * sn + k))
    if whole_n < N:
        for k in range(K):
            for j in range(N - whole_n, COLUMNS):
                store(out, whole_n * K + k * COLUMNS + j, 0)
