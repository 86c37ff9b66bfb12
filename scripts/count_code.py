"""Count the lines of code of each room: without blank lines, comments and docstrings.

    python scripts/count_code.py               # each room, beside the most that it may have
    python scripts/count_code.py --files lab   # the files of a room, the longest first

Python, CUDA and JavaScript of minifp/, models/ and exhibits/ count. Rooms and their limits are
those of tests/project/test_layout.py. Takes ten seconds.
"""

import argparse
import ast
import re
import sys
import tokenize
from collections import Counter
from io import StringIO
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "project"))
from test_layout import MOST, MOST_SHOWING, ROOMS, SHOWING, SLACK, room, tree  # noqa: E402, F401
from test_layout import PARTICIPLES as PARTICIPLES_OF  # noqa: E402, F401

KINDS = {".py", ".cu", ".cuh", ".js"}
FOLDERS = ("minifp", "models", "exhibits")
PARTICIPLES = {*"found given kept made shown told wanted".split()}
LITERAL = r'"(?:\\.|[^"\\\n])*"|' r"'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`"
LITERAL_OR_COMMENT = re.compile(rf"({LITERAL})|//[^\n]*|/\*.*?\*/", re.DOTALL)
LAYOUT = {getattr(tokenize, n) for n in "COMMENT NL NEWLINE INDENT DEDENT ENDMARKER".split()}
DOCUMENTED = ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef


def code_lines(path: Path) -> int:
    """How many lines of a file have code."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        return len(python_lines(path, text))
    bare = LITERAL_OR_COMMENT.sub(lambda match: match[1] or "", text)
    return sum(bool(line.strip()) for line in bare.splitlines())


def python_lines(path: Path, text: str) -> set[int]:
    """The numbers of the lines that have code."""
    code, documents = set(), set()
    for token in tokenize.generate_tokens(StringIO(text).readline):
        if token.type not in LAYOUT:
            code.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(tree(path)):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            documents.update(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    blank = {n for n, line in enumerate(text.splitlines(), 1) if not line.strip()}
    return code - documents - blank


def participles() -> Counter[str]:
    """How many variables and parameters of each room have a participle for a name."""
    names: Counter[str] = Counter()
    for path, room_name in sources().items():
        for node in ast.walk(tree(path)) if path.suffix == ".py" else ():
            if isinstance(node, ast.arg):
                names[room_name] += node.arg in PARTICIPLES
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names[room_name] += node.id in PARTICIPLES
    return +names


def skips() -> int:
    """How often the formatter is told to leave lines as they are packed."""
    return sum(path.read_text(encoding="utf-8").count("# fmt: skip") for path in sources())


def sources() -> dict[Path, str]:
    """The room of each file that counts."""
    paths = (path for folder in FOLDERS for path in (ROOT / folder).rglob("*"))
    return {path: room_of(path) for path in sorted(paths) if path.suffix in KINDS}


def room_of(path: Path) -> str:
    """The room of a file; models/ and exhibits/ are each one by itself."""
    folder, *inner = path.relative_to(ROOT).with_suffix("").parts
    inner = [name for name in inner if name != "__init__"]
    return room(".".join([folder, *inner])) if folder == "minifp" else folder


def counts() -> Counter:
    """The lines of code of each room."""
    total: Counter = Counter()
    for path, name in sources().items():
        total[name] += code_lines(path)
    return total


def main() -> None:
    """The command line."""
    kind = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=kind)
    parser.add_argument("--files", metavar="ROOM", choices=ROOMS, help="the files of a room")
    if room_listed := parser.parse_args().files:
        files = [(code_lines(p), p) for p, name in sources().items() if name == room_listed]
        for count, path in sorted(files, reverse=True):
            print(f"{count:7,}  {path.relative_to(ROOT)}")
        return
    total = counts()
    for name in sorted(total, key=lambda name: -total[name]):
        print(f"{name:10} {total[name]:7,}  of {ROOMS[name][1]:,}")
    print(f"{'all':10} {sum(total.values()):7,}  of {MOST:,}")
    shown = sum(total[name] for name in SHOWING)
    print(f"{', '.join(SHOWING)} together: {shown:,} of {MOST_SHOWING:,}")


if __name__ == "__main__":
    main()
