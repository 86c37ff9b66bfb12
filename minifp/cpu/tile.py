"""The innermost loop of all products: a tile of C = A B that stays in vector registers.

    C[m, n] (+)= sum_k A[m, k] B[k, n]      lanes along n: numbers of A are broadcast

A tile has ROWS rows and 1 to VECTORS vectors of LANES columns: as many sums as the registers hold
beside the operands (Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication",
2008). All is float32, and k ascends.

Written in LLVM's vectors, because numba does not keep an array of accumulators in registers.
"""

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from minifp.cpu.compile import native
from minifp.cpu.half import F32, FEATURES, I32, I64, IS_ARM, place, read, write

if "avx512f" in FEATURES:
    LANES, ROWS, VECTORS = 16, 8, 3
elif "avx2" in FEATURES and "fma" in FEATURES:
    LANES, ROWS, VECTORS = 8, 4, 3
elif IS_ARM:
    LANES, ROWS, VECTORS = 4, 8, 3
else:
    LANES, ROWS, VECTORS = 4, 4, 2

COLUMNS = LANES * VECTORS  # of the widest tile
CHAIN = 256  # products that are added up one after the other, before their sum is added to others
PRODUCT = 1 / 40  # nanoseconds of a multiplication and addition, on one core
VECTOR = ir.VectorType(F32, LANES)
FUSED = ("contract",)


def up(n, unit):
    """n, or the next multiple of a unit."""
    return -(-n // unit) * unit


def _integer(context, builder, value, kind):
    return context.cast(builder, value, kind, types.intp)


def _all_lanes(builder, x):
    one = builder.insert_element(ir.Constant(VECTOR, ir.Undefined), x, I32(0))
    mask = ir.Constant(ir.VectorType(I32, LANES), [0] * LANES)
    return builder.shuffle_vector(one, ir.Constant(VECTOR, ir.Undefined), mask)


def _vector_at(builder, pointer):
    return builder.bitcast(pointer, VECTOR.as_pointer())


def _load(builder, pointer):
    x = builder.load(_vector_at(builder, pointer))
    x.align = 4
    return x


def _store(builder, x, pointer):
    builder.store(x, _vector_at(builder, pointer)).align = 4


def _multiply_add(builder, x, y, z):
    return builder.fadd(builder.fmul(x, y, flags=FUSED), z, flags=FUSED)


class Loop:
    """A counted loop (at least one turn) with values that each turn passes on to the next."""

    def __init__(self, builder, count):
        self.builder, self.count, self.carried = builder, count, []
        self.before, self.body = builder.block, builder.append_basic_block("turn")
        builder.branch(self.body)
        builder.position_at_end(self.body)
        self.turn = self.carry(I64(0))

    def carry(self, first):
        """A value that is `first` in the first turn."""
        phi = self.builder.phi(first.type)
        phi.add_incoming(first, self.before)
        self.carried.append(phi)
        return phi

    def end(self, following):
        """Close the loop; `following` are the next turn's values, of which it returns the last."""
        b, after = self.builder, self.builder.append_basic_block("done")
        following = [b.add(self.turn, I64(1)), *following]
        for phi, value in zip(self.carried, following):
            phi.add_incoming(value, b.block)
        b.cbranch(b.icmp_signed("<", following[0], self.count), self.body, after)
        b.position_at_end(after)
        return following[1:]


def _outer(vectors):
    @intrinsic
    def outer(typing, a, ia, sm, sk, b, ib, steps, k0, K, c, ic, ldc, more):
        """One tile: (ROWS, vectors LANES) of what `multiply` does."""
        kinds = (a, ia, sm, sk, b, ib, steps, k0, K, c, ic, ldc, more)

        def generate(context, builder, signature, args):
            names = {"ia": 1, "sm": 2, "sk": 3, "ib": 5, "k0": 7, "K": 8, "ic": 10, "ldc": 11}
            names["more"] = 12
            n = {name: _integer(context, builder, args[i], kinds[i]) for name, i in names.items()}
            start, table = [args[0], args[4], args[9]], builder.gep(args[6], [n["k0"]])
            rows = [
                builder.gep(start[0], [builder.add(n["ia"], builder.mul(n["sm"], I64(m)))])
                for m in range(ROWS)
            ]
            columns = builder.gep(start[1], [n["ib"]])
            lines = [builder.add(n["ic"], builder.mul(n["ldc"], I64(m))) for m in range(ROWS)]
            places = [
                [builder.gep(start[2], [builder.add(i, I64(v * LANES))]) for v in range(vectors)]
                for i in lines
            ]
            zero = ir.Constant(VECTOR, [0.0] * LANES)
            goes_on = builder.icmp_signed("!=", n["more"], I64(0))
            loop = Loop(builder, n["K"])
            step_a = loop.carry(I64(0))
            sums = [loop.carry(zero) for _ in range(ROWS * vectors)]
            step = builder.sext(builder.load(builder.gep(table, [loop.turn])), I64)
            row = builder.gep(columns, [step])
            bs = [_load(builder, builder.gep(row, [I64(v * LANES)])) for v in range(vectors)]
            following = []
            for m in range(ROWS):
                x = _all_lanes(builder, builder.load(builder.gep(rows[m], [step_a])))
                for v in range(vectors):
                    following.append(_multiply_add(builder, x, bs[v], sums[m * vectors + v]))
            last = loop.end([builder.add(step_a, n["sk"]), *following])[1:]
            with builder.if_else(goes_on) as (later, first):
                with later:  # a sum of sums: in one chain, errors would grow with all of K
                    for x, p in zip(last, [p for line in places for p in line]):
                        _store(builder, builder.fadd(_load(builder, p), x), p)
                with first:
                    for x, p in zip(last, [p for line in places for p in line]):
                        _store(builder, x, p)
            return context.get_dummy_value()

        return types.void(*kinds), generate

    return outer


outer1, outer2, outer3 = (_outer(min(v, VECTORS)) for v in (1, 2, 3))


# ---- the loops over tiles: compiled once, and called by all kernels -----------------------------

P32, PINT = types.CPointer(types.float32), types.CPointer(types.int32)
N = types.intp


@native(types.void(P32, N, N, N, N, P32, N, N, PINT, N, P32, N, N), "minifp_multiply")
def multiply(a, lda, sm, sk, M, b, ldb, N, steps, K, c, ldc, more):
    """C (M, N), rows ldc apart, = A B, or += A B if `more`. K is at least 1.

    A is in strips of ROWS rows: A[m, k] is a[m // ROWS lda + m % ROWS sm + k sk]. B is in panels of
    COLUMNS columns: B[k, n] is b[n // COLUMNS ldb + steps[k] + n % COLUMNS]. Only whole tiles are
    read and written: M is rounded up to a multiple of ROWS, N to one of LANES.
    """
    for n in range(0, N, COLUMNS):
        width, panel = min(COLUMNS, N - n), n // COLUMNS * ldb
        for m in range(0, M, ROWS):
            to = m * ldc + n
            for k in range(0, K, CHAIN):
                at, length, goes_on = m // ROWS * lda + k * sk, min(CHAIN, K - k), more + k
                if width > 2 * LANES:
                    outer3(a, at, sm, sk, b, panel, steps, k, length, c, to, ldc, goes_on)
                elif width > LANES:
                    outer2(a, at, sm, sk, b, panel, steps, k, length, c, to, ldc, goes_on)
                else:
                    outer1(a, at, sm, sk, b, panel, steps, k, length, c, to, ldc, goes_on)


@intrinsic
def address(typing, array, index):
    """A pointer to the element of a contiguous array."""

    def generate(context, builder, signature, args):
        return place(context, builder, array, args[0], args[1], index)

    return types.CPointer(array.dtype)(array, index), generate


@intrinsic
def widen(typing, source, i, target, j):
    """target[j + c] = source[i + c] in float32, for c from 0 to LANES - 1."""

    def generate(context, builder, signature, args):
        x = read(builder, source, place(context, builder, source, args[0], args[1], i), LANES)
        _store(builder, x, place(context, builder, target, args[2], args[3], j))
        return context.get_dummy_value()

    return types.void(source, i, target, j), generate


@intrinsic
def settle(typing, source, i, bias, target, j):
    """target[j + c] = source[i + c] + bias, rounded once, for c from 0 to LANES - 1."""

    def generate(context, builder, signature, args):
        x = read(builder, source, place(context, builder, source, args[0], args[1], i), LANES)
        x = builder.fadd(x, _all_lanes(builder, args[2]))
        write(builder, target, place(context, builder, target, args[3], args[4], j), x)
        return context.get_dummy_value()

    return types.void(source, i, types.float32, target, j), generate


@intrinsic
def transpose(typing, source, i, lds, target, j, ldt):
    """target[j + c ldt + r] = source[i + r lds + c] in float32, for r and c from 0 to LANES - 1."""
    kinds = (source, i, lds, target, j, ldt)

    def generate(context, builder, signature, args):
        at, step, into, far = (_integer(context, builder, args[p], kinds[p]) for p in (1, 2, 4, 5))
        data = context.make_array(target)(context, builder, args[3]).data
        rows = []
        for r in range(LANES):
            where = builder.add(at, builder.mul(step, I64(r)))
            pointer = place(context, builder, source, args[0], where, types.intp)
            rows.append(read(builder, source, pointer, LANES))
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
        for c in range(LANES):
            where = builder.add(into, builder.mul(far, I64(c)))
            _store(builder, rows[c], builder.gep(data, [where]))
        return context.get_dummy_value()

    return types.void(*kinds), generate
