"""How far a student has come, in a terminal and as a page that needs no network."""

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from minifp.report import document, words
from minifp.report.markup import header, section, table
from minifp.report.plain_text import columns, fill
from minifp.teach import progress
from minifp.teach.standing import Standing, Tried

TITLE = "Progress in the lessons"
HEADS = ("lesson", "question", "predictions", "exercises solved")
TEXTS = (0, 1, 3)  # columns of words
NOTHING = "No lesson was begun yet: `minifp teach lessons --out DIR` copies their notebooks."


def summary(lessons: Sequence[Standing]) -> str:
    """All of it in a sentence."""
    guesses = sum(len(one.predictions) for one in lessons)
    solved, of = sum(one.solved for one in lessons), sum(len(one.exercises) for one in lessons)
    lessons_begun = words.plural(sum(one.begun for one in lessons), "lesson")
    predictions = words.plural(guesses, "prediction")
    exercises = words.plural(of, "exercise")
    return f"{lessons_begun} begun, {predictions} made, {solved} of {exercises} solved."


def where() -> str:
    """Where it is kept, and how it goes."""
    return f"Kept in {progress.place()}, and sent nowhere; `minifp teach forget` deletes it."


def row(one: Standing) -> tuple[str, ...]:
    """A lesson in a line: see HEADS."""
    solved = f"{one.solved} of {len(one.exercises)}" if one.exercises else "-"
    tried = f", {one.tried} tried" if one.tried else ""
    guesses = str(len(one.predictions) or "-")
    return one.lesson.name or one.lesson.title, one.lesson.question, guesses, solved + tried


def lines_of(one: Standing) -> list[tuple[str, str]]:
    """(what was done, with what) of one lesson."""
    guesses = [
        ("predicted", f"{question} {guess}{later(one.later.get(question, ()))}")
        for question, guess in one.predictions.items()
    ]
    return guesses + [(state(e), f"{e.title}{tries(e)}") for e in one.exercises]


def later(guesses: Sequence[Any]) -> str:
    """What was guessed after the first guess, if anything."""
    texts = ", ".join(str(guess) for guess in guesses if guess is not None)
    return f" (later {texts})" if texts else ""


def state(exercise: Tried) -> str:
    """Of an exercise in a word."""
    return "solved" if exercise.solved else "tried" if exercise.begun else "to do"


def tries(exercise: Tried) -> str:
    """How many tries were wrong, if any."""
    count = "1 try" if exercise.failed == 1 else f"{exercise.failed:,} tries"
    return f", {count} wrong" if exercise.failed else ""


def text_of(lessons: Sequence[Standing]) -> str:
    """The table, what was done in each lesson that was begun, and where it is kept."""
    parts = [columns([HEADS, *map(row, lessons)], TEXTS)]
    for one in lessons:
        if one.begun:
            lines = [fill(f"  {what:9}  {said}", " " * 13) for what, said in lines_of(one)]
            parts.append("\n".join([one.lesson.title, *lines]))
    said = summary(lessons) if any(one.begun for one in lessons) else NOTHING
    return "\n\n".join([*parts, f"{fill(said)}\n{where()}"])


def page(lessons: Sequence[Standing]) -> Markup:
    """The same as a page."""
    whole = table("All lessons", HEADS, map(row, lessons), text_columns=TEXTS)
    parts = [header(TITLE, summary(lessons)), section("All lessons", whole)]
    parts += [of_lesson(one) for one in lessons if one.begun]
    return document.document(TITLE, Markup("\n").join(parts))


def of_lesson(one: Standing) -> Markup:
    """What was done in a lesson."""
    caption = f"Done in: {one.lesson.title}"
    done = table(caption, ("done", "what"), lines_of(one), text_columns=(1,))
    return section(one.lesson.title, done)
