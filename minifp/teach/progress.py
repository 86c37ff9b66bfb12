"""What a student has predicted and solved: one JSON file on this machine, sent nowhere.

It lies in the user's folder for data, or where MINIFP_TEACH_FILE says. Where answers are shown
(MINIFP_TEACH=show), nothing is kept.
"""

import json
from pathlib import Path
from typing import Any

import platformdirs

from minifp.errors import FileError
from minifp.runtime import variables
from minifp.saving import files
from minifp.teach import mode

ENVIRONMENT = "MINIFP_TEACH_FILE"
KINDS = ("predictions", "exercises")


def place() -> Path:
    """The file. Raises ArgumentError where a folder is named."""
    named = variables.read(ENVIRONMENT)
    return Path(named) if named else Path(platformdirs.user_data_dir("minifp")) / "progress.json"


def read() -> dict[str, dict[str, Any]]:
    """What is kept, by kind and name; both kinds are there. Raises FileError for another file."""
    path = place()
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        return {kind: dict(kept[kind]) for kind in KINDS}
    except FileNotFoundError:
        return {kind: {} for kind in KINDS}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise FileError(
            f"{path} is not a file of a student's progress ({error}): move it away, or name "
            f"another by {ENVIRONMENT}"
        ) from None


def forget() -> None:
    """Delete the file. Raises FileError where what lies there is no file of a student's progress,
    which stays."""
    read()
    files.remove(place())


def keep(kind: str, name: str, value: Any) -> None:
    """Keep one thing; in the mode in which answers are shown, nothing."""
    if mode.shows_answers():
        return
    kept = read()
    kept[kind][name] = value
    files.write(place(), json.dumps(kept, indent=1, ensure_ascii=False) + "\n")
