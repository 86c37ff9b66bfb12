"""Pillow, which reads pictures and need not be installed."""

from types import ModuleType

from minifp.errors import DataError


def need_pillow(reason: str) -> ModuleType:
    """Return its module Image. Raises DataError, which the reason begins, where it is not there."""
    try:
        from PIL import Image
    except ImportError as error:
        raise DataError(f"{reason}: reading pictures needs Pillow: pip install pillow") from error
    return Image
