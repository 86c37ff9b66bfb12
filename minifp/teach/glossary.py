"""Links of lessons to the glossary and to other documents, which lead on wherever a lesson is read.

Hints and explanations write [gap](glossary.md#gap); notebooks, as in a checkout, lead to
../docs/teaching/glossary.md#gap. Elsewhere (a copy, a browser) the glossary alone lies beside them.
"""

import re
from pathlib import Path

from minifp.runtime.browser import IN_BROWSER
from minifp.teach import lessons

NAME = "glossary.md"
NOTEBOOK = "glossary.ipynb"  # in JupyterLite, which shows a .md as its source
IN_CHECKOUT = "../docs/teaching/glossary.md"  # as notebooks link to it
LINK = re.compile(r"\[([^\[\]\n]+)\]\(glossary\.md(#[\w-]+)?\)")
OF_DOCS = re.compile(r"\[([^\[\]\n]+)\]\(\.\./(?:docs/)?([\w/-]+\.md)(?:#[\w-]+)?\)")


def path() -> Path:
    """The glossary: beside the notebooks of an installed minifp, else in docs/."""
    beside_them = lessons.NOTEBOOKS / NAME
    return beside_them if beside_them.is_file() else lessons.NOTEBOOKS / IN_CHECKOUT


def linked(text: str) -> str:
    """Markdown of a hint or an explanation, for the place where the notebook runs."""
    if IN_BROWSER or Path(NAME).is_file():
        return beside(text, NOTEBOOK if IN_BROWSER else NAME)
    return LINK.sub(rf"[\1]({IN_CHECKOUT}\2)", text)


def beside(text: str, name: str = NAME) -> str:
    """Markdown, or a notebook, for where the glossary lies beside it under that name: links lead
    there, and of other documents, which are in a checkout, the path is named."""
    named = OF_DOCS.sub(r"\1 (docs/\2)", text.replace(IN_CHECKOUT, NAME))
    once = re.sub(r"(docs/[\w/-]+\.md) \(\1\)", r"\1", named)  # where the words were the path
    return LINK.sub(rf"[\1]({name}\2)", once)


def plain(text: str) -> str:
    """The text without its links."""
    return LINK.sub(r"\1", text)
