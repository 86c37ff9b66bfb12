"""What is made of a comparison when it is done, where it is asked for: pictures, event files."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from minifp.errors import ArgumentError
from minifp.lab.results import event_files, store
from minifp.report import drawing, rendering
from minifp.report.look import SCREEN, Look, look_of
from minifp.saving import files

# What a comparison has pictures of: a file each.
PICTURES = ("loss", "metric", "test-loss", "gradients", "scale", "final", "difference", "power")
PICTURES += ("memory", "time")


@dataclass(frozen=True)
class Products:
    """figures: the format of pictures, or None for none, and their look. tensorboard: whether event
    files are written."""

    figures: str | None = None
    look: Look = SCREEN
    tensorboard: bool = False

    def places(self, folder: Path) -> list[Path]:
        """The files that will be there, the page among them, or one of each kind."""
        pictures = [] if self.figures is None else places(folder, [self.figures])
        events = [event_files.place(folder, "float32", 0)] * self.tensorboard
        return [folder / store.REPORT, *pictures, *events]

    def write(self, comparison, folder: Path) -> None:
        """Write the page, and what else is asked for."""
        files.check_within(folder, folder / store.REPORT)
        comparison.report(folder / store.REPORT)
        if self.figures is not None:
            save_figures(comparison, folder, self.figures, self.look)
        if self.tensorboard:
            event_files.save(comparison, folder)


def places(folder: Path, formats: Sequence[str] = drawing.FORMATS) -> list[Path]:
    """Where the pictures of a comparison may be, and their captions."""
    pictures = [folder / f"{name}.{format}" for name in PICTURES for format in formats]
    return [*pictures, folder / rendering.CAPTIONS]


def save_figures(comparison, folder: Path, format: str, look: Look) -> list[Path]:
    """Write every picture of a comparison into a folder and return the paths; for paper with
    captions.txt."""
    drawn = rendering.drawn(comparison.document(), format, look)
    files.write_into(folder, {folder / name: content for name, content in drawn.items()})
    return [folder / name for name in drawn if name != rendering.CAPTIONS]


def products_of(out, figures, style=None, width=None, font=None, tensorboard=False) -> Products:
    """What these arguments of `compare` ask for.

    Raises ArgumentError for one that cannot be, or that has no folder, and MinifpError where a
    library is missing: before training, not after it.
    """
    looks = {"style": style, "width": width, "font": font}
    look = {name: value for name, value in looks.items() if value is not None}
    requests = dict(look) if figures is None else {"figures": figures}
    requests |= {"tensorboard": True} if tensorboard else {}
    for name, value in requests.items():
        if out is None:
            raise ArgumentError(f"{name}={value!r} without out: give the folder to put them in")
    if look and figures is None:
        settings = ", ".join(f"{name}={value!r}" for name, value in look.items())
        raise ArgumentError(f"{settings} without figures: say in which format, as figures='pdf'")
    if figures is not None:
        rendering.check_format(figures)
    if tensorboard:
        event_files.check()
    return Products(figures, look_of(style, width, font), bool(tensorboard))


def shown(folder: Path) -> list[Path]:
    """Pages, pictures and event files that may be in a folder, of whatever comparison."""
    endings = ("csv", "html", "md", *drawing.FORMATS)
    effects = [folder / f"{store.EFFECTS}.{ending}" for ending in endings]
    return [folder / store.REPORT, *places(folder), *effects, *event_files.there(folder)]
