"""paddle.amp of PaddlePaddle 2: levels of mixed precision, each one of fp.precision's.

    O0   float32     nothing is narrowed
    OD   autocast    products in float16, every other operation in float32
    O1   autocast    operations as the table says (`print(fp.op_list())`), weights in float32
    O2   mixed       all in float16, but norm layers and sums; float32 masters in the optimizer

The table and the names of operations are minifp's.

Source: PaddlePaddle 3, `python/paddle/amp/auto_cast.py` and `amp_lists.py`.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from minifp.checks import check_choice, check_flag
from minifp.errors import ArgumentError, PrecisionError
from minifp.numerics.autocast import GIVEN, LOW, TABLE, WIDE, WIDEST
from minifp.numerics.formats import as_dtype
from minifp.numerics.policy import NAMED, Precision, precision
from minifp.runtime.contexts import Context

__all__ = ["auto_cast"]

LEVELS = {"O0": "float32", "OD": "autocast", "O1": "autocast", "O2": "mixed"}


def auto_cast(
    enable: bool = True,
    custom_white_list: Iterable[str] | None = None,
    custom_black_list: Iterable[str] | None = None,
    level: str = "O1",
    dtype: Any = LOW,
) -> Context[Precision]:
    """Compute at a level of mixed precision inside of the `with` block; also a decorator.

    enable: False is level "O0". custom_white_list, custom_black_list: names of operations that work
    in float16, or in float32, whatever the table says; for the levels "OD" and "O1". dtype: float16
    is the one there is. Raises ArgumentError for another level, for lists where no table is used,
    and for an operation in both; PrecisionError for another dtype, or an operation there is not.
    """
    check_flag("auto_cast: enable", enable)
    check_choice("auto_cast: level", level, LEVELS)
    if as_dtype(dtype).name != LOW:
        raise PrecisionError(f"auto_cast(dtype={dtype!r}): expected {LOW}")
    white, black = set(custom_white_list or ()), set(custom_black_list or ())
    if white & black:
        both = ", ".join(sorted(white & black))
        raise ArgumentError(f"auto_cast: custom_white_list and custom_black_list overlap: {both}")
    found = NAMED[LEVELS[level if enable else "O0"]]
    if found.operations is None:
        if enable and (white or black):
            raise ArgumentError(f"auto_cast(level={level!r}): lists are for the levels OD and O1")
        return precision(found)
    rest = {row.operation for row in TABLE.values() if row.format in (GIVEN, WIDEST)} - {"cast"}
    edits = dict.fromkeys(rest if level == "OD" else (), WIDE)
    edits |= dict.fromkeys(black, WIDE) | dict.fromkeys(white, LOW)
    return precision(replace(found, operations=edits))
