"""What a class has earned: as a table in a terminal, and as CSV."""

from collections.abc import Sequence

from minifp.report.csv_text import csv_text
from minifp.report.plain_text import WIDTH, columns, fill
from minifp.report.words import listed, plural
from minifp.runtime import confinement
from minifp.teach.grading.grade import MISSING, Class, Row


def csv_of(rows: Sequence[Row], exercises: Sequence[str]) -> str:
    """A line for each student: points, those of each exercise, and why not more."""
    head = ["student", "points", "of", *exercises, *(f"{e}: reason" for e in exercises), "remarks"]
    return csv_text([head, *(line(row, exercises) for row in rows)])


def line(row: Row, exercises: Sequence[str]) -> list:
    """Of one student, as the head has it."""
    marks = [row.marks[name] for name in exercises]
    earned, reasons = [m.points for m in marks], [m.reason for m in marks]
    return [row.student, row.points, len(marks), *earned, *reasons, "; ".join(row.remarks)]


def text_of(rows: Sequence[Row], exercises: Sequence[str]) -> str:
    """The table of points, and below it the reasons of those that are missing."""
    marks = [(r.student, *(cell(r.marks[e]) for e in exercises), str(r.points)) for r in rows]
    parts = [columns([("student", *exercises, "points"), *marks])]
    if max(map(len, parts[0].split("\n"))) > WIDTH:
        numbers = [str(i) for i in range(1, len(exercises) + 1)]
        named = ", ".join(f"{i} {name}" for i, name in zip(numbers, exercises))
        parts = [columns([("student", *numbers, "points"), *marks]), fill(f"Exercises: {named}.")]
    for row in rows:
        reasons = {e: m.reason for e, m in row.marks.items() if m.reason not in ("", MISSING)}
        remarks = [f"  {exercise}: {reason}" for exercise, reason in reasons.items()]
        remarks += [f"  {remark}" for remark in row.remarks]
        if remarks:
            parts.append("\n".join([row.student, *(fill(line, "    ") for line in remarks)]))
    return "\n\n".join(parts)


def cell(mark) -> str:
    """1 or 0, or a dash for what is not there."""
    return "-" if mark.reason == MISSING else str(mark.points)


def conclusion(graded: Class) -> str:
    """How many were graded, from which seed, and what this system does not hold their code to."""
    unheld = [what for what in confinement.ALL if what not in graded.held]
    said = (
        f"{plural(len(graded.rows), 'student')}, {plural(len(graded.exercises), 'exercise')}. "
        f"Cases were drawn from seed {graded.seed}: --seed {graded.seed} draws them again."
    )
    if unheld:
        said += f" This system did not hold students' code to: {listed(unheld)}."
    return fill(said)
