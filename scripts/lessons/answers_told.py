"""Which answers a lesson tells before there is a guess: in the source of a cell, or its outputs."""

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import nbformat

# Before and behind a student's cells: which answers there are to be found.
WRITES_DOWN = """from minifp.teach import withheld
class Written(withheld.Explanation):
    all = []
    def __init__(self, prediction, answer, text):
        super().__init__(prediction, answer, text)
        self.all.append((prediction.question, prediction.of, answer))
withheld.Explanation = Written"""
TELLS = "import json\nprint(json.dumps(Written.all, default=float))"
NUMBER = re.compile(
    r"""(?<![\w.^])-? (?:\d{1,3}(?:,\d{3})+ | \d+) (?:\.\d+)? (?:e[-+]?\d+)?
    (?:(?:\*\*|\^) \{?-?\d+)? (?:\ ?% | \ percent)?""",
    re.I | re.X,
)
GLOSSARY = Path(__file__).parents[2] / "docs" / "teaching" / "glossary.md"
COMMON = {"need", "what", "whic", "when", "with", "will", "does", "than", "from", "that", "this"}
SENTENCE = re.compile(r"(?<=[.?!])\s|\n")


class Answer(NamedTuple):
    """of: the texts to choose from, if any. answer: one of them, or a number."""

    question: str
    of: Sequence[str]
    answer: Any

    def is_in(self, text: str) -> bool:
        """Whether a text has it: of several to choose from this one and no other; a number in
        digits, as a share or as a power, to three of its figures, or as a percentage to two."""
        text = text.replace(self.question, "")
        if not self.of:
            return any(is_written(self.answer, number) for number in {*NUMBER.findall(text)})
        return {one for one in self.of if re.search(as_word(one), text)} == {self.answer}

    def places(self, cells: list) -> Iterator[str]:
        """The texts where it is looked for. Terms to choose from are told by the prose around the
        question, so there by a sentence about what is asked; single digits by every source."""
        asked = next(i for i, cell in enumerate(cells) if self.question in cell.source)
        prose = [cell.source for cell in cells[:asked] if cell.cell_type == "markdown"]
        if not self.of:
            yield from SENTENCE.split(GLOSSARY.read_text(encoding="utf-8"))
        elif not self.answer.isdecimal():
            yield from filter(self.is_about, SENTENCE.split("\n".join(prose)))
        for cell in cells[asked:] if self.of else cells:
            if not self.of or cell.cell_type == "code":
                if not (self.of and self.answer.isdecimal()):
                    yield cell.source
                for output in cell.get("outputs", ()):
                    yield output.get("text", "")
                    data = output.get("data", {})
                    yield from (str(said) for kind, said in data.items() if "image" not in kind)

    def is_about(self, sentence: str) -> bool:
        """Whether a sentence has a word of the question, by its first four letters."""
        asked = {*re.findall(r"\b[a-z]{4}", self.question.lower())} - COMMON
        return bool(asked & {*re.findall(r"\b[a-z]{4}", sentence.lower())})


def as_word(term: str) -> str:
    """A pattern of a term that stands by itself, also where it begins a sentence."""
    return rf"(?<![\w.])(?i:{re.escape(term[:1])}){re.escape(term[1:])}(?![\w.])"


def is_written(answer: float, number: str) -> bool:
    """Whether a number as a text has it is the answer, or a hundredth of it."""
    percent = number.endswith(("%", "percent"))
    digits = re.sub(r"percent|[^-\d.e^]", "", number.lower().replace("**", "^"))
    base, _, power = digits.partition("^")
    figures = len(re.sub(r"e.*|\D", "", base).lstrip("0")) if not power else 17
    value = float(base) ** float(power or 1)
    same = (float(f"{one:.{max(figures, 1)}g}") for one in (answer, answer / 100))
    return figures >= 3 - percent and value in same


def answers_told(notebook: nbformat.NotebookNode) -> list[tuple[str, Any, str]]:
    """Run a student's notebook with no guess made. Returns each question whose answer is told, with
    the answer and the text; raises ValueError where it has predictions that nothing explains."""
    from nbclient import NotebookClient

    cells = notebook.cells
    before, behind = map(nbformat.v4.new_code_cell, (WRITES_DOWN, TELLS))
    whole = nbformat.from_dict({**notebook, "cells": [before, *cells, behind]})
    NotebookClient(whole, timeout=600, kernel_name="python3").execute()
    *ran, last = whole.cells[1:]
    answers = [Answer(*one) for one in json.loads(last.outputs[0].text)]
    asked = sum(cell.source.count("teach.predict(") for cell in cells)
    if len(answers) != asked:
        raise ValueError(f"{asked} predictions, {len(answers)} answers")
    return [(a.question, a.answer, t) for a in answers for t in a.places(ran) if a.is_in(t)]
