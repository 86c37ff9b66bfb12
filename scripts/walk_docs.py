"""Do what the documents say, as somebody does who has a checkout and little else.

    python scripts/walk_docs.py                            # all: the part `walk` of `make nightly`
    python scripts/walk_docs.py README.md docs/guide.md    # of the others the record stays

Every block of README.md, docs/ and web/README.md that a shell or Python can run is run in a clean
clone of the commit, with an empty HOME, a PATH with python3 and make (and the shell, coreutils,
grep and sed that make needs), and nothing activated but by what the documents say. Python of one
document runs in one interpreter, with warnings as errors. A block that is a file (its first line
is "# NAME.py") is written. What needs a GPU, Windows or the like says so in the document, in
a remark that readers do not see: see documents/blocks.py.

tests/walk.csv is the record: block, command, seconds, outcome. A command that still runs after
--limit seconds without having failed is ended, and that is its outcome: servers and long trainings.
What installs (make, pip, venv, warmup) has 15 minutes.
Ends with 1 where a command has failed.
"""

import argparse
import contextlib
import csv
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from documents.blocks import ROOT, Block, blocks, documents
from documents.machine import Machine, Outcome

RECORD = ROOT / "tests" / "walk.csv"
COLUMNS = ("block", "command", "seconds", "outcome")
OTHERS = {"powershell": "needs Windows"}  # languages that are not run here
# What a document begins with: the environment that the README's `make demo` makes, activated. Or a
# clone of its own, with nothing in it, or with an environment of its own.
USUAL = ("make .venv/installed-plot", ". .venv/bin/activate")
IN_A_CLONE_OF_ITS_OWN = {
    "README.md": (),
    "docs/guide.md": (),  # which tells how to install without make
    "docs/teaching/room.md": ("python3 -m venv seat", ". seat/bin/activate"),
}


def walk(document: str, machine: Machine) -> Iterator[tuple[str, str, Outcome]]:
    """The place, the command and the outcome of each step of a document."""
    for block in blocks(document):
        for command, outcome in steps(block, machine):
            yield f"{document}:{block.line}", command, outcome


def steps(block: Block, machine: Machine) -> Iterator[tuple[str, Outcome]]:
    """The commands of a block, or its first line, each with its outcome."""
    first = block.text.strip().partition("\n")[0]
    why = OTHERS.get(block.language, "" if block.of else block.why)
    if why:
        yield first, Outcome(0, f"not run: {why}")
    elif block.file:
        (machine.clone / block.file).write_text(block.text, encoding="utf-8")
        yield first, Outcome(0, "written")
    elif block.language == "python":
        yield first, machine.python(block)
    else:
        for command in block.commands:
            is_left_out = block.of and command.startswith(block.of)
            not_run = Outcome(0, f"not run: {block.why}")
            yield command, not_run if is_left_out else machine.shell(command)


def recorded() -> list[dict[str, str]]:
    """The rows of the record."""
    if not RECORD.exists():
        return []
    with RECORD.open(encoding="utf-8", newline="") as file:
        return [*csv.DictReader(file)]


def record(document: str, rows: list[dict[str, str]]) -> None:
    """Write the rows of one document, and keep those of the others."""
    names = documents()
    others = [row for row in recorded() if row["block"].rpartition(":")[0] in {*names} - {document}]
    rows = sorted([*others, *rows], key=lambda row: names.index(row["block"].rpartition(":")[0]))
    with RECORD.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def walk_and_record(document: str, machine: Machine) -> bool:
    """Walk a document, print and record what came out; whether nothing failed."""
    rows = []
    for place, command, outcome in walk(document, machine):
        told = (place, command, f"{outcome.seconds:.1f}", outcome.text)
        rows.append(dict(zip(COLUMNS, told, strict=True)))
        print(*told, sep="  ", flush=True)
        if outcome.text.startswith("failed"):
            print(outcome.printed, flush=True)
    record(document, rows)
    return not any(row["outcome"].startswith("failed") for row in rows)


def order(document: str) -> bool:
    """The README, documents in the clone that it has left, and those that have another."""
    return document != "README.md" and document in IN_A_CLONE_OF_ITS_OWN


def main() -> None:
    """The command line."""
    kind = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=kind)
    parser.add_argument(
        "documents", nargs="*", metavar="DOCUMENT", help="such as docs/guide.md (all)"
    )
    parser.add_argument("--limit", type=float, default=60, metavar="SECONDS",
                        help="of a command that installs nothing (60)")  # fmt: skip
    told = parser.parse_args()
    if unknown := {*told.documents} - {*documents()}:
        parser.error(f"{', '.join(unknown)}: no document; there are {', '.join(documents())}")
    names, passed = told.documents or documents(), True
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what was started ends as well
    with (
        tempfile.TemporaryDirectory(prefix="walk-") as folder,
        contextlib.closing(Machine(Path(folder), told.limit)) as machine,
    ):
        for name in sorted(names, key=order):
            if name in IN_A_CLONE_OF_ITS_OWN:
                machine.fresh_clone()
            machine.begin(*IN_A_CLONE_OF_ITS_OWN.get(name, USUAL))
            passed = walk_and_record(name, machine) and passed
    sys.exit(not passed)


if __name__ == "__main__":
    main()
