"""The programs of the playground: web/playground/programs/NUMBER_NAME.py, in the order of their
numbers.

Each is a Python file of two or three parts: a docstring, whose first line is its title and whose
rest says what is asked; after "# %% program" what the editor shows; and in a challenge, after
"# %% check", check(run) and SHOWS, the sentence for those who have passed. What a check gets is in
web/playground/challenge.py.
"""

import ast
import re
from pathlib import Path

from website.pyodide import ROOT

FOLDER = ROOT / "web" / "playground" / "programs"
INDEX = "programs.json"  # of the site's playground
NAME = re.compile(r"\d+_(\w+)\.py")
PART = re.compile(r"^# %% (program|check)\n+", re.M)


def read(path: Path) -> dict[str, str]:
    """A program's name, title, question, program and check (""  for an example)."""
    first, *rest = PART.split(path.read_text(encoding="utf-8"))
    title, _, question = (ast.get_docstring(ast.parse(first)) or "").partition("\n\n")
    parts = {"program": "", "check": "", **dict(zip(rest[::2], rest[1::2]))}
    name = NAME.fullmatch(path.name)
    if not (name and title and question and parts["program"]):
        raise ValueError(
            f"{path}: expected NUMBER_NAME.py with a docstring of a title and a question, and a "
            "part after '# %% program'"
        )
    parts = {kind: text.strip() + "\n" if text else "" for kind, text in parts.items()}
    return {"name": name[1], "title": title, "question": " ".join(question.split()), **parts}


def all_programs() -> list[dict[str, str]]:
    """All of them, in order."""
    return [read(path) for path in sorted(FOLDER.glob("*.py"))]
