"""Sums of products: matmul and its kin, einsum, linear, convolutions and their transposes."""

import numpy as np
from bounds import magnitude
from hypothesis import strategies as st

from cases.case import SIZES, alike, drawn, functional
from minifp.ops.convolution import conv as straight
from minifp.ops.convolution import conv_transpose as back

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


def conv(name, *shapes, bias=True, transposed=False, **settings):
    groups = settings.get("groups", 1)
    out = shapes[1][1] * groups if transposed else shapes[1][0]
    arguments = (*shapes, (out,)) if bias else shapes
    return functional(name, lambda f, *a: getattr(f, name)(*a, **settings), *arguments)


def transposed(name, *shapes, **settings):
    return conv(name, *shapes, transposed=True, **settings)


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
    conv("conv1d", (2, 3, 9), (4, 3, 3)),
    conv("conv1d", (4, 8), (6, 2, 2), stride=2, padding=1, dilation=3, groups=2),
    conv("conv1d", (2, 4, 8), (2, 4, 2), bias=False, stride=3),
    conv("conv1d", (2, 3, 6), (4, 3, 4), padding="same", dilation=2),
    conv("conv1d", (1, 1, 1), (1, 1, 1)),
    conv("conv1d", (0, 2, 4), (3, 2, 3), padding="valid"),
    conv("conv2d", (2, 3, 6, 5), (4, 3, 3, 3)),
    conv("conv2d", (2, 3, 6, 5), (4, 3, 3, 2), stride=2, padding=1),
    conv("conv2d", (1, 4, 7, 7), (6, 2, 3, 3), stride=(3, 2), padding=(0, 2), groups=2),
    conv("conv2d", (2, 2, 9, 8), (2, 2, 3, 3), bias=False, dilation=2, padding=1),
    conv("conv2d", (1, 1, 1, 1), (1, 1, 1, 1)),
    conv("conv2d", (2, 3, 4, 4), (5, 3, 1, 1), padding=1),
    conv("conv2d", (2, 1, 8, 8), (3, 1, 5, 5), stride=4, padding=2),
    conv("conv2d", (0, 2, 4, 4), (3, 2, 3, 3)),
    conv("conv2d", (2, 5, 4), (3, 2, 3, 2), padding="same", dilation=(1, 4)),
    conv("conv2d", (2, 3, 5, 5), (3, 1, 3, 3), groups=3, padding=1),
    transposed("conv_transpose1d", (2, 3, 5), (3, 4, 3)),
    transposed("conv_transpose1d", (4, 3), (4, 2, 2), stride=3, padding=1, output_padding=2),
    transposed("conv_transpose1d", (2, 4, 3), (4, 3, 3), groups=2, dilation=2, bias=False),
    transposed("conv_transpose1d", (0, 2, 4), (2, 3, 3)),
    transposed("conv_transpose2d", (2, 3, 4, 3), (3, 4, 3, 2)),
    transposed(
        *("conv_transpose2d", (2, 4, 3, 4), (4, 3, 3, 2)),
        **{"stride": (2, 3), "padding": (1, 0), "output_padding": (1, 2), "groups": 2},
    ),
    transposed("conv_transpose2d", (3, 2, 4), (3, 2, 2, 3), dilation=(3, 1), padding=2),
    transposed("conv_transpose2d", (1, 1, 1, 1), (1, 1, 1, 1)),
]


# ---- drawn at random ----------------------------------------------------------------------------


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
        "mm": ((m, k), (k, n)),
        "bmm": ((b, m, k), (b, k, n)),
        "mv": ((m, k), (k,)),
        "dot": ((k,), (k,)),
        "outer": ((m,), (n,)),
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


@drawn("conv1d", "conv2d", "conv_transpose1d", "conv_transpose2d")
def draw_conv(draw, name):
    ndim, back = int(name[-2]), "transpose" in name

    def pick(low, high):
        one = draw(st.integers(low, high))
        several = draw(st.tuples(*[st.integers(low, high)] * ndim))
        return draw(st.sampled_from([one, several]))

    def each(value):
        return (value,) * ndim if isinstance(value, int) else value

    groups, c, o = (draw(st.integers(1, n)) for n in (2, 2, 3))
    kernel = draw(st.tuples(*[st.integers(1, 3)] * ndim))
    settings = {"stride": pick(1, 3), "padding": pick(0, 2), "dilation": pick(1, 3)}
    settings["groups"] = groups
    if back:
        room = [max(s, d) - 1 for s, d in zip(each(settings["stride"]), each(settings["dilation"]))]
        settings["output_padding"] = tuple(draw(st.integers(0, r)) for r in room)
        taken = zip(kernel, *(each(settings[k]) for k in ("stride", "padding", "dilation")))
        least = [max(1, 1 + -(-(2 * p - d * (k - 1)) // s)) for k, s, p, d in taken]
    else:
        settings["padding"] = draw(st.sampled_from([settings["padding"], "same", "valid"]))
        if settings["padding"] == "same":  # of even kernels PyTorch warns: see test_products.py
            settings["stride"], kernel = 1, tuple(2 * (k // 2) + 1 for k in kernel)
        added = 0 if isinstance(settings["padding"], str) else settings["padding"]
        taken = zip(kernel, each(added), each(settings["dilation"]))
        least = [max(1, d * (k - 1) + 1 - 2 * p) for k, p, d in taken]
    sizes = [n + draw(st.integers(0, 3)) for n in least]
    batch = draw(st.sampled_from([(), (0,), (1,), (2,)]))
    weight = (c * groups, o, *kernel) if back else (o * groups, c, *kernel)
    bias = [(o * groups,)] if draw(st.booleans()) else []
    return functional(
        *(name, lambda f, *a: getattr(f, name)(*a, **settings)),
        *((*batch, c * groups, *sizes), weight, *bias),
    )


# ---- how far rounding may carry the results -----------------------------------------------------
#
# A sum of products that something is added to: what partial sums are bounded by, and the rest.


@magnitude
def addmm_forward(c, x, y, *, exact, beta, alpha):
    return np.abs(alpha) * (np.abs(x) @ np.abs(y)) + np.abs(beta * c)


@magnitude
def linear_forward(x, w, b, *, exact):
    return np.abs(x) @ np.abs(w).T + (0 if b is None else np.abs(b))


def of_absolute(kernel, *arrays, **geometry):
    """A kernel's reference of absolute values: what bounds its partial sums."""
    arrays = [a if a is None else np.abs(a) for a in arrays]
    return kernel.reference(*arrays, dot=np.matmul, accumulate=lambda y: y, **geometry)


@magnitude
def conv_forward(x, w, b, *, exact, **geometry):
    return of_absolute(straight.conv_forward, x, w, b, **geometry)


@magnitude
def conv_transpose_forward(x, w, b, *, exact, **geometry):
    return of_absolute(back.conv_transpose_forward, x, w, b, **geometry)


# A layer in minifp.nn or torch.nn, and the shape of its input.
LAYERS = {
    "Linear": (lambda m: m.Linear(5, 3), (4, 5)),
    "Linear without bias": (lambda m: m.Linear(5, 3, bias=False), (2, 4, 5)),
    "Identity": (lambda m: m.Identity(3, anything=True), (4, 5)),
    "Unflatten": (lambda m: m.Unflatten(1, (2, 3)), (4, 6)),
    "Unflatten from the end": (lambda m: m.Unflatten(-1, (2, -1)), (4, 3, 6)),
    "Conv1d": (lambda m: m.Conv1d(3, 4, 3, 2, 1), (2, 3, 7)),
    "Conv1d of groups": (lambda m: m.Conv1d(4, 6, 2, groups=2, dilation=2), (4, 7)),
    "Conv1d that keeps sizes": (lambda m: m.Conv1d(3, 4, 3, padding="same"), (2, 3, 7)),
    "Conv2d": (lambda m: m.Conv2d(3, 4, 3, 2, 1), (2, 3, 7, 6)),
    "Conv2d of groups": (lambda m: m.Conv2d(4, 6, (3, 2), groups=2, dilation=2), (2, 4, 7, 6)),
    "Conv2d without bias": (lambda m: m.Conv2d(3, 4, 1, bias=False), (2, 3, 5, 5)),
    "Conv2d without padding": (lambda m: m.Conv2d(3, 4, 2, padding="valid"), (3, 5, 5)),
    "ConvTranspose1d": (lambda m: m.ConvTranspose1d(3, 4, 3, 2, 1, 1), (2, 3, 5)),
    "ConvTranspose2d": (lambda m: m.ConvTranspose2d(3, 4, (3, 2), 2, 1), (2, 3, 4, 5)),
    "ConvTranspose2d of groups": (
        lambda m: m.ConvTranspose2d(4, 6, 3, 2, groups=2, bias=False, dilation=2),
        (4, 3, 4),
    ),
}
