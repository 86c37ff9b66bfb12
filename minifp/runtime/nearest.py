"""What somebody meant by a name that does not exist: the nearest ones that do."""

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(name: str, names: Iterable[str], count: int = 3) -> list[str]:
    """Up to `count` of `names` that are spelled most like `name`, the nearest first."""
    spelled = {n.lower(): n for n in names}
    return [spelled[n] for n in get_close_matches(name.lower(), spelled, count, cutoff=0.7)]
