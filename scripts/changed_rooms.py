"""Print the tests that a change asks for: of the rooms from the lowest that it touches upward.

    python scripts/changed_rooms.py                 # since the branch left its upstream, or HEAD~1
    python scripts/changed_rooms.py --since v1.2.0  # since a commit

Rooms, and which may import which, are those of tests/project/test_layout.py. Of tests that changed
their folder is run, of what tests import the folders that do. Changes that are not committed count.
`make changed` runs these tests.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TESTS = ROOT / "tests"
sys.path.insert(0, str(TESTS / "project"))
from test_layout import ROOMS, below, room  # noqa: E402

LAYOUT = "tests/project/test_layout.py"  # takes two seconds, and reads all sources
ALL = {"conftest", "sampling"}  # what every test depends on
UP_TO = {"cuda": "training"}  # a folder of no room: the highest room that it is about
BESIDE = ("models", "exhibits")  # rooms beside minifp/
IMPORT = re.compile(r"^(?:from|import) (\w+)", re.MULTILINE)


def git(*words: str) -> list[str]:
    """The lines that git answers; none where it knows no answer."""
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.splitlines() if done.returncode == 0 else []


def base() -> str:
    """Where the branch left its upstream; HEAD~1 where that is unknown, or nothing is new."""
    left = git("merge-base", "@{upstream}", "HEAD")
    is_news = left != git("rev-parse", "HEAD") or git("status", "--porcelain")
    return left[0] if left and is_news else "HEAD~1"


def files_since(commit: str) -> list[str]:
    """The files that differ from a commit, and those that git does not know yet."""
    return git("diff", "--name-only", commit) + git("ls-files", "--others", "--exclude-standard")


def tests_of(files: list[str]) -> list[str]:
    """What pytest is to run after a change of these files."""
    places = [Path(file.replace("/__init__.py", ".py")).with_suffix("").parts for file in files]
    rooms = {room(".".join(parts)) for parts in places if parts[0] == "minifp"}
    rooms |= {parts[0] for parts in places if parts[0] in BESIDE}
    above = {name for name in ROOMS if rooms & {name, *below(name)}}
    changed = importers({parts[1] for parts in places if parts[0] == "tests"})
    if ALL & changed:
        above |= {*ROOMS, "project"}
    if "minifp" in rooms or {parts[0] for parts in places} - {"minifp", *BESIDE, "tests"}:
        above.add("project")
    # Beside them the folder of a file itself: commands are of the shell's room, wherever they are.
    above |= changed | {parts[1] for parts in places if parts[0] == "minifp" and len(parts) > 1}
    folders = sorted({path.parent.name for path in TESTS.glob("*/test_*.py")})
    return [LAYOUT, *(f"tests/{f}" for f in folders if f in above or UP_TO.get(f) in above)]


def importers(names: set[str]) -> set[str]:
    """Files and folders directly in tests/, with those that import one of them, and so on."""
    paths = [(p.relative_to(TESTS).with_suffix("").parts[0], p) for p in TESTS.rglob("*.py")]
    imports = [(name, {*IMPORT.findall(p.read_text(encoding="utf-8"))}) for name, p in paths]
    more = names | {name for name, targets in imports if targets & names}
    return names if more == names else importers(more)


def main() -> None:
    """The command line."""
    kind = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=kind)
    parser.add_argument("--since", metavar="COMMIT", help="what changed since that")
    print(*tests_of(files_since(parser.parse_args().since or base())))


if __name__ == "__main__":
    main()
