"""The innermost loop of all products: a tile of C = A B that stays in vector registers.

    C[m, n] (+)= sum_k A[m, k] B[k, n]      lanes along n: numbers of A are broadcast

A tile has ROWS rows and 1 to VECTORS vectors of LANES columns: as many sums as the registers hold
beside the operands (Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication",
2008). All is float32, and k ascends. A tile's sums are kept in float32, to be added to, or rounded
once, straight from the registers, to the format that the result is stored in.

Written in LLVM's vectors, because numba does not keep an array of accumulators in registers.
"""

from llvmlite import ir

from minifp.runtime.cpu.compile.decorators import inline, intrinsic, native, types
from minifp.runtime.cpu.compile.machine import F32, I32, I64, IS_ARM, has_feature
from minifp.runtime.cpu.kernels.half import FORMATS, place, write_as

if has_feature("avx512f"):
    LANES, ROWS, VECTORS = 16, 8, 3
elif has_feature("avx2") and has_feature("fma"):
    LANES, ROWS, VECTORS = 8, 4, 3
elif IS_ARM:
    LANES, ROWS, VECTORS = 4, 8, 3
else:
    LANES, ROWS, VECTORS = 4, 4, 2

COLUMNS = LANES * VECTORS  # of the widest tile
CHAIN = 128  # products that are added up one after the other, before their sum is added to others
PRODUCT = 1 / 40  # nanoseconds of a multiplication and addition, on one core
VECTOR = ir.VectorType(F32, LANES)
FUSED = ("contract",)


def up(n, unit):
    """n, or the next multiple of a unit."""
    return -(-n // unit) * unit


def integer(context, builder, value, kind):
    """An integer of any width as an index."""
    return context.cast(builder, value, kind, types.intp)


def all_lanes(builder, x):
    """A vector with x in all its lanes."""
    one = builder.insert_element(ir.Constant(VECTOR, ir.Undefined), x, I32(0))
    mask = ir.Constant(ir.VectorType(I32, LANES), [0] * LANES)
    return builder.shuffle_vector(one, ir.Constant(VECTOR, ir.Undefined), mask)


def load_vector(builder, pointer):
    """LANES neighbouring numbers, wherever they begin."""
    x = builder.load(builder.bitcast(pointer, VECTOR.as_pointer()))
    x.align = 4
    return x


def store_vector(builder, x, pointer):
    """Put a vector of any length."""
    builder.store(x, builder.bitcast(pointer, x.type.as_pointer())).align = 4


def multiply_add(builder, x, y, z):
    """x y + z, rounded once where the CPU can."""
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


KEPT = 0  # as float32 sums; other kinds are places in STORED
STORED: tuple = (None, *(kind for kind, (_, _, narrow) in FORMATS.items() if narrow))


def _outer(vectors, rows=ROWS):
    @intrinsic
    def outer(
        typing, a, ia, b, ib, steps, k0, K, c, ic, ldc, more, kind, out, io, ldo, bias, ibias
    ):
        """One tile: (rows, vectors LANES) of what `multiply` and `multiply_into` do."""
        kinds = (a, ia, b, ib, steps, k0, K, c, ic, ldc, more, kind, out, io, ldo, bias, ibias)
        names = "a ia b ib steps k0 K c ic ldc more kind out io ldo bias ibias".split()

        def generate(context, builder, signature, args):
            n = {
                name: integer(context, builder, x, kind) if isinstance(kind, types.Integer) else x
                for name, x, kind in zip(names, args, kinds)
            }

            def lines(pointer, start, apart):
                """Where the vectors of the tile lie in each of its rows."""
                for m in range(rows):
                    at = builder.add(start, builder.mul(apart, I64(m)))
                    for v in range(vectors):
                        yield builder.gep(pointer, [builder.add(at, I64(v * LANES))])

            strip, columns = builder.gep(n["a"], [n["ia"]]), builder.gep(n["b"], [n["ib"]])
            table = builder.gep(n["steps"], [n["k0"]])
            zero = ir.Constant(VECTOR, [0.0] * LANES)
            loop = Loop(builder, n["K"])
            sums = [loop.carry(zero) for _ in range(rows * vectors)]
            step = builder.sext(builder.load(builder.gep(table, [loop.turn])), I64)
            row = builder.gep(columns, [step])
            bs = [load_vector(builder, builder.gep(row, [I64(v * LANES)])) for v in range(vectors)]
            column = builder.gep(strip, [builder.mul(loop.turn, I64(ROWS))])
            following = []
            for m in range(rows):
                x = all_lanes(builder, builder.load(builder.gep(column, [I64(m)])))
                for v in range(vectors):
                    following.append(multiply_add(builder, x, bs[v], sums[m * vectors + v]))
            last = loop.end(following)
            kept, first = list(lines(n["c"], n["ic"], n["ldc"])), builder.block
            with builder.if_then(builder.icmp_signed("!=", n["more"], I64(0))):
                # a sum of sums: in one chain, errors would grow with all of K
                added = [builder.fadd(load_vector(builder, p), x) for x, p in zip(last, kept)]
                later = builder.block
            for i, (x, y) in enumerate(zip(last, added)):
                last[i] = builder.phi(VECTOR)
                last[i].add_incoming(x, first)
                last[i].add_incoming(y, later)
            done = builder.append_basic_block("stored")
            switch = builder.switch(n["kind"], done)
            for code, form in enumerate(STORED):
                block = builder.append_basic_block("store")
                switch.add_case(I64(code), block)
                builder.position_at_end(block)
                if form is None:
                    for x, p in zip(last, kept):
                        store_vector(builder, x, p)
                else:
                    addends = builder.gep(n["bias"], [n["ibias"]])
                    at = [builder.gep(addends, [I64(v * LANES)]) for v in range(vectors)]
                    added = [load_vector(builder, p) for p in at] * rows
                    element = FORMATS[form][0].as_pointer()
                    stored = builder.bitcast(n["out"], element)
                    for x, y, p in zip(last, added, lines(stored, n["io"], n["ldo"])):
                        write_as(builder, form, p, builder.fadd(x, y))
                builder.branch(done)
            builder.position_at_end(done)
            return context.get_dummy_value()

        return types.void(*kinds), generate

    return outer


outer1, outer2, outer3 = (_outer(min(v, VECTORS)) for v in (1, 2, 3))
one_row = _outer(VECTORS, rows=1)  # of depthwise convolutions, and of products with a vector


@intrinsic
def put(typing, kind, out, index, x):
    """out[index] = x, rounded to the format of this kind."""

    def generate(context, builder, signature, args):
        at = integer(context, builder, args[2], index)
        done = builder.append_basic_block("put")
        switch = builder.switch(integer(context, builder, args[0], kind), done)
        for code, form in enumerate(STORED[1:], 1):
            block = builder.append_basic_block("put_one")
            switch.add_case(I64(code), block)
            builder.position_at_end(block)
            stored = builder.bitcast(args[1], FORMATS[form][0].as_pointer())
            write_as(builder, form, builder.gep(stored, [at]), args[3])
            builder.branch(done)
        builder.position_at_end(done)
        return context.get_dummy_value()

    return types.void(kind, out, index, x), generate


@intrinsic
def as_bytes(typing, pointer):
    """The same place, as `multiply_into` takes it whatever lies there."""

    def generate(context, builder, signature, args):
        return builder.bitcast(args[0], ir.IntType(8).as_pointer())

    return types.CPointer(types.uint8)(pointer), generate


@intrinsic
def kind_of(typing, array):
    """The kind that stands for the format of an array."""
    code = STORED.index(str(array.dtype))
    return types.int64(array), lambda context, builder, signature, args: I64(code)


# ---- the loops over tiles: compiled once, and called by all kernels -----------------------------

P8, P32, PINT = (f"CPointer({name})" for name in ("uint8", "float32", "int32"))
N = "intp"
INTO = (P32, N, N, P32, N, N, PINT, N, P32, N, N, N, P8, N, P32)


@native(f"void({', '.join(INTO)})", "minifp_multiply_into")
def multiply_into(a, lda, M, b, ldb, N, steps, K, c, ldc, more, kind, out, ldo, bias):
    """`multiply`, and then out (M, N), rows ldo apart, = C + bias, rounded once to a `kind`.

    bias: N numbers, as many as whole vectors hold. Exactly M rows of N numbers are written. What is
    in C is then of no more use. A kind of KEPT leaves all in C.
    """
    for n in range(0, N, COLUMNS):
        width, panel = min(COLUMNS, N - n), n // COLUMNS * ldb
        for k in range(0, K, CHAIN):
            length, goes_on = min(CHAIN, K - k), more + k
            whole = kind if width % LANES == 0 and k + CHAIN >= K else 0
            for m in range(0, M, ROWS):
                at, to = m // ROWS * lda + k * ROWS, m * ldc + n
                last = whole if m + ROWS <= M or (M == 1 and width == COLUMNS) else 0
                rest = (last, out, m * ldo + n, ldo, bias, n)
                if M == 1 and width == COLUMNS:
                    one_row(a, at, b, panel, steps, k, length, c, to, ldc, goes_on, *rest)
                elif width > 2 * LANES:
                    outer3(a, at, b, panel, steps, k, length, c, to, ldc, goes_on, *rest)
                elif width > LANES:
                    outer2(a, at, b, panel, steps, k, length, c, to, ldc, goes_on, *rest)
                else:
                    outer1(a, at, b, panel, steps, k, length, c, to, ldc, goes_on, *rest)
                if kind and not last and k + CHAIN >= K:
                    for i in range(m, min(m + ROWS, M)):
                        for j in range(n, n + width):
                            put(kind, out, i * ldo + j, c[i * ldc + j] + bias[j])


@inline
def multiply(a, lda, M, b, ldb, N, steps, K, c, ldc, more):
    """C (M, N), rows ldc apart, = A B, or += A B if `more`. K is at least 1.

    A is in strips of ROWS rows: A[m, k] is a[m // ROWS lda + k ROWS + m % ROWS]. B is in panels of
    COLUMNS columns: B[k, n] is b[n // COLUMNS ldb + steps[k] + n % COLUMNS]. Only whole tiles are
    read and written: M is rounded up to a multiple of ROWS, N to one of LANES.
    """
    multiply_into(a, lda, M, b, ldb, N, steps, K, c, ldc, more, KEPT, as_bytes(c), 0, b)


@intrinsic
def address(typing, array, index):
    """A pointer to the element of a contiguous array, or to that behind another pointer."""

    def generate(context, builder, signature, args):
        if isinstance(array, types.CPointer):
            return builder.gep(args[0], [integer(context, builder, args[1], index)])
        return place(context, builder, array, args[0], args[1], index)

    return types.CPointer(array.dtype)(array, index), generate
