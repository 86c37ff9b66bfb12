"""Charts as whole figures: for files with a legend, and on a screen with what explains them."""

import textwrap
from collections.abc import Callable, Mapping

from minifp.report import drawing, line_drawing, rows, words
from minifp.report import look as looks
from minifp.report.charts import Group, Panel
from minifp.report.drawing import Style
from minifp.report.look import SCREEN, Look
from minifp.report.rows import Rows

WIDTH = 4.6  # inches of a picture in a file
ASTRAY = (
    "If a run did not finish, all seeds of its arm are drawn separately. A cross: NaN from there "
    "on. A triangle: the line leaves the picture."
)


def of_panel(panel: Panel, group: Group, look: Look, caption: str = ""):
    """A panel of a group as a matplotlib Figure."""
    high = line_drawing.height(look.width or WIDTH)
    arms = {line.arm for line in panel.lines}
    styles = {arm.name: arm.style for arm in group.arms if arm.name in arms}
    legend = styles if len(styles) > 1 else {}

    def draw(axes):
        line_drawing.draw(axes, panel, group)

    return framed(draw, panel.title, high, look, lines(legend), caption)


def of_rows(chart: Rows, look: Look = SCREEN, caption: str = ""):
    """A chart of rows as a matplotlib Figure."""
    high = rows.height(chart, look.width or WIDTH, look.shrunk)
    legend = (patches if chart.is_bars else lines)(chart.legend)
    return framed(lambda axes: rows.draw(axes, chart), chart.title, high, look, legend, caption)


def framed(draw: Callable, title: str, high: float, look: Look, legend: list, caption: str):
    """A Figure of axes that are `high` inches high, below their title, with a legend above, and on
    a screen with the caption below."""
    wide, size = look.width or WIDTH, 8.5 * look.shrunk
    said = "" if look.is_for_paper else textwrap.fill(words.raised(caption), round(17 * wide))
    for sample in legend:
        sample.set_label(looks.wrapped(sample.get_label(), wide - 0.8, size))
    texts = [sample.get_label() for sample in legend]
    columns = columns_of(texts, wide, size)
    high += 0.2 * look.shrunk * -(-sum(t.count("\n") + 1 for t in texts) // columns)
    high += 0.1 * bool(texts) + 0.15 * len(said.splitlines())
    with drawing.canvas(wide, high, look=look.settings()) as (figure, axes):
        room = wide - 0.7
        axes.set_title(looks.wrapped(title, room, 1.1 * drawing.points(10)))
        draw(axes)
        axes.set_xlabel(looks.wrapped(axes.get_xlabel(), room, drawing.points(9)))
        count = max(3, min(9, round(room / (0.65 * drawing.points(1)))))
        axes.locator_params(axis="x", nbins=count)
        if legend:
            place = {"loc": "outside upper left", "ncols": columns, "borderpad": 0.2}
            sizes = {"fontsize": drawing.points(8.5), "handlelength": 2.8, "columnspacing": 1.6}
            figure.legend(handles=legend, **place, **sizes)
        if said:
            figure.supxlabel(said, x=0.02, ha="left", fontsize=7.5, color=drawing.MUTED)
    return figure


def columns_of(texts: list[str], wide: float, size: float) -> int:
    """How many columns of a legend fit into so many inches, in letters of so many points."""
    longest = max((len(line) for text in texts for line in text.split("\n")), default=0)
    return max(1, min(len(texts), int(wide * 8.5 / size / (0.65 + 0.075 * longest))))


def lines(styles: Mapping[str, Style]) -> list:
    """A piece of line with its marker for each name."""
    from matplotlib.lines import Line2D

    def sample(name, style):
        look = {"color": style.color, "linestyle": style.line, "linewidth": style.width}
        return Line2D([], [], marker=style.marker, markersize=4.5, label=name, **look)

    return [sample(*pair) for pair in styles.items()]


def patches(styles: Mapping[str, Style]) -> list:
    """A coloured field for each name."""
    from matplotlib.patches import Patch

    return [Patch(color=style.color, label=name) for name, style in styles.items()]
