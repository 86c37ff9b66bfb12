"""What is wrong with the axes of pictures or sequences that do not fit, guessed for an error."""

AXES = {1: ("L",), 2: ("H", "W")}


def guess_axes(shape: tuple[int, ...], ndim: int, channels: int | None = None) -> str:
    """The end of an error for an input that was to be (N, C, ...) with `ndim` axes behind: what it
    looks like and how to make it fit; "" where nothing is likely. channels: None for any number.
    """
    behind = AXES[ndim]
    last, first = range(1, ndim + 1), channels is not None and shape and shape[0] == channels
    if len(shape) == ndim + 2 and shape[-1] == channels:
        return _guess(("N", *behind, "C"), "x.permute", (0, ndim + 1, *last))
    if len(shape) == ndim + 1 and first:
        return _guess(("C", *behind), "x.unsqueeze", (0,))
    if len(shape) == ndim + 1 and shape[-1] == channels:
        return _guess((*behind, "C"), "x.permute", (ndim, *range(ndim)))
    if len(shape) == ndim + 1 and channels == 1:
        return _guess(("N", *behind), "x.unsqueeze", (1,))
    if len(shape) == ndim and channels in (1, None):
        return _guess(behind, "x.reshape", (1, 1, *shape))
    return ""


def _guess(axes, function, arguments):
    looks, numbers = ", ".join(axes), ", ".join(map(str, arguments))
    return f"; it looks like ({looks}): give it {function}({numbers})"
