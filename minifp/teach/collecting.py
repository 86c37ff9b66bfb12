"""A class's guesses, from the files of its students' progress: counts of each answer, no names."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from markupsafe import Markup

from minifp.errors import DataError
from minifp.report import document
from minifp.report.markup import header, paragraph, part, section, table
from minifp.report.words import listed, plural, raised
from minifp.runtime import untrusted
from minifp.teach.lessons import LESSONS

TITLE = "What the class guessed"
LARGEST = 2**22  # bytes of a file
MOST = 10  # bars of a histogram of numbers
WIDE = 100  # the largest over the smallest number, from which on bars are powers
HUGE = 1e30  # beyond which numbers are drawn as that
STYLE = part("guesses.css", __package__)
BAR = Markup('<span class="guesses" style="width: {:.0f}%"></span>')
HEADS = ("guess", "students", "histogram")


@dataclass(frozen=True)
class Question:
    """What was asked in a lesson, and the first guess of each student who made one."""

    lesson: str
    text: str
    guesses: tuple

    @property
    def bars(self) -> list[tuple[str, int]]:
        """(a guess, or a range of them; how many students)."""
        numbers = [g for g in self.guesses if not isinstance(g, str)]
        counts = Counter(g for g in self.guesses if isinstance(g, str))
        return [*number_bars(numbers), *counts.most_common()]


@dataclass
class Guesses:
    """Of a class. students: how many files could be read. broken: why others could not."""

    questions: list[Question]
    students: int
    broken: list[str]


def files_in(paths: Sequence[Path]) -> list[Path]:
    """Each path once; of a folder, all .json files below it."""
    each = (sorted(p.rglob("*.json")) if p.is_dir() else [p] for p in paths)
    return [*{path.resolve(): path for some in each for path in some}.values()]


def collected(paths: Sequence[Path]) -> Guesses:
    """The guesses in these files, lesson by lesson."""
    guesses: dict[str, list] = {}
    broken, students = [], 0
    for path in paths:
        try:
            mine = first_guesses(path)
        except DataError as error:
            broken.append(str(error))
            continue
        students += 1
        for key, guess in mine.items():
            guesses.setdefault(key, []).append(guess)
    questions = [asked(key, guesses_at_it) for key, guesses_at_it in guesses.items()]
    order = [*LESSONS]
    questions.sort(key=lambda q: order.index(q.lesson) if q.lesson in order else len(order))
    return Guesses(questions, students, broken)


def asked(key: str, guesses: list) -> Question:
    """The question of a key, "lesson: question"."""
    lesson, _, text = key.partition(": ")
    return Question(*((lesson, text) if lesson in LESSONS else ("", key)), tuple(guesses))


def first_guesses(path: Path) -> dict[str, float | str]:
    """By the key of its question, of one file. Raises DataError for a file that is another."""
    progress = untrusted.json_of(path, LARGEST)
    guesses = progress.get("predictions") if isinstance(progress, dict) else None
    if isinstance(guesses, dict) and {type(g) for g in guesses.values()} <= {int, float, str}:
        return guesses
    raise DataError(f"{path} is not a file of a student's progress")


# ---- histograms ----------------------------------------------------------------------------------


def number_bars(numbers: Sequence[float]) -> list[tuple[str, int]]:
    """Each number, where they are few; else ranges of equal width, or of equal ratio where the
    numbers are positive and far apart."""
    counts = Counter(numbers)
    if len(counts) <= MOST:
        return [(in_short(number), counts[number]) for number in sorted(counts)]
    values = np.clip(np.array(numbers, np.float64), -HUGE, HUGE)
    low, high = float(values[values != 0].min()), float(values.max())
    zeros = int(np.sum(values == 0))
    if low > 0 and high / low > WIDE:
        bars = [("0", zeros)] if zeros else []
        edges, values = powers(low, high), values[values > 0]
    else:
        bars, edges = [], nice_edges(float(values.min()), high)
    heights = np.histogram(values, edges)[0]
    names = [f"{in_short(a)} to {in_short(b)}" for a, b in zip(edges, edges[1:])]
    return bars + [(name, int(height)) for name, height in zip(names, heights)]


def powers(low: float, high: float) -> np.ndarray:
    """Edges of at most MOST ranges, which are powers of ten apart."""
    first, last = (math.floor(math.log10(x)) for x in (low, high))
    step = math.ceil((last + 1 - first) / MOST)
    return 10.0 ** np.arange(first, last + 1 + step, step)


def nice_edges(low: float, high: float) -> np.ndarray:
    """Edges of at most MOST ranges, which are 1, 2 or 5 times a power of ten wide."""
    least = (high - low) / (MOST - 1)
    power = 10.0 ** math.floor(math.log10(least))
    width = next(m * power for m in (1, 2, 5, 10) if m * power >= least)
    first = math.floor(low / width)
    return width * np.arange(first, math.floor(high / width) + 2)


def in_short(number: float) -> str:
    """A number in few digits."""
    whole = float(number).is_integer() and abs(number) < 1e9
    return f"{number:,.0f}" if whole else f"{number:.4g}"


# ---- the page ------------------------------------------------------------------------------------


def summary(guesses: Guesses) -> str:
    """All of it in a sentence."""
    questions = plural(len(guesses.questions), "question")
    return f"First guesses of {plural(guesses.students, 'student')} at {questions}."


def page(guesses: Guesses) -> Markup:
    """A page with large letters, which needs no network and names nobody."""
    parts = [header(TITLE, summary(guesses))]
    for name in dict.fromkeys(question.lesson for question in guesses.questions):
        title = LESSONS[name].title if name in LESSONS else "Outside of lessons"
        histograms = [histogram(q) for q in guesses.questions if q.lesson == name]
        parts.append(section(title, *histograms))
    if guesses.broken:
        parts.append(paragraph(f"{plural(len(guesses.broken), 'file')} could not be read."))
    return document.document(TITLE, Markup("\n").join(parts), STYLE)


def histogram(question: Question) -> Markup:
    """A question with its bars, the longest of which is as wide as its column."""
    bars = question.bars
    longest = max(count for _, count in bars)
    rows = [(raised(name), count, BAR.format(100 * count / longest)) for name, count in bars]
    caption = f"{raised(question.text)} ({plural(len(question.guesses), 'student')})"
    return table(caption, HEADS, rows, text_columns=(0, 2))


def text_of(guesses: Guesses) -> str:
    """The same for a terminal."""
    parts = []
    for question in guesses.questions:
        bars = listed([f"{name}: {count}" for name, count in question.bars if count])
        parts.append(f"{question.text} {bars}")
    return "\n".join(parts)
