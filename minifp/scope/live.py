"""A view that follows training in a notebook: one picture, replaced as steps are looked at.

By IPython's display ids, which Jupyter, VS Code and Colab all know. It is drawn at most as often as
keeps drawing below a tenth of the time, and once more at the end.
"""

import time
from importlib import import_module
from typing import Any

from minifp.errors import ArgumentError

SHARE = 0.1  # of the time, at most, for drawing


class Live:
    """What is displayed: the picture of the last step that was looked at."""

    def __init__(self, findings: Any) -> None:
        self.findings = findings
        self.handle = display_of()(self, display_id=True)
        self.drawn_at, self.took = time.perf_counter(), 0.0

    def follow(self, last: bool = False) -> None:
        """Show what there is now, if it is time. last: in any case."""
        start = time.perf_counter()
        if last or start - self.drawn_at > self.took * (1 / SHARE - 1):
            self.handle.update(self)
            self.drawn_at = time.perf_counter()
            self.took = self.drawn_at - start

    def __repr__(self) -> str:
        headlines = import_module("minifp.scope.page.headlines").headlines
        steps = len(self.findings.steps)
        return "\n".join(headlines(self.findings)) if steps else "No step has been observed yet."

    def _repr_png_(self) -> str | None:
        return self.findings._repr_png_()

    def _repr_html_(self) -> str | None:
        picture = self._repr_png_()
        if picture is None:
            return None
        in_notebook = import_module("minifp.report.in_notebook")
        return in_notebook.picture(picture, repr(self), "max-width: 100%")


def display_of() -> Any:
    """IPython's display. Raises ArgumentError outside of a notebook."""
    try:
        from IPython import get_ipython
        from IPython.display import display
    except ModuleNotFoundError:
        shell = None
    else:
        shell = get_ipython()
    if shell is None or not hasattr(shell, "kernel"):
        raise ArgumentError(
            "microscope: live=True needs a notebook; elsewhere, open scope.report('scope.html') "
            "after training"
        )
    return display
