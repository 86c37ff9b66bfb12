"""Words of the glossary in what students read: links where Markdown is shown, else the words alone.

Hints and explanations write [gap](glossary.md#gap).
"""

import re
from pathlib import Path

from minifp.teach import lessons

NAME = "glossary.md"
IN_CHECKOUT = "../docs/teaching/glossary.md"  # as notebooks link to it
LINK = re.compile(r"\[([^\]]+)\]\(glossary\.md(#[\w-]+)\)")


def path() -> Path:
    """The glossary: beside the notebooks of an installed minifp, else in docs/."""
    beside = lessons.NOTEBOOKS / NAME
    return beside if beside.is_file() else lessons.NOTEBOOKS / IN_CHECKOUT


def linked(text: str) -> str:
    """Markdown whose links lead to the glossary beside the running notebook, or a checkout's."""
    place = NAME if Path(NAME).is_file() else IN_CHECKOUT
    return LINK.sub(rf"[\1]({place}\2)", text)


def plain(text: str) -> str:
    """The text without its links."""
    return LINK.sub(r"\1", text)
