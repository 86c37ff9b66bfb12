"""How deep values are nested, and how many they are where what is shared counts each time.

A pickle of a few bytes can hold lists in lists without end, or share one so often that whoever
walks through all of it never ends. Nothing here recurses.
"""

from collections.abc import Callable, Iterable
from typing import Any

DEEPEST = 200  # levels of containers and objects
MOST = 10_000_000  # values in one, counted each time that they are met

PLAIN = {str, int, float, bool, bytes, type(None)}

Inside = Callable[[Any], Iterable[Any] | None]


def check_nesting(value: Any, inside: Inside, is_object: Callable[[Any], bool]) -> None:
    """Raise ValueError for what is nested deeper than DEEPEST, has more than MOST values in it, or
    is in itself; an object may be, as a child that knows its parent.

    inside: what a container holds, and None for what is none. It is asked once of each value that
    is not PLAIN.
    """
    extents: dict[int, tuple[int, int] | None] = {}  # by id: levels and values; None while unknown
    held: dict[int, list] = {}  # by id: what a container holds, while that is unknown
    waiting = [value]
    while waiting:
        here = waiting[-1]
        if id(here) not in extents:
            parts = inside(here)
            if parts is None:
                extents[id(here)] = 0, 1
            else:
                extents[id(here)], held[id(here)] = None, [*parts]
                if len(held) > DEEPEST:
                    raise ValueError(f"nested more than {DEEPEST} levels deep")
                waiting += [
                    part
                    for part in held[id(here)]
                    if type(part) not in PLAIN and id(part) not in extents
                ]
                continue
        waiting.pop()
        if extents[id(here)] is None:
            extents[id(here)] = _extent(held.pop(id(here)), extents, is_object)


def _extent(parts, extents, is_object):
    """Levels and values of a container with these parts, whose own are known."""
    levels, values = 0, 1
    for part in parts:
        extent = (0, 1) if type(part) in PLAIN else extents[id(part)]
        if extent is None:
            if not is_object(part):
                raise ValueError(f"a {type(part).__name__} that is in itself")
            extent = 0, 1
        levels, values = max(levels, extent[0]), values + extent[1]
    if levels >= DEEPEST or values > MOST:
        raise ValueError(
            f"nested more than {DEEPEST} levels deep, or more than {MOST:,} values where what is "
            "shared counts each time"
        )
    return levels + 1, values
