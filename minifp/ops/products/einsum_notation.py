"""Reading an equation of einsum: a label for each axis of each operand, and of the result.

A label is a letter, or, for the axes that an ellipsis stands for, a negative number: -1 the last.
"""

from minifp.errors import ArgumentError, DTypeError, ShapeError
from minifp.ops.products.matmul import check_arrays


def read(equation, operands):
    """(labels of each operand, labels of the result), as tuples.

    Raises DTypeError, ArgumentError or ShapeError that names the equation.
    """
    if not isinstance(equation, str):
        raise DTypeError(
            f"einsum: equation is a {type(equation).__name__}: expected a text such as "
            '"ij,jk->ik"; lists of axes are not supported'
        )
    check_arrays(f'einsum("{equation}")', **{f"operand {i}": x for i, x in enumerate(operands)})
    given, arrow, result = equation.replace(" ", "").partition("->")
    terms = given.split(",")
    if len(terms) != len(operands) or not operands:
        raise ArgumentError(
            f'einsum("{equation}"): {len(operands)} operands, expected {len(terms)}'
        )
    pairs = zip(terms, operands)
    terms = [_labels(equation, term, x.ndim, i) for i, (term, x) in enumerate(pairs)]
    _check_sizes(equation, terms, [x.shape for x in operands])
    found = [n for names in terms for n in names]
    rest = tuple(range(min((n for n in found if isinstance(n, int)), default=0), 0))
    if not arrow:
        once = {n for n in found if isinstance(n, str) and found.count(n) == 1}
        return terms, (*rest, *sorted(once))
    before, dots, after = _parts(equation, result)
    out = (*before, *(rest if dots else ()), *after)
    if len({*out}) < len(out) or not {*out} <= {*found}:
        raise ArgumentError(
            f'einsum("{equation}"): in the result "{result}" each letter of the operands may stand '
            "once, and no other letters"
        )
    return terms, out


def _parts(equation, term):
    """The letters before the ellipsis, the ellipsis if it is there, and the letters after it."""
    before, dots, after = term.partition("...")
    if any(not (n.isascii() and n.isalpha()) for n in before + after):
        raise ArgumentError(
            f'einsum("{equation}"): "{term}": expected letters, with at most one ellipsis'
        )
    return before, dots, after


def _labels(equation, term, ndim, i):
    """The label of each axis of operand i."""
    before, dots, after = _parts(equation, term)
    free = ndim - len(before + after)
    if free < 0 or (free and not dots):
        raise ShapeError(
            f'einsum("{equation}"): operand {i} has {ndim} dimensions, not those of "{term}"'
        )
    return (*before, *range(-free, 0), *after)


def _check_sizes(equation, terms, shapes):
    """Raise ShapeError where a label has two sizes; across operands, 1 fits any."""
    sizes: dict = {}
    for i, (names, shape) in enumerate(zip(terms, shapes)):
        own: dict = {}
        for n, size in zip(names, shape):
            if own.setdefault(n, size) != size or 1 != size != sizes.get(n, size) != 1:
                other = own[n] if own[n] != size else sizes[n]
                label = "..." if isinstance(n, int) else n
                raise ShapeError(
                    f'einsum("{equation}"): {label} has size {size} in operand {i}, '
                    f"and {other} before"
                )
            if size != 1:
                sizes[n] = size
