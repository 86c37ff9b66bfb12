"""The students' notebooks of lessons, copied to where a student works on them."""

from collections.abc import Sequence
from itertools import count
from pathlib import Path

from minifp.errors import ArgumentError
from minifp.saving import files
from minifp.teach import glossary
from minifp.teach.lessons import Lesson, lesson_named, lessons_here, notebook


def chosen(names: Sequence[str]) -> list[Lesson]:
    """The lessons of these names, or all that are here. Raises ArgumentError for others."""
    here = lessons_here()
    for name in names:
        if lesson_named(name) not in here:
            there = ", ".join(lesson.name for lesson in here)
            raise ArgumentError(f"the notebook of {name} is not here; there are: {there}")
    return [lesson for lesson in here if not names or lesson.name in names]


def copy(lessons: Sequence[Lesson], folder: Path, again: bool = False) -> list[Path]:
    """Copy notebooks into a folder, all or none, and return their paths. The glossary is put beside
    them, unless there is one, and is what they link to.

    again: beside a file that is there already, as NAME-2.ipynb; else it raises ArgumentError.
    """
    paths = [folder / notebook(lesson).name for lesson in lessons]
    taken = [path for path in paths if path.exists()]
    if taken and not again:
        raise ArgumentError(
            f"{', '.join(map(str, taken))}: already there, and not changed. Use --again to put a "
            "new copy beside it, or give another --out"
        )
    targets = [free(path) for path in paths]
    sources = dict(zip(targets, map(notebook, lessons)))
    if not (folder / glossary.NAME).exists():
        sources[folder / glossary.NAME] = glossary.path()
    read = {to: path.read_text(encoding="utf-8") for to, path in sources.items()}
    files.write_all({to: glossary.beside(text) for to, text in read.items()})
    return targets


def free(path: Path) -> Path:
    """The path, or the first of NAME-2, NAME-3, ... that is not there."""
    if not path.exists():
        return path
    tried = (path.with_name(f"{path.stem}-{n}{path.suffix}") for n in count(2))
    return next(other for other in tried if not other.exists())
