"""How lessons run: by a student, or by themselves; in full, or in little time.

MINIFP_TEACH=show     answers are shown without a prediction, nothing of the student's is kept
FAST=1                fewer steps and seeds, with the same pictures and the same failures: so it is
                      in a browser, unless FAST=0
"""

import os
from typing import TypeVar

from minifp.runtime import variables
from minifp.runtime.browser import IN_BROWSER

MODE = "MINIFP_TEACH"
FAST = "FAST"
T = TypeVar("T")


def shows_answers() -> bool:
    """Whether answers are shown without a prediction. Raises ArgumentError for an unknown mode."""
    return variables.read(MODE) == "show"


def is_fast() -> bool:
    """Whether FAST is set to anything but 0, or not at all in a browser."""
    return os.environ.get(FAST, "1" if IN_BROWSER else "0") not in ("", "0")


def fast_or(full: T, fast: T) -> T:
    """`full`, or `fast` where FAST=1: a number of steps, of seeds, a list of settings."""
    return fast if is_fast() else full


def has_widgets() -> bool:
    """Whether there are sliders: ipywidgets, in a notebook that somebody uses."""
    if shows_answers():
        return False
    try:
        import ipywidgets  # noqa: F401
        from IPython import get_ipython
    except ModuleNotFoundError:
        return False
    return getattr(get_ipython(), "kernel", None) is not None
