"""What a student has predicted and solved: one JSON file on this machine, sent nowhere.

It lies in the user's folder for data, or where MINIFP_TEACH_FILE says. Where answers are shown
(MINIFP_TEACH=show), nothing is kept.
"""

import json
import os
from pathlib import Path
from typing import Any

import platformdirs

from minifp.errors import FileError
from minifp.runtime import locks
from minifp.saving import files
from minifp.teach import mode

ENVIRONMENT = "MINIFP_TEACH_FILE"
PATIENCE = 20.0  # seconds that a notebook waits for another one, which may have been stopped
KINDS = ("predictions", "exercises")


def place() -> Path:
    """The file."""
    named = os.environ.get(ENVIRONMENT)
    return Path(named) if named else Path(platformdirs.user_data_dir("minifp")) / "progress.json"


def read() -> dict[str, dict[str, Any]]:
    """What is kept, by kind and name; both kinds are there. Raises FileError for another file."""
    path = place()
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        return {kind: dict(kept[kind]) for kind in KINDS}
    except FileNotFoundError:
        return {kind: {} for kind in KINDS}
    except (ValueError, KeyError, TypeError) as error:
        raise FileError(
            f"{path} is not a file of a student's progress ({error}): move it away, or name "
            f"another by {ENVIRONMENT}"
        ) from None


def forget() -> None:
    """Delete the file. Raises FileError where what lies there is no file of a student's progress,
    which stays."""
    with _alone():
        read()
        files.remove(place())


def keep(kind: str, name: str, value: Any) -> None:
    """Keep one thing; in the mode in which answers are shown, nothing."""
    if mode.shows_answers():
        return
    with _alone():
        kept = read()
        kept[kind][name] = value
        files.write(place(), json.dumps(kept, indent=1, ensure_ascii=False) + "\n")


def _alone():
    """Be the only notebook that reads the file and writes it."""
    path = files.as_path(os.path.realpath(place()))
    others = f"another program has {path}"
    return locks.alone(path.with_name(f"{path.name}.lock"), others, PATIENCE)
