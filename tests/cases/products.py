"""Sums of products: matmul, linear, convolution."""

from cases.case import alike, functional


def conv(*shapes, **settings):
    shapes = shapes if len(shapes) == 3 else (*shapes, shapes[1][:1])
    arguments = shapes[:2] if shapes[2] is None else shapes
    return functional("conv2d", lambda f, *a: f.conv2d(*a, **settings), *arguments)


CASES = [
    *(
        alike("matmul", lambda m, x, y: m.matmul(x, y), *s)
        for s in [
            *(((3, 4), (4, 5)), ((1, 1), (1, 1)), ((4,), (4,)), ((3, 4), (4,)), ((4,), (4, 2))),
            *(((2, 3, 4), (4, 5)), ((2, 1, 3, 4), (5, 4, 2)), ((3, 0), (0, 2)), ((0, 3), (3, 2))),
        ]
    ),
    *(
        functional("linear", lambda f, *a: f.linear(*a), *s)
        for s in [((3, 4), (5, 4), (5,)), ((2, 3, 4), (5, 4)), ((4,), (5, 4), (5,))]
    ),
    functional("linear empty", lambda f, *a: f.linear(*a), (0, 4), (5, 4), (5,)),
    conv((2, 3, 6, 5), (4, 3, 3, 3)),
    conv((2, 3, 6, 5), (4, 3, 3, 2), stride=2, padding=1),
    conv((1, 4, 7, 7), (6, 2, 3, 3), stride=(3, 2), padding=(0, 2), groups=2),
    conv((2, 2, 9, 8), (2, 2, 3, 3), None, dilation=2, padding=1),
    conv((1, 1, 1, 1), (1, 1, 1, 1)),
    conv((2, 3, 4, 4), (5, 3, 1, 1), padding=1),
    conv((2, 1, 8, 8), (3, 1, 5, 5), stride=4, padding=2),
    conv((0, 2, 4, 4), (3, 2, 3, 3)),
]

# A layer in minifp.nn or torch.nn, and the shape of its input.
LAYERS = {
    "Linear": (lambda m: m.Linear(5, 3), (4, 5)),
    "Linear without bias": (lambda m: m.Linear(5, 3, bias=False), (2, 4, 5)),
    "Conv2d": (lambda m: m.Conv2d(3, 4, 3, 2, 1), (2, 3, 7, 6)),
    "Conv2d of groups": (lambda m: m.Conv2d(4, 6, (3, 2), groups=2, dilation=2), (2, 4, 7, 6)),
    "Conv2d without bias": (lambda m: m.Conv2d(3, 4, 1, bias=False), (2, 3, 5, 5)),
}
