"""The files that documents name, in links and in sentences."""

import re
from functools import cache
from pathlib import Path

from documents.blocks import QUOTED, ROOT, read, sentences

FOLDERS = ("docs", "minifp", "models", "notebooks", "scripts", "tests", "web")
LINK = re.compile(r"\]\(([^)]+)\)")
# A bare name with another ending may be one that a run writes: report.html.
PATH = re.compile(r"[\w.-]+\.(?:py|cu|md|js)|[\w./-]*/[\w./-]*\.\w+|[\w./-]+/")
WRITTEN = re.compile(r"(?:runs|jupyter|figures|wheels|site)/|.*\b[A-Z]{3,}\b")  # by a run, a build


@cache
def files() -> frozenset[str]:
    """All files and folders of the checkout, and of each the ends by which it may be called."""
    paths = [*ROOT.glob("*"), *(path for name in FOLDERS for path in (ROOT / name).rglob("*"))]
    parts = [path.relative_to(ROOT).parts for path in paths]
    return frozenset("/".join(names[i:]) for names in parts for i in range(len(names)))


def missing(document: str) -> list[str]:
    """The links and the files of a document that lead to nothing."""
    folder = (ROOT / document).parent
    links = [link for link in LINK.findall(read(document)) if ":" not in link]
    named = [word for word in QUOTED.findall(sentences(document)) if PATH.fullmatch(word)]
    return [link for link in links if not leads_on(folder, document, link)] + [
        word for word in named
        if word.strip("./") not in files() and not WRITTEN.match(word)
        and not (folder / word).exists()
    ]  # fmt: skip


def leads_on(folder: Path, document: str, link: str) -> bool:
    """Whether a link's file is there, and in a document the heading after #."""
    name, _, heading = link.partition("#")
    path = folder / name if name else ROOT / document
    if not heading or path.suffix != ".md":
        return path.exists()
    return path.exists() and heading in headings(path)


@cache
def headings(path: Path) -> set[str]:
    """What links call the headings of a document."""
    lines = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.M)
    words = (re.sub(r"\]\(.*?\)|[^\w\s-]", "", line.lower()) for line in lines)
    return {line.strip().replace(" ", "-") for line in words}
