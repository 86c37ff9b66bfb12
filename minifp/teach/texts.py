"""The explanations and captions of a lesson: one Markdown file with named sections for each.

They are no part of the notebooks, where they would stand beside the questions that they answer.
"""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from minifp.errors import ArgumentError
from minifp.runtime.nearest import nearest
from minifp.teach import lessons

FOLDER = Path(__file__).with_name("explanations")
HEADING = re.compile(r"^## (\w+)\n", re.M)
CODE = re.compile(r"\s*```python\n(.*?)^```\n", re.M | re.S)
VALUE = re.compile(r"\{\{(?!\{)(.+?)\}\}")  # not the first brace of ^{{{n}}}, which is LaTeX's
ANSWER = "answer"  # what the code of a section calls what came out


class Section(NamedTuple):
    """code: of Python, "" if there is none. text: Markdown with {{values}}."""

    code: str
    text: str


class Told(NamedTuple):
    """A section with its values. answer: what came out, None in one that answers nothing."""

    answer: Any
    text: str


@cache
def sections(lesson: str) -> dict[str, Section]:
    """All sections of a lesson's file by name; none where the lesson has no file."""
    path = FOLDER / f"{lesson}.md"
    if not path.is_file():
        return {}
    parts = HEADING.split(path.read_text(encoding="utf-8"))[1:]
    return {name: parted(text) for name, text in zip(parts[::2], parts[1::2])}


def parted(text: str) -> Section:
    """A section's text without the code that it begins with, and that code."""
    code = CODE.match(text)
    return Section(code[1] if code else "", text[code.end() if code else 0 :].strip())


def section_text(name: str, names: Mapping[str, Any]) -> Told:
    """A section of the current lesson, with the values that a notebook's names have now.

    Raises ArgumentError where the lesson has no such section, and whatever its code raises:
    AssertionError where what its text says is not what came out.
    """
    here = sections(lessons.current_name())
    if name not in here:
        near = ", ".join(nearest(name, here)) or ", ".join(here) or "none"
        lesson = lessons.current_name()
        raise ArgumentError(f"the lesson {lesson!r} explains no {name!r}; near are: {near}")
    values = {**names}  # a copy: what the section computes is no name of the notebook
    values.pop(ANSWER, None)
    exec(compile(here[name].code, f"explanation of {name}", "exec"), values)
    text = VALUE.sub(lambda match: value(match[1], values), here[name].text)
    return Told(values.get(ANSWER), text)


def value(written: str, names: dict[str, Any]) -> str:
    """An expression with its format, as f-strings have them."""
    return eval(f"f'''{{{written}}}'''", names)
