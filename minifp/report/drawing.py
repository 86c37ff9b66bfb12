"""Matplotlib at arm's length: colours, line styles, and figures as files or as inline SVG.

Nothing of pyplot is used, so no global state changes and no window opens; the reader's own
matplotlibrc has no say, so the same results give the same bytes.
"""

import io
import re
from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup, escape

from minifp.saving import files

HOW_TO_GET = "Pictures need matplotlib: python -m pip install matplotlib"
FORMATS = ("png", "svg", "pdf")

INK, MUTED, GRID, PAPER = "#1f2328", "#59636e", "#d8dee4", "#ffffff"


@dataclass(frozen=True)
class Style:
    """How one series is drawn; the colours are those of Okabe and Ito (2008), width in points.

    Any two differ in colour, dashes and marker, so that neither eyes nor printers decide.
    """

    color: str
    dashes: tuple
    marker: str
    width: float

    @property
    def line(self):
        """The dashes as matplotlib takes them."""
        return (0, self.dashes) if self.dashes else "solid"

    @property
    def look(self) -> dict:
        """What matplotlib's plot takes for a line of it, without markers."""
        return {"color": self.color, "lw": self.width, "ls": self.line}


# The first is for what others are compared with: broad and grey, so that it is seen behind them.
STYLES = (
    Style("#7d8590", (), "o", 4.2),
    Style("#0072b2", (), "s", 1.6),
    Style("#d55e00", (5, 1.6), "^", 1.6),
    Style("#009e73", (1.2, 1.2), "D", 1.8),
    Style("#cc79a7", (7, 1.5, 1.2, 1.5), "v", 1.6),
    Style("#e69f00", (3, 1.2), "P", 1.6),
    Style("#56b4e9", (7, 1.5, 1.2, 1.5, 1.2, 1.5), "X", 1.6),
    Style("#000000", (10, 3), "*", 1.4),
)

# Inline in a page, a colour becomes a variable of its style sheet, which knows dark from light.
VARIABLES = {
    INK: "--ink",
    MUTED: "--muted",
    GRID: "--grid",
    PAPER: "--paper",
    **{style.color: f"--series-{i}" for i, style in enumerate(STYLES)},
}

SETTINGS: dict = {
    "font.family": ["DejaVu Sans", "sans-serif"],  # the first of which comes with matplotlib
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlepad": 9,
    "axes.edgecolor": MUTED,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.unicode_minus": True,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "text.color": INK,
    "axes.titlecolor": INK,
    "axes.labelcolor": MUTED,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.major.size": 3,
    "ytick.major.size": 0,
    "xtick.minor.size": 0,
    "ytick.minor.size": 0,
    "legend.frameon": False,
    "lines.solid_capstyle": "round",
    "lines.dash_capstyle": "butt",
    "figure.facecolor": PAPER,
    "savefig.facecolor": "auto",
    "path.simplify": True,
    "path.simplify_threshold": 0.3,
    "svg.hashsalt": "minifp",
    "svg.fonttype": "none",  # letters stay letters: they can be searched, and set in another font
    "pdf.fonttype": 42,
    "svg.id": None,
    "savefig.dpi": 160,
}


def is_available() -> bool:
    """Whether matplotlib can be imported."""
    try:
        import matplotlib  # noqa: F401
    except ModuleNotFoundError:
        return False
    return True


@contextmanager
def settings(**more):
    """Matplotlib's defaults and SETTINGS, in the `with` block only."""
    import matplotlib.style

    known = {k: v for k, v in {**SETTINGS, **more}.items() if k in matplotlib.rcParams}
    with matplotlib.style.context(["default", known]):
        yield


def points(size: float) -> float:
    """A size of letters that goes with the font.size of these settings, 9 on a screen."""
    import matplotlib

    return size * matplotlib.rcParams["font.size"] / SETTINGS["font.size"]


@contextmanager
def canvas(wide: float, high: float, rows: int = 1, columns: int = 1, look=None, **how):
    """An empty figure of so many inches, and its axes, one or an array of them, as they are drawn
    in the `with` block; then it is laid out for good. look: its settings; how: of the axes."""
    from matplotlib.figure import Figure

    with settings(**(look or {})):
        figure = Figure(figsize=(wide, high))
        figure.set_layout_engine("constrained", w_pad=0.06, h_pad=0.06)
        yield figure, figure.subplots(rows, columns, **how)
        settle(figure)


def readable_on(rgb: Sequence[float]) -> str:
    """The colour of letters, black or nearly white, that stands out on (red, green, blue), each
    from 0 to 1: by the luminance of WCAG 2.2. A dark page turns neither over."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in rgb[:3]]
    luminance = sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear))
    return "#000000" if luminance > 0.179 else "#fefefe"


def width_of(axes) -> float:
    """Inches that a panel has in its figure, with all that is beside its axes."""
    return axes.figure.get_figwidth() / axes.get_subplotspec().get_gridspec().ncols


def settle(figure):
    """Lay a figure out for good, without the last bits, in which the solver differs every time.

    Of its texts only those of ticks are formulas: a name may have dollars, wherever it comes from.
    """
    from matplotlib.text import Text

    for text in figure.findobj(Text):
        if "$" in text.get_text() and "mathdefault" not in text.get_text():
            text.set_parse_math(False)
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    for axes in figure.axes:
        axes.set_position([round(edge, 4) for edge in axes.get_position().bounds])


def save(figure, path, format) -> Path:
    """Write a figure as PNG, SVG or PDF, and return its path. No date goes into the file."""
    return files.write(path, bytes_of(figure, format))


def bytes_of(figure, format, **more) -> bytes:
    """A figure as the content of a file; more: settings with which it was drawn."""
    dateless = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
    content = io.BytesIO()
    with settings(**more):
        figure.savefig(content, format=format, metadata=dateless[format])
    return content.getvalue()


def inline_svg(figure, name: str, title: str, description: str) -> Markup:
    """The figure as an <svg> element whose ids all begin with `name`, in the page's own colours."""
    name, text = escape(name), io.StringIO()
    with settings():
        figure.savefig(text, format="svg", metadata={"Date": None}, transparent=True)
    svg = text.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<!--.*?-->\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\bid="', f'id="{name}-', svg)
    svg = re.sub(r'((?:xlink:)?href=")#', rf"\1#{name}-", svg)
    svg = svg.replace("url(#", f"url(#{name}-")
    svg = re.sub(r' d="[^"]*"', lambda m: re.sub(r"(\.\d\d)\d+", r"\1", m[0]), svg)
    for color, variable in VARIABLES.items():
        svg = svg.replace(color, f"var({variable})")
    (opening,) = re.findall(r"\A<svg[^>]*>", svg)
    (view_box,) = re.findall(r'viewBox="[^"]*"', opening)
    texts = {"name": name, "title": title, "description": description}
    return Markup(
        '<svg class="panel" xmlns="http://www.w3.org/2000/svg" '
        'xmlns:xlink="http://www.w3.org/1999/xlink" {view_box} '
        'role="img" aria-labelledby="{name}-title {name}-description">'
        '<title id="{name}-title">{title}</title>'
        '<desc id="{name}-description">{description}</desc>{drawn}'
    ).format(view_box=Markup(view_box), drawn=Markup(svg[len(opening) :].strip()), **texts)
