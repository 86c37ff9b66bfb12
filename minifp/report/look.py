"""How printed pictures look: a style, the width of a figure, and the font of its texts."""

import math
import re
import textwrap
from dataclasses import dataclass

from minifp.errors import ArgumentError, MinifpError
from minifp.report import drawing
from minifp.runtime.nearest import nearest

SIZES = {"screen": 9.0, "paper": 8.0}  # points, of each style
COLUMN = 3.25  # inches, of one of the two columns of a page
UNITS = {"in": 1.0, "mm": 1 / 25.4, "cm": 1 / 2.54, "pt": 1 / 72.27}  # a TeX point
NARROWEST, WIDEST = 3.0, 20.0
GENERIC = ("serif", "sans-serif", "monospace")
EM = 0.61  # the width of a letter, in its size: on average less, in most fonts
# Settings of matplotlib in points, as they are on a screen.
SHRINKING = {
    "font.size": 9.0,
    "axes.titlesize": 10.0,
    "axes.titlepad": 9.0,
    "axes.labelpad": 4.0,
    "xtick.major.pad": 3.5,
    "ytick.major.pad": 3.5,
}
TEXT_FILES = (".ttf", ".ttc")  # of fonts that a PDF can hold as they are


@dataclass(frozen=True)
class Look:
    """style: "screen" has a heading, and says how to read a figure; "paper" leaves that to a
    caption, and is set smaller. width: inches of a whole figure; None is as wide as its panels are.
    font: its family; None is DejaVu Sans, which comes with matplotlib."""

    style: str = "screen"
    width: float | None = None
    font: str | None = None

    @property
    def is_for_paper(self) -> bool:
        """Whether captions stand elsewhere."""
        return self.style == "paper"

    @property
    def shrunk(self) -> float:
        """Of letters and lines, to those on a screen."""
        return SIZES[self.style] / SIZES["screen"]

    def settings(self) -> dict:
        """What it changes of `drawing.SETTINGS`."""
        changed: dict = {name: size * self.shrunk for name, size in SHRINKING.items()}
        changed["savefig.dpi"] = 300 if self.is_for_paper else drawing.SETTINGS["savefig.dpi"]
        if self.font is not None:  # the letters that it has not are DejaVu's
            changed["font.family"] = [self.font, *drawing.SETTINGS["font.family"]]
        return changed


SCREEN = Look()


def look_of(style=None, width=None, font=None) -> Look:
    """The Look that these texts mean; what is None is as usual.

    style: "screen" or "paper". width: "3.25in", "85mm", "8.5cm" or "240pt" (TeX's points, as
    \\the\\columnwidth prints them), or a number of inches. font: a family that is installed here,
    or "serif", "sans-serif" or "monospace". Raises ArgumentError for what is none of these, and
    MinifpError where there is no matplotlib.
    """
    style = "screen" if style is None else style
    if style not in SIZES:
        raise ArgumentError(f"style={style!r}: expected {' or '.join(SIZES)}")
    wide = COLUMN if style == "paper" else None
    wide = wide if width is None else inches(width)
    if font is not None:
        check_font(font)
    return Look(style, wide, font)


def inches(width) -> float:
    """The inches of "3.25in", "85mm", "8.5cm", "240pt" or a number. Raises ArgumentError."""
    text = str(width).strip()
    match = re.fullmatch(r"(\d*\.?\d+) *(in|mm|cm|pt)?", text)
    wide = float(match[1]) * UNITS[match[2] or "in"] if match else math.nan
    if isinstance(width, bool) or not NARROWEST <= wide <= WIDEST:
        least, most = (f"{end / UNITS['mm']:.0f} mm" for end in (NARROWEST, WIDEST))
        raise ArgumentError(
            f"width={width!r}: expected a width such as 3.25in, 85mm or 240pt, from {least} to "
            f"{most}"
        )
    return wide


def check_font(font) -> None:
    """Raise ArgumentError for a font that is not installed, naming those that are near."""
    if not drawing.is_available():
        raise MinifpError(drawing.HOW_TO_GET)
    from matplotlib import font_manager

    held = font_manager.fontManager.ttflist
    known = {*GENERIC, *(f.name for f in held if f.fname.lower().endswith(TEXT_FILES))}
    if font not in known:
        near = ", ".join(nearest(font, known) if isinstance(font, str) else ()) or "serif"
        raise ArgumentError(
            f"font={font!r} is not a TrueType font of this machine; similar ones: {near}. If you "
            "have just installed it, delete matplotlib's font cache"
        )


# ---- what fits -----------------------------------------------------------------------------------


def letters(inches_of_room: float, points: float) -> int:
    """How many letters of so many points fit into so many inches."""
    return max(1, int(inches_of_room * 72 / (EM * points)))


def fitting(text: str, room: float, points: float) -> float:
    """The size of letters, at most `points`, in which a text fits into so many inches."""
    return min(points, room * 72 / (EM * max(1, len(text))))


def wrapped(text: str, room: float, points: float) -> str:
    """A text in lines that fit, broken at blanks, and behind commas where there are none."""
    width = letters(room, points)
    lines = textwrap.wrap(text.replace(",", ",\0"), width, break_long_words=False)
    return "\n".join(part for line in lines for part in _broken(line, width))


def _broken(line, width):
    """Pieces of a line that end behind commas, each as long as fits."""
    pieces = [""]
    for part in line.split("\0"):
        if pieces[-1] and len(pieces[-1]) + len(part) > width:
            pieces.append("")
        pieces[-1] += part
    return pieces
