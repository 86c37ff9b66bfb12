"""Who called minifp: the user's own line, and warnings that are told there, once."""

import linecache
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from minifp.errors import MisuseWarning

PACKAGE = str(Path(__file__).resolve().parents[1])
CALLED_BACK = "cupy", "cupy_backends"  # which ask minifp for memory, and whose lines are nobody's


class _Everywhere:
    """What stands for no owner: of warnings that are told once in a process."""


EVERYWHERE = _Everywhere()
listeners: list[Callable[[str], None]] = []  # called with the text of every such warning
told: "WeakKeyDictionary[Any, set]" = WeakKeyDictionary()  # owner -> the kinds it was told of


def warn_once(
    kind: str, text: str, owner: Any = EVERYWHERE, category: type[Warning] = MisuseWarning
) -> None:
    """Warn at the user's line, unless `owner` (by default: anybody) was warned of this kind.

    kind: what the warnings of one mistake share, while texts differ. owner: what the mistake was
    made with, such as an optimizer; it must take weak references.
    """
    kinds = told.setdefault(owner, set())
    if kind not in kinds:
        kinds.add(kind)
        for listener in listeners:
            listener(text)
        warnings.warn(text, category, stacklevel=level_of_user())


def level_of_user() -> int:
    """The stacklevel, for the function that calls warnings.warn with it, of the user's own line."""
    frame: Any = sys._getframe(1)
    level = 1
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame, level = frame.f_back, level + 1
    return level


def is_of_user(frame: Any) -> bool:
    """Whether a frame is of code that is neither minifp's nor CuPy's."""
    package = frame.f_globals.get("__name__", "").partition(".")[0]
    return not frame.f_code.co_filename.startswith(PACKAGE) and package not in CALLED_BACK


def line_of_user() -> str:
    """Where, outside of minifp, what is done now was called: "file:line: text"."""
    frame: Any = sys._getframe(1)
    while frame is not None and not is_of_user(frame):
        frame = frame.f_back
    return "minifp itself" if frame is None else line_at(frame.f_code.co_filename, frame.f_lineno)


def line_at(file: str, number: int) -> str:
    """A line of a program as a reader finds it: "file:line: text", or "In[7]:line: text" for a
    notebook's cell, which lies in a file whose name says nothing."""
    text = linecache.getline(file, number).strip()
    return f"{cell_of(file) or file}:{number}" + (f": {text}" if text else "")


def cell_of(file: str) -> str:
    """The cell that a file holds of the notebook that is being run, such as "In[7]", or ""."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    named = getattr(getattr(shell, "compile", None), "format_code_name", None)  # of IPython 8
    found = named(file) if named else None
    return found[1] if found else ""
