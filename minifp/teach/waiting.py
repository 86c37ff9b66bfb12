"""One line below a cell that takes long: for how long, and what for. It goes when the cell ends."""

import threading
import time
from typing import Any

from markupsafe import Markup

from minifp.report.words import plural
from minifp.runtime.browser import IN_BROWSER
from minifp.runtime.cpu.compile.progress import PROGRESS
from minifp.teach import mode

PATIENCE = 2.0  # seconds after which the line appears
EVERY = 1.0  # seconds until it is written anew
ID = "minifp waits"


class Waiting:
    """The line of a notebook's cells, one after the other. It stands in place of the one that is
    written to a terminal while kernels are compiled."""

    def __init__(self, shell: Any, minutes: float) -> None:
        # By the kernel's own publisher: what a block withholds has another one for a while.
        self.publisher, self.minutes = shell.display_pub, minutes
        self.done, self.thread = threading.Event(), threading.Thread()
        self.cells, self.kernels = 0, 0

    def tell(self, title: str) -> None:
        """A kernel is compiled: the title is not shown, their number is."""
        self.kernels += 1

    def clear(self) -> None:
        """Nothing is compiled any more."""

    def begin(self, *_info: Any) -> None:
        """A cell begins."""
        self.end()
        self.cells, self.kernels, self.done = self.cells + 1, 0, threading.Event()
        self.thread = threading.Thread(target=self._count, args=(self.done,), daemon=True)
        self.thread.start()

    def end(self, *_info: Any) -> None:
        """A cell ends, and its line goes."""
        self.done.set()
        if self.thread.ident is not None:
            self.thread.join()

    def _count(self, done):
        since, is_visible = time.monotonic(), False
        while not done.wait(EVERY if is_visible else PATIENCE):
            self._show(self._text(time.monotonic() - since), is_visible)
            is_visible = True
        if is_visible:
            self._show("", is_visible)

    def _text(self, seconds) -> str:
        whole = f" (in full the whole lesson takes {self.minutes:.0f} min)" * (self.minutes >= 1)
        kernels = f"; {plural(self.kernels, 'kernel')} compiled, once for this machine"
        return f"running for {seconds:.0f} s{whole}{kernels * bool(self.kernels)}"

    def _show(self, text, again):
        data = {
            "text/plain": text,
            "text/html": Markup("<small>{}</small>").format(text) if text else "",
        }
        transient = {"display_id": f"{ID} {self.cells}"}
        self.publisher.publish(data, {}, transient=transient, update=again)


_current: Waiting | None = None


def show_waiting(minutes: float) -> None:
    """Say from now on below each cell of this notebook what it waits for, if somebody looks on.

    minutes: that the whole lesson takes.
    """
    global _current
    try:
        from IPython import get_ipython
    except ModuleNotFoundError:
        return
    shell: Any = get_ipython()
    if getattr(shell, "kernel", None) is None:
        return
    if _current is not None:
        shell.events.unregister("pre_run_cell", _current.begin)
        shell.events.unregister("post_run_cell", _current.end)
    _current = Waiting(shell, minutes)
    PROGRESS.tell, PROGRESS.bar = _current.tell, _current
    if not (IN_BROWSER or mode.shows_answers()):
        shell.events.register("pre_run_cell", _current.begin)
        shell.events.register("post_run_cell", _current.end)
