"""Sums of products: matmul and its kin, einsum, linear."""

import numpy as np
from bounds import magnitude
from hypothesis import strategies as st

from cases.case import SIZES, alike, drawn, functional

MATRICES = [
    *(((3, 4), (4, 5)), ((1, 1), (1, 1)), ((4,), (4,)), ((3, 4), (4,)), ((4,), (4, 2))),
    *(((2, 3, 4), (4, 5)), ((2, 1, 3, 4), (5, 4, 2)), ((3, 0), (0, 2)), ((0, 3), (3, 2))),
    *(((0,), (0,)), ((3,), (2, 3, 4)), ((2, 5, 3), (3,))),
]
PRODUCTS = {
    "mm": [((3, 4), (4, 5)), ((1, 1), (1, 1)), ((3, 0), (0, 2)), ((0, 3), (3, 2))],
    "bmm": [((2, 3, 4), (2, 4, 5)), ((1, 1, 1), (1, 1, 1)), ((0, 3, 2), (0, 2, 1))],
    "mv": [((3, 4), (4,)), ((1, 1), (1,)), ((2, 0), (0,)), ((0, 3), (3,))],
    "dot": [((5,), (5,)), ((1,), (1,)), ((0,), (0,))],
    "outer": [((3,), (4,)), ((1,), (1,)), ((0,), (2,))],
    "addmm": [((3, 5), (3, 4), (4, 5)), ((5,), (3, 4), (4, 5)), ((), (1, 1), (1, 1))],
}


def einsum(equation, *shapes):
    return alike("einsum " + equation, lambda m, *a: m.einsum(equation, *a), *shapes)


EINSUMS = [
    *(("ij,jk->ik", (3, 4), (4, 5)), ("bij,bjk", (2, 3, 4), (2, 4, 5)), ("i,i", (5,), (5,))),
    *(("i,j->ij", (3,), (2,)), ("ij,ij->ij", (2, 3), (2, 3)), ("ijk,kj->", (2, 3, 4), (4, 3))),
    *(("bhqd,bhkd->bhqk", (2, 2, 3, 4), (2, 2, 5, 4)), ("ab,cb,cd->ad", (2, 3), (4, 3), (4, 5))),
    *(("...ij,jk->...ik", (2, 1, 3, 4), (4, 5)), ("...ij,...j", (2, 1, 3, 4), (5, 4))),
    *(("i...,ij->j...", (3, 2, 2), (3, 4)), ("...i,ij->ij", (2, 3), (3, 4))),
    *(("ij->ji", (3, 4)), ("ij->", (3, 4)), ("ii", (3, 3)), ("iji->ij", (3, 2, 3)), ("...", (2,))),
    *(("iij,jk->ki", (3, 3, 2), (2, 4)), ("Ab,bc", (2, 3), (3, 4)), (",ij->ij", (), (2, 3))),
    *(("ij,jk", (2, 1), (4, 3)), ("ij,ij->i", (2, 1), (1, 3)), ("ijk,jl->il", (2, 3, 4), (3, 5))),
    *(("ij,jk->ik", (3, 0), (0, 2)), ("ij,jk->ik", (0, 3), (3, 2)), ("i,i,i,i->i", *[(3,)] * 4)),
    *(("i,i->", (0,), (0,)), ("ij,kl->", (2, 3), (3, 2)), ("i,j,k->", (2,), (3,), (1,))),
]

CASES = [
    *(einsum(*row) for row in EINSUMS),
    *(alike("matmul", lambda m, x, y: m.matmul(x, y), *s) for s in MATRICES),
    *(
        alike(name, lambda m, *a, name=name: getattr(m, name)(*a), *shapes)
        for name, rows in PRODUCTS.items()
        for shapes in rows
    ),
    alike("mm method", lambda m, x, y: x.mm(y), (3, 4), (4, 5)),
    alike(
        *("addmm scaled", lambda m, c, x, y: m.addmm(c, x, y, beta=-0.5, alpha=2)),
        *((1, 5), (3, 4), (4, 5)),
    ),
    alike("addmm alone", lambda m, c, x, y: m.addmm(c, x, y, beta=0), (3, 1), (3, 4), (4, 5)),
    *(
        functional("linear", lambda f, *a: f.linear(*a), *s)
        for s in [((3, 4), (5, 4), (5,)), ((2, 3, 4), (5, 4)), ((4,), (5, 4), (5,))]
    ),
    functional("linear empty", lambda f, *a: f.linear(*a), (0, 4), (5, 4), (5,)),
]


@drawn("matmul")
def draw_matmul(draw, name):
    m, k, n = (draw(SIZES) for _ in range(3))
    lead = draw(st.lists(st.sampled_from([1, 2, 3]), max_size=2).map(tuple))
    first = draw(st.sampled_from([(k,), (m, k), (*lead, m, k)]))
    second = draw(st.sampled_from([(k,), (k, n), (*lead[-1:], k, n)]))
    return alike("matmul", lambda m, x, y: m.matmul(x, y), first, second)


@drawn("mm", "bmm", "mv", "dot", "outer", "addmm")
def draw_product(draw, name):
    b, m, k, n = (draw(SIZES) for _ in range(4))
    if name == "addmm":
        c = draw(st.sampled_from([(m, n), (1, n), (m, 1), (n,), (1,), ()]))
        numbers = {key: draw(st.sampled_from([1, 0.5, -2, 3])) for key in ("beta", "alpha")}
        return alike(name, lambda f, *a: f.addmm(*a, **numbers), c, (m, k), (k, n))
    shapes = {
        **{"mm": ((m, k), (k, n)), "bmm": ((b, m, k), (b, k, n)), "mv": ((m, k), (k,))},
        **{"dot": ((k,), (k,)), "outer": ((m,), (n,))},
    }
    return alike(name, lambda f, *a: getattr(f, name)(*a), *shapes[name])


@drawn("einsum")
def draw_einsum(draw, name):
    """Any equation of one to three operands: shared, lone and repeated letters, an ellipsis."""
    sizes = {n: draw(st.sampled_from([0, 1, 2, 3])) for n in "abcB"}
    dots = draw(st.tuples(*[st.sampled_from([1, 2])] * draw(st.integers(0, 2))))
    terms, shapes = [], []
    for _ in range(draw(st.integers(1, 3))):
        letters = draw(st.lists(st.sampled_from("abcB"), max_size=3))
        ones = {n: draw(st.sampled_from([False, False, True])) for n in {*letters}}
        shape = [1 if ones[n] else sizes[n] for n in letters]
        at, kept = draw(st.integers(0, len(letters))), draw(st.integers(0, len(dots)))
        if draw(st.booleans()):
            letters.insert(at, "...")
            shape[at:at] = [draw(st.sampled_from([1, n])) for n in dots[len(dots) - kept :]]
        terms.append("".join(letters))
        shapes.append(tuple(shape))
    equation = ",".join(terms)
    if draw(st.booleans()):
        found = sorted({*"".join(terms)} - {"."})
        out = draw(st.permutations(found))[: draw(st.integers(0, len(found)))]
        if "..." in equation and draw(st.booleans()):
            out.insert(draw(st.integers(0, len(out))), "...")
        equation += "->" + "".join(out)
    return einsum(equation, *shapes)


@drawn("linear")
def draw_linear(draw, name):
    lead = draw(st.lists(SIZES, max_size=3).map(tuple))
    i, o = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    bias = [(o,)] if draw(st.booleans()) else []
    return functional(name, lambda f, *a: f.linear(*a), (*lead, i), (o, i), *bias)


#
# A sum of products that something is added to: what partial sums are bounded by, and the rest.


@magnitude
def addmm_forward(c, x, y, *, exact, beta, alpha):
    return np.abs(alpha) * (np.abs(x) @ np.abs(y)) + np.abs(beta * c)


@magnitude
def linear_forward(x, w, b, *, exact):
    return np.abs(x) @ np.abs(w).T + (0 if b is None else np.abs(b))


# A layer in minifp.nn or torch.nn, and the shape of its input.
LAYERS = {
    "Linear": (lambda m: m.Linear(5, 3), (4, 5)),
    "Linear without bias": (lambda m: m.Linear(5, 3, bias=False), (2, 4, 5)),
    "Identity": (lambda m: m.Identity(3, anything=True), (4, 5)),
}
