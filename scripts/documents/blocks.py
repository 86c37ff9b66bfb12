"""The documents, and the blocks and commands in them.

A block that needs what is not there stands after a line that says so, which no reader sees:

    <!-- not walked: needs a GPU -->
    <!-- not walked, `make test`: other parts run all tests -->

The second is of one command in the block.
"""

import re
import shlex
import textwrap
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
SHELLS = ("sh", "powershell")
BLOCK = re.compile(
    r"(?:^ *<!-- not walked(?:, `(?P<of>[^`]+)`)?: (?P<why>.+?) -->\n+)?"
    r"^ *```(?P<language>\w+)\n(?P<text>.*?)^ *```$"
    r"|`(?P<activates>\. [\w./]+)`",  # in a sentence: ". .venv/bin/activate"
    re.M | re.S,
)
QUOTED = re.compile(r"`([^`\n]+)`")
COMMAND = re.compile(r"(?:[A-Z]+=\S+ )*(?:minifp|make|python|pip|sh) ")
FILE = re.compile(r"# ([\w/]+\.\w+)\n")  # the first line of a block that is a file
PLACEHOLDER = re.compile(r"\b[A-Z]{3,}\b(?!=)|\$")  # FILE, NAME


class Block(NamedTuple):
    """A block: where it begins, in which language it is, and why it, or one command, is not run."""

    document: str
    line: int  # of the block's first line
    language: str
    text: str
    why: str = ""
    of: str = ""

    @property
    def file(self) -> str | None:
        """The name of the file that this block is, or None."""
        name = FILE.match(self.text)
        return name[1] if name else None

    @property
    def commands(self) -> list[str]:
        """The commands of a shell's block, without remarks. Lines that are indented belong to the
        one before, and so does the end of a loop."""
        if self.language not in SHELLS:
            return []
        commands = re.split(r"\n(?! |done)", self.text.strip())
        return [re.sub(r"\s+# .*", "", command) for command in commands]


def documents() -> list[str]:
    """All documents that are walked, the README first, with / between folders."""
    docs = sorted((ROOT / "docs").rglob("*.md"))
    return [path.relative_to(ROOT).as_posix()
            for path in (ROOT / "README.md", *docs, ROOT / "web" / "README.md")]  # fmt: skip


def read(document: str) -> str:
    """The text of a document."""
    return (ROOT / document).read_text(encoding="utf-8")


def blocks(document: str) -> list[Block]:
    """The blocks of a document, in order; what activates an environment is one as well."""
    text, parts = read(document), []
    for part in BLOCK.finditer(text):
        body = "activates" if part["activates"] else "text"
        line = text.count("\n", 0, part.start(body)) + 1
        parts.append(Block(document, line, part["language"] or "sh", textwrap.dedent(part[body]),
                           part["why"] or "", part["of"] or ""))  # fmt: skip
    return parts


def sentences(document: str) -> str:
    """A document without its blocks."""
    return re.sub(r"^ *```.*?^ *```$", "", read(document), flags=re.M | re.S)


def commands(document: str) -> list[tuple[list[str], bool]]:
    """The words of all commands of a document but those with placeholders, and whether they are
    whole: a sentence may name a command without its arguments."""
    whole = [line for block in blocks(document) for line in block.commands]
    named = filter(COMMAND.match, QUOTED.findall(sentences(document)))
    lines = [(line, True) for line in whole] + [(line, False) for line in named]
    return [(shlex.split(line.replace("\\", "/")), is_whole) for line, is_whole in lines
            if not PLACEHOLDER.search(line)]  # fmt: skip
