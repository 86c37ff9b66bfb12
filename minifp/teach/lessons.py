"""The lessons there are, and the one that is being taken."""

from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from minifp.errors import ArgumentError
from minifp.runtime.browser import IN_BROWSER
from minifp.runtime.nearest import nearest
from minifp.teach import mode, waiting


@dataclass(frozen=True)
class Lesson:
    """name: its notebook's, without ".ipynb". minutes: how long its cells take in full on two
    cores, with compiled kernels."""

    name: str
    title: str
    question: str
    minutes: float


TABLE = """
compare | Overture | Does half precision change what is learned? | 1
01-sixteen-bits | Sixteen bits | What can float16 say? | 1/3
02-the-update-that-wasnt | The update that wasn't | When is w - u = w? | 1/2
03-master-weights | Master weights | Who needs them? | 2
04-four-histograms | Four histograms | Where do tensors live? | 1/2
05-the-bathtub | The bathtub | How big should the loss scale be? | 2
06-a-late-death | A late death | Why did it look fine at first? | 1
07-let-the-machine-choose | Let the machine choose | How does dynamic loss scaling behave? | 1
08-summing-in-half | Summing in half | What must be summed in float32? | 1/2
09-the-op-list | The list of operations | Which may be float16? | 1/2
10-memory-and-time | Memory and time, honestly | What do I save? | 1/2
11-does-it-match | Does it match? | When may I say "the same accuracy"? | 2
12-gallery | Gallery | Do the rules carry over? | 12
13-float16-strikes-back | Float16 strikes back \
| Why does reinforcement learning ask for float16 again? | 1
"""
ROWS = (line.split(" | ") for line in TABLE.strip().split("\n"))
LESSONS = {row[0]: Lesson(row[0], row[1], row[2], float(Fraction(row[3]))) for row in ROWS}

_here = Path(__file__).resolve().parent
_installed, _checkout = _here / "notebooks", _here.parents[1] / "notebooks"
NOTEBOOKS = _installed if _installed.is_dir() else _checkout  # the students'


def notebook(lesson: Lesson) -> Path:
    """The student's notebook of a lesson."""
    return NOTEBOOKS / f"{lesson.name}.ipynb"


def lessons_here() -> list[Lesson]:
    """The lessons whose notebooks are here, in their order."""
    return [lesson for lesson in LESSONS.values() if notebook(lesson).is_file()]


def lesson_named(name: str) -> Lesson:
    """The lesson of that name. Raises ArgumentError for another, and names the nearest."""
    if name not in LESSONS:
        near = ", ".join(nearest(name, LESSONS)) or ", ".join(LESSONS)
        raise ArgumentError(f"there is no lesson {name!r}; near are: {near}")
    return LESSONS[name]


current: Lesson | None = None  # which `begin` was called for last


def begin(name: str) -> None:
    """Begin a lesson: what is predicted and checked from here on belongs to it.

    name: of LESSONS, such as "01-sixteen-bits". Pictures look alike from here on, and below a cell
    that takes long stands how long. Raises ArgumentError for another name.
    """
    global current
    current = lesson_named(name)
    if not mode.shows_answers() and IN_BROWSER:  # refuses an unknown mode before anything has run
        _say_where()
    waiting.show_waiting(current.minutes)
    with suppress(ModuleNotFoundError):
        import matplotlib
        from cycler import cycler

        from minifp.report import drawing

        known = {k: v for k, v in drawing.SETTINGS.items() if k in matplotlib.rcParams}
        matplotlib.rcParams.update(known)
        colors = [style.color for style in drawing.STYLES]
        matplotlib.rcParams["axes.prop_cycle"] = cycler(color=colors)


def _say_where():
    """That a browser has all that a lesson needs, and trains less."""
    from IPython.display import Markdown, display

    short = (
        " Training is shorter here than the texts say, with the same pictures and failures; with "
        "`import os; os.environ['FAST'] = '0'` in a cell above this one it is done in full."
    )
    said = "This runs in your browser, which has all that the lesson needs, and keeps your guesses."
    display(Markdown(f"*{said}{short * mode.is_fast()}*"))


def current_name() -> str:
    """Of the lesson that was begun, or "" outside of any."""
    return current.name if current else ""
