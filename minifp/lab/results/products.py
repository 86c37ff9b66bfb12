"""What is made of a comparison when it is done, where it is asked for: pictures, event files."""

from dataclasses import dataclass
from pathlib import Path

from minifp.errors import ArgumentError
from minifp.lab.results import event_files, store
from minifp.report import drawing
from minifp.report.look import SCREEN, Look, look_of
from minifp.saving import files


@dataclass(frozen=True)
class Products:
    """figures: the format of pictures, or None for none, and their look. tensorboard: whether event
    files are written."""

    figures: str | None = None
    look: Look = SCREEN
    tensorboard: bool = False

    def places(self, folder: Path) -> list[Path]:
        """The files that will be there, the page among them, or one of each kind."""
        from minifp.lab.page.figures import places

        pictures = [] if self.figures is None else places(folder, [self.figures])
        events = [event_files.place(folder, "float32", 0)] * self.tensorboard
        return [folder / store.REPORT, *pictures, *events]

    def write(self, comparison, folder: Path) -> None:
        """Write the page, and what else is asked for."""
        files.check_within(folder, folder / store.REPORT)
        comparison.report(folder / store.REPORT)
        if self.figures is not None:
            from minifp.lab.page.figures import save_figures

            save_figures(comparison, folder, self.figures, self.look)
        if self.tensorboard:
            event_files.save(comparison, folder)


def products_of(out, figures, style=None, width=None, font=None, tensorboard=False) -> Products:
    """What these arguments of `compare` ask for.

    Raises ArgumentError for one that cannot be, or that has no folder, and MinifpError where a
    library is missing: before training, not after it.
    """
    looks = {"style": style, "width": width, "font": font}
    given = {name: value for name, value in looks.items() if value is not None}
    wanted = dict(given) if figures is None else {"figures": figures}
    wanted |= {"tensorboard": True} if tensorboard else {}
    for name, value in wanted.items():
        if out is None:
            raise ArgumentError(f"{name}={value!r} without out: give the folder to put them in")
    if given and figures is None:
        told = ", ".join(f"{name}={value!r}" for name, value in given.items())
        raise ArgumentError(f"{told} without figures: say in which format, as figures='pdf'")
    if figures is not None:
        from minifp.lab.page.figures import check

        check(figures)
    if tensorboard:
        event_files.check()
    return Products(figures, look_of(style, width, font), bool(tensorboard))


def shown(folder: Path) -> list[Path]:
    """Pages, pictures and event files that may be in a folder, of whatever comparison."""
    from minifp.lab.page.figures import places

    endings = ("csv", "html", "md", *drawing.FORMATS)
    effects = [folder / f"{store.EFFECTS}.{ending}" for ending in endings]
    return [folder / store.REPORT, *places(folder), *effects, *event_files.there(folder)]
