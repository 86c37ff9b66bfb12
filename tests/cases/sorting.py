"""Order: sort and topk."""

from hypothesis import strategies as st

import minifp as fp
from cases.case import Case, alike, axis_of, drawn, shapes


def head(x, k, dim, largest=True, **_):
    """PyTorch's topk, of which equal ones are the first: the head of its stable sort."""
    return x.sort(dim=dim, descending=largest, stable=True)[0].narrow(dim, 0, k)


def topk(shape, k, dim, **settings):
    return Case(
        *("topk", lambda x: fp.topk(x, k, dim, **settings)[0], (shape,)),
        torch=lambda t, x: head(x, k, dim, **settings),
    )


CASES = [
    alike("sort", lambda m, x: m.sort(x)[0], (3, 5)),
    alike("sort down", lambda m, x: x.sort(0, True)[0], (3, 5)),
    *(alike("median", lambda m, x: m.median(x), shape) for shape in ((3, 5), (4,))),
    alike("median along", lambda m, x: x.median(1, keepdim=True)[0], (3, 4)),
    alike("sort nothing", lambda m, x: x.sort(0)[0], (0, 5)),
    *(topk((3, 5), 2, -1), topk((3, 5), 3, 0), topk((3, 2), 0, 1)),
]


@drawn("sort", "topk")
def draw_sorted(draw, name):
    shape = draw(shapes(1))
    dim, down = draw(axis_of(shape)), draw(st.booleans())
    if name == "topk":
        return topk(shape, draw(st.integers(0, shape[dim])), dim, largest=down)
    settings, stable = {"dim": dim, "descending": down}, draw(st.booleans())
    return Case(
        *(name, lambda x: fp.sort(x, **settings, stable=stable)[0], (shape,)),
        torch=lambda t, x: t.sort(x, **settings, stable=True)[0],
    )
