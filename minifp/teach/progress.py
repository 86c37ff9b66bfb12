"""What a student has predicted and solved: one JSON file on this machine, sent nowhere.

"predictions" has the first guess at each question, which stays. "later" has what came after it,
None where the answer was looked at without a guess; older files have none of these. The file lies
in the user's folder for data, or where MINIFP_TEACH_FILE says. Where answers are shown
(MINIFP_TEACH=show), nothing is kept.
"""

import json
import os
from pathlib import Path
from typing import Any

import platformdirs

from minifp.errors import FileError
from minifp.runtime import locks, untrusted, variables
from minifp.saving import files
from minifp.teach import mode

ENVIRONMENT = "MINIFP_TEACH_FILE"
PATIENCE = 20.0  # seconds that a notebook waits for another one, which may have been stopped
KINDS = ("predictions", "exercises")
LATER = "later"


def place() -> Path:
    """The file. Raises ArgumentError where a folder is named."""
    named = variables.read(ENVIRONMENT)
    return Path(named) if named else Path(platformdirs.user_data_dir("minifp")) / "progress.json"


def read() -> dict[str, dict[str, Any]]:
    """What is kept, by kind and name; all kinds are there. Raises FileError for another file."""
    path = place()
    try:
        if not path.exists():
            return {kind: {} for kind in (*KINDS, LATER)}
        content = untrusted.json_of(path)
        progress = {kind: dict(content[kind]) for kind in KINDS}
        progress[LATER] = dict(content.get(LATER, {}))
        check(progress)
        return progress
    except (AttributeError, OSError, ValueError, KeyError, TypeError) as error:
        raise FileError(
            f"{path} is not a file of a student's progress ({error}): move it away, or name "
            f"another by {ENVIRONMENT}"
        ) from None


def check(progress: dict[str, dict[str, Any]]) -> None:
    """Raise ValueError where a guess is no number and no text, or an exercise not as it is kept."""
    for key, guess in progress["predictions"].items():
        if type(guess) not in (int, float, str):
            raise ValueError(f"the guess at {key[:60]!r} is a {type(guess).__name__}")
    for key, later in progress[LATER].items():
        if any(type(guess) not in (int, float, str, type(None)) for guess in [*later]):
            raise ValueError(f"the later guesses at {key[:60]!r} are {str(later)[:60]}")
    for name, tries in progress["exercises"].items():
        solved, failed = tries.get("solved", False), tries.get("failed", 0)
        if type(solved) is not bool or type(failed) is not int:
            raise ValueError(f"of exercise {name[:60]!r}: solved={solved!r}, failed={failed!r}")


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
        progress = read()
        progress[kind][name] = value
        _write(progress)


def guesses(key: str) -> list:
    """What was guessed at a question, in order; None: the answer was looked at without a guess."""
    return _guesses_in(read(), key)


def keep_guess(key: str, guess: Any) -> list:
    """Keep a guess, or None where the answer is looked at without one, behind those that are there,
    also of other notebooks. Returns all of them."""
    with _alone():
        progress = read()
        if guess is None or _guesses_in(progress, key):
            progress[LATER].setdefault(key, []).append(guess)
        else:
            progress["predictions"][key] = guess
        _write(progress)
        return _guesses_in(progress, key)


def _guesses_in(progress, key) -> list:
    first = progress["predictions"]
    return [*([first[key]] if key in first else []), *progress[LATER].get(key, [])]


def _write(progress):
    files.write(place(), json.dumps(progress, indent=1, ensure_ascii=False) + "\n")


def _alone():
    """Be the only notebook that reads the file and writes it."""
    path = files.as_path(os.path.realpath(place()))
    others = f"another program has {path}"
    return locks.alone(path.with_name(f"{path.name}.lock"), others, PATIENCE)
