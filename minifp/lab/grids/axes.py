"""The values that one thing is to have, as they are written: "1,8,128,dynamic", "1e-4..1e-1:5"."""

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

from minifp.errors import ArgumentError
from minifp.lab.changes import COUNTS, PRECISION, as_text, changed, is_plain, place_of, switched
from minifp.lab.task import Task

MOST = 1000  # values of one thing: more is a slip of the keyboard
DIGITS = 4  # of the values between the ends of a range
RANGE = re.compile(r"(.+?)\.\.(.+?):(\d+)(?::(lin|log))?")
HOW = "expected values such as 1,8,128,dynamic, or a range of n values such as 1e-4..1e-1:5"


def values_of(name: str, entry: Any) -> list:
    """The values that a text, one value, or a list of values means, each once.

    A range a..b:n has n values between a and b, both included, each the same number of times the
    one before; a..b:n:lin has steps of equal size. Raises ArgumentError.
    """
    items = read(name, entry) if isinstance(entry, str) else entry
    if not isinstance(items, Iterable) or isinstance(items, (str, Mapping)):
        items = [items]
    lists = [read(name, item) if isinstance(item, str) else [item] for item in items]
    values = [value for part in lists for value in part]
    texts = [as_text(value) for value in values]
    if not values or len(set(texts)) < len(texts):
        raise ArgumentError(f"{name}={entry}: {HOW}; each value once")
    return values


def read(name: str, text: str) -> list:
    """The values of a text."""
    values: list = []
    for part in text.split(","):
        between = RANGE.fullmatch(part.strip())
        values += spread(name, *between.groups()) if between else [value_of(name, part.strip())]
    return values


def value_of(name: str, text: str) -> Any:
    """One value: a number, True or False for on and off, or a word."""
    if not text or ".." in text:
        raise ArgumentError(f"{name}={text}: {HOW}")
    if text in ("on", "off"):
        return text == "on"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def spread(name: str, low: str, high: str, count: str, how: str | None) -> list:
    """The values of a range; whole numbers of what is counted."""
    try:
        a, b, n = float(low), float(high), int(count)
    except ValueError:
        a = b = math.nan
    if not (math.isfinite(a) and math.isfinite(b) and a != b and 2 <= n <= MOST):
        raise ArgumentError(
            f"{name}={low}..{high}:{count}: expected two numbers and a count of values, from 2 to "
            f"{MOST:,}"
        )
    if how != "lin" and min(a, b) <= 0:
        raise ArgumentError(
            f"{name}={low}..{high}:{count}: the values of a range have equal ratios, so both ends "
            f"must be above 0; for equal steps write {low}..{high}:{count}:lin"
        )
    at = [i / (n - 1) for i in range(n)]
    inner = [a + (b - a) * x if how == "lin" else a * (b / a) ** x for x in at[1:-1]]
    if name in COUNTS:
        return [round(x) for x in (a, *inner, b)]
    return [a, *(float(f"{x:.{DIGITS}g}") for x in inner), b]


def check_axes(task: Task, precisions: list[str], axes: Mapping[str, list]) -> dict[str, str]:
    """The place of each axis: see changes.py. Raises ArgumentError, or PrecisionError, for a name
    or a value that cannot be, and for what would change nothing."""
    places = {}
    for name, values in axes.items():
        kinds = [place_of(name, value, task) for value in values]
        if len(set(kinds)) > 1:
            texts = ",".join(map(as_text, values))
            raise ArgumentError(f"{name}={texts}: expected values of one kind")
        places[name] = kinds[0]
        for value in values:
            if kinds[0] == PRECISION:
                check_switch(name, value, precisions)
            else:
                changed(task, {name: value})
    return places


def check_switch(name: str, value: Any, precisions: list[str]) -> None:
    """Raise for a switch that changes none of the precisions, or a value that it cannot have."""
    for precision in precisions:
        switched(precision, {name: value})
    if all(map(is_plain, precisions)):
        raise ArgumentError(
            f"{name}={as_text(value)} would change nothing: {' and '.join(precisions)} are "
            "baselines and stay as they are; add another precision, such as mixed"
        )
