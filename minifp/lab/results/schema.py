"""The published schema of results, against which all that is read of a folder is held first.

What follows from the runs (rows, scores, ...) is computed anew and not read. Fields of tasks, runs
and origins that have a default may be missing: earlier versions did not write them all.
"""

import json
from copy import deepcopy
from functools import cache
from importlib.resources import files as resources
from pathlib import Path
from typing import Any

from minifp.errors import DataError
from minifp.runtime import untrusted

FILE = "results.schema.json"
READ = ("schema", "task", "asked", "origin", "dial", "precisions", "seeds", "config")
READ += ("environment", "runs", "registered")  # of results.json
DEFAULTED = ("task", "run")
EDITED = ": the file was edited, or is not minifp's; do not use what came with it"
RESULTS, REGISTERED, RUN_FILE = "results", "registered", "run file"


@cache
def published() -> dict:
    """The JSON schema (draft 2020-12) that results.json follows."""
    return json.loads(resources(__package__).joinpath(FILE).read_text(encoding="utf-8"))


def check(value: Any, kind: str, path: Path) -> None:
    """Raise DataError, naming the place, for what is not as the schema says.

    kind: RESULTS, REGISTERED (of registered.json) or RUN_FILE, whose history is not looked at.
    """
    if kind == RUN_FILE and isinstance(value, dict) and isinstance(value.get("run"), dict):
        own = {k: v for k, v in value["run"].items() if k != "history"}
        value = {**value, "run": own}
    wrong = untrusted.not_as(of_reading()[kind], value)
    if wrong:
        raise DataError(f"{path} holds no comparison of this version of minifp{wrong}{EDITED}")


@cache
def of_reading() -> dict[str, dict]:
    """What is expected of each kind of file."""
    whole = deepcopy(published())
    parts, definitions = whole["properties"], whole["$defs"]
    for part in (*(definitions[name] for name in DEFAULTED), parts["origin"]):
        del part["required"]
    for name in ("snapshots", "weights"):  # which a run's own file has, empty
        definitions["run"]["properties"][name] = {"type": "object", "maxProperties": 0}
    run_file = {"config": {"type": "object"}, "run": {"$ref": "#/$defs/run"}}
    own = {RESULTS: {name: parts[name] for name in READ}, RUN_FILE: run_file}
    objects = {
        kind: {"type": "object", "properties": p, "required": [*p], "$defs": definitions}
        for kind, p in own.items()
    }
    return {**objects, REGISTERED: {**parts["registered"], "$defs": definitions}}
