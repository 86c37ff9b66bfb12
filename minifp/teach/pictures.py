"""Pictures of lessons: each with the same as a table, and with sliders where there are widgets."""

import sys
from base64 import b64encode
from collections.abc import Callable, Sequence
from typing import Any

from markupsafe import Markup

from minifp.errors import ArgumentError
from minifp.report import drawing, in_notebook
from minifp.report.markup import paragraph
from minifp.report.plain_text import columns as text_columns
from minifp.report.words import raised
from minifp.teach import mode, texts, withheld


def show(figure: Any, caption: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Display a figure of matplotlib as a PNG, what it shows as a caption, and its numbers.

    caption: the name of the section of the lesson's text that says what is to be seen, also for who
    does not see it, and what was arranged so that it shows (the exponent dial). columns, rows: of
    the table below it, which has the figure's numbers; floats are written with four digits.
    """
    from IPython.display import HTML, display

    caller = sys._getframe(1)
    caption = texts.section_text(caption, {**caller.f_globals, **caller.f_locals}).text
    cells = [[_cell(value) for value in row] for row in rows]
    if any(len(row) != len(columns) for row in cells):
        raise ArgumentError(f"show: each row needs {len(columns)} values, as columns has names")
    png = b64encode(drawing.bytes_of(figure, "png")).decode()  # not every kernel encodes bytes
    _close(figure)
    metadata = {"image/png": {"alt": caption}}
    display({"image/png": png, "text/plain": caption}, raw=True, metadata=metadata)
    folded = Markup("{}\n<details><summary>The same as a table</summary>\n{}\n</details>")
    table = in_notebook.plain_table(columns, cells)
    display(HTML(folded.format(paragraph(raised(caption)), table)))


def as_text(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """The table of a picture in plain text."""
    return text_columns([list(columns), *([_cell(value) for value in row] for row in rows)])


def _cell(value) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _close(figure):
    """Let pyplot forget it, if that is where it comes from: it would be shown twice."""
    import matplotlib.pyplot as plt

    plt.close(figure)


def explore(draw: Callable[..., Any], **sliders: tuple[int, int, int]) -> None:
    """Call draw(name=value) whenever one of its sliders moves; once, where there are no widgets.

    sliders: by the names of the arguments of `draw`, whole numbers: (from, to, at first).
    """
    if not mode.has_widgets():
        draw(**{name: first for name, (_, _, first) in sliders.items()})
        return
    if withheld.defer(lambda: explore(draw, **sliders)):
        return
    from ipywidgets import IntSlider, interact

    widgets = {}
    for name, (least, most, first) in sliders.items():
        widgets[name] = IntSlider(first, least, most, description=name.replace("_", " "))
        widgets[name].continuous_update = False
    interact(draw, **widgets)
