"""The points of a class: each student's files against the judges, on cases drawn anew."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from minifp.errors import ArgumentError, DataError
from minifp.runtime import untrusted
from minifp.teach.checking import UNWRITTEN, NoAnswerError, judged
from minifp.teach.exercise import Exercise, all_exercises, drawn_from
from minifp.teach.grading.process import Limits, Process
from minifp.teach.lessons import lesson_named

KINDS = (".ipynb", ".py")
LARGEST = 2**25  # bytes of a file, which may have pictures in it
LONGEST = 400  # characters of a reason
MISSING = "not in the file"
Cells = list[tuple[str, str]]  # (what it is called, its source)


@dataclass(frozen=True)
class Mark:
    """What an exercise earned, 1 or 0, and why not 1."""

    points: int = 0
    reason: str = MISSING


@dataclass
class Row:
    """A student. marks: by exercise. remarks: what is wrong with files."""

    student: str
    files: list[Path]
    marks: dict[str, Mark]
    remarks: list[str] = field(default_factory=list)

    @property
    def points(self) -> int:
        """Of all exercises."""
        return sum(mark.points for mark in self.marks.values())

    def put(self, name: str, mark: Mark) -> None:
        """The better one counts, where several files have an exercise."""
        before = self.marks[name]
        if mark.points > before.points or before.reason == MISSING:
            self.marks[name] = mark


def submissions(folder: Path) -> dict[str, list[Path]]:
    """Files by student: of a folder in `folder`, all in it; of a file, that. Hidden ones are left
    out. Raises ArgumentError where there are none."""
    by_student: dict[str, list[Path]] = {}
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        if path.suffix in KINDS and not any(part.startswith(".") for part in parts):
            by_student.setdefault(parts[0] if len(parts) > 1 else path.stem, []).append(path)
    if not by_student:
        raise ArgumentError(f"{folder} has no notebooks and no .py files, one a student")
    return by_student


def cells_of(path: Path) -> Cells:
    """The code of a file. Raises DataError for what is no notebook, or no text."""
    content = untrusted.content(path, LARGEST)
    try:
        text = content.decode("utf-8-sig")
        if path.suffix == ".py":
            return [(plain(path.name), text)]
        cells = json.loads(text)["cells"]
        sources = [c["source"] for c in cells if c["cell_type"] == "code"]
        return [(f"cell {i}", "".join(lines)) for i, lines in enumerate(sources, 1)]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise DataError(f"{path.name} cannot be read: {type(error).__name__}: {error}") from None


def exercises_in(texts: Sequence[str], lessons: Sequence[str]) -> list[Exercise]:
    """All exercises of these lessons, or of those of which a text has a solution's beginning."""
    everything = "\n".join(texts)
    for name in lessons:
        lesson_named(name)
    known = all_exercises().values()
    chosen = {*lessons} or {e.lesson for e in known if binds(e.name, everything)}
    return [e for e in known if e.lesson in chosen]


def binds(name: str, text: str) -> bool:
    """Whether a line of the text begins with the function, or the variable."""
    return re.search(rf"^(?:def {name}\(|{name}\b[^=\n]*=)", text, re.M) is not None


@dataclass
class Class:
    """A class, to be graded. cells: of the files that could be read. seed: that cases are drawn
    from. held: what the system held students' code to, of confinement.ALL."""

    exercises: list[Exercise]
    rows: list[Row]
    cells: dict[Path, Cells]
    seed: int
    limits: Limits = field(default_factory=Limits)
    held: list[str] = field(default_factory=list)

    def grade(self) -> Iterator[Row]:
        """Each row as soon as it is complete."""
        for row in self.rows:
            for path in row.files:
                if path in self.cells:
                    self.grade_file(row, self.cells[path])
            yield row

    def grade_file(self, row: Row, cells: Cells) -> None:
        """All exercises that a file has."""
        text = "\n".join(source for _, source in cells)
        tried = [e for e in self.exercises if re.search(rf"\b{e.name}\b", text)]
        with Runner(cells, self.limits) as runner, drawn_from(self.seed):
            for exercise in tried:
                row.put(exercise.name, runner.mark(exercise))
        self.held = runner.held
        row.remarks += [problem for problem in runner.broken if problem not in row.remarks]


def read_class(folder: Path, lessons: Sequence[str], seed: int, limits: Limits) -> Class:
    """All submissions of a folder. What cannot be read is a remark in its row."""
    rows, cells = [], dict[Path, Cells]()
    for student, files in submissions(folder).items():
        rows.append(Row(plain(student), files, {}))
        for path in files:
            try:
                cells[path] = cells_of(path)
            except DataError as error:
                rows[-1].remarks.append(plain(str(error)))
    texts = [source for some in cells.values() for _, source in some]
    exercises = exercises_in(texts, lessons)
    if not exercises:
        raise ArgumentError(
            f"no file in {folder} has an exercise of a lesson: its function or variable must have "
            "the name that the lesson gives it"
        )
    for row in rows:
        row.marks = {e.name: Mark() for e in exercises}
    return Class(exercises, rows, cells, seed, limits)


class Runner:
    """A file's process, and another one where an exercise has lost it."""

    def __init__(self, cells: Cells, limits: Limits) -> None:
        self.cells, self.limits = cells, limits
        self.process: Process | None = None
        self.held: list[str] = []
        self.broken: list[str] = []

    def __enter__(self) -> "Runner":
        return self

    def __exit__(self, *raised: object) -> None:
        self.end()

    def end(self) -> None:
        """Kill the process that there is."""
        if self.process is not None:
            self.process.end()
            self.process = None

    def begun(self) -> Process:
        """The process, which is begun where there is none, or none that answers."""
        if self.process is not None and self.process.is_lost:
            self.end()
        if self.process is None:
            self.process = Process(self.cells, self.limits)
            self.held = self.process.held
            self.broken = [*map(plain, self.process.broken)]
        return self.process

    def mark(self, exercise: Exercise) -> Mark:
        """Judge what the file says of an exercise."""
        try:
            said = judged(exercise.by_inputs, self.defined(exercise))
        except KeyError:
            return Mark()
        except NotImplementedError:
            said = UNWRITTEN
        except NoAnswerError as error:
            said = str(error)
        return Mark(0, plain(said)) if said else Mark(1, "")

    def defined(self, exercise: Exercise):
        """The answer; of another process, where that of earlier exercises will not answer."""
        is_new = self.process is None
        try:
            return self.begun().define(exercise)
        except NoAnswerError:
            if is_new or self.process is None or not self.process.is_lost:
                raise
        return self.begun().define(exercise)


def plain(text: str) -> str:
    """One line without characters that command a terminal, not too long."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= LONGEST else line[: LONGEST - 3] + "..."
