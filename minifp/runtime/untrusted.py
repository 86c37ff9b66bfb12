"""What is read of files that a stranger may have sent: bounded, and nothing but what is expected.

A file is an ordinary one (no pipe, which would be waited for, and no device) of at most so many
bytes. JSON has no key twice, no number that 64 bits cannot hold, and is not nested without end. An
archive of arrays says how large it is before any of it is unpacked, and arrays are plain numbers.
Each function raises DataError, which names the file, and the place where there is one.
"""

import io
import json
import math
import os
import re
import stat
import zipfile
from importlib import import_module
from pathlib import Path
from textwrap import shorten
from typing import Any

import numpy as np

from minifp.errors import DataError, MinifpError
from minifp.runtime.browser import IN_BROWSER

BOX = (dict, list)
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")  # all but line breaks and tabs
LARGEST = 2**28  # bytes of a file that is read whole, and of all arrays in one
HOW_TO_GET = "python -m pip install jsonschema"
DEEPEST = 100  # levels of JSON
MOST = 10_000  # arrays of a file
WIDEST = 2**64  # what integers are smaller than


def content(path: Path, at_most: int = LARGEST) -> bytes:
    """All bytes of an ordinary file."""
    try:
        with open(path, "rb", opener=without_waiting) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise DataError(f"{path} is no ordinary file: expected one that can be read whole")
            data = file.read(status.st_size + 1) if status.st_size <= at_most else b""
    except (OSError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"cannot read {path}: {error}") from error
    if max(len(data), status.st_size) > at_most:
        raise DataError(f"{path} has {status.st_size:,} bytes: expected at most {at_most:,}")
    return data


def check_ordinary(path: Path) -> None:
    """Raise DataError for a pipe, which would be waited for, a device, or no file."""
    try:
        is_ordinary = stat.S_ISREG(os.stat(path).st_mode)
    except OSError as error:
        raise DataError(f"cannot read {path}: {error}") from error
    if not is_ordinary:
        raise DataError(f"{path} is no ordinary file: expected one that can be read whole")


def without_waiting(path, flags) -> int:
    """Open a file; a pipe too, at once, whether somebody writes to it or not."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


# ---- JSON ----------------------------------------------------------------------------------------


def json_of(path: Path, at_most: int = LARGEST) -> Any:
    """The value that a file holds as JSON."""
    return parsed(content(path, at_most), path)


def parsed(text: str | bytes, path: Any, finite: bool = True) -> Any:
    """The value that a text says in JSON; `path` is what errors name. finite: whether NaN and
    Infinity, which JSON has not, are refused."""
    try:
        value = json.loads(
            text.decode("utf-8") if isinstance(text, bytes) else text,
            object_pairs_hook=once,
            parse_constant=no_number if finite else float,
            parse_int=whole,
            parse_float=real,
        )
        check_parts(value)
        if isinstance(text, bytes) and b"\\u" in text:  # which may be half of a character
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except RecursionError:
        raise DataError(f"{path}: its JSON is nested more than {DEEPEST} levels deep") from None
    except ValueError as error:
        raise DataError(f"cannot read {path} as JSON: {error}") from error
    return value


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object of these members. Raises ValueError for a name that is there twice."""
    members: dict[str, Any] = {}
    for name, value in pairs if len(dict(pairs)) < len(pairs) else ():
        if name in members:
            raise ValueError(f"an object has {name[:60]!r} twice")
        members[name] = value
    return dict(pairs)


def no_number(text: str) -> float:
    """Refuse what stands in the place of a number."""
    raise ValueError(f"{text} is no number of JSON")


def whole(text: str) -> int:
    """The integer that a text says."""
    if len(text) > 20 or abs(int(text)) >= WIDEST:
        raise ValueError(f"{text[:20]}... is an integer of more than 64 bits")
    return int(text)


def real(text: str) -> float:
    """The number that a text says."""
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:20]} is a number that no float holds")
    return number


def check_parts(value: Any) -> None:
    """Raise RecursionError for containers in containers, and so on, beyond DEEPEST; and ValueError
    for a text with characters that would command a terminal."""
    level, depth = [value], 0
    while level:
        if (depth := depth + 1) > DEEPEST:
            raise RecursionError
        boxes = [v for v in level if isinstance(v, BOX)]
        for text in (t for box in (level, *boxes) for t in box if isinstance(t, str)):
            if CONTROL.search(text):
                raise ValueError(f"a control character in {shorten(repr(text), 60)}")
        inside = (box.values() if isinstance(box, dict) else box for box in boxes)
        level = [part for parts in inside for part in parts if isinstance(part, (*BOX, str))]


def not_as(schema: dict, value: Any) -> str:
    """Where a value is not as a JSON schema says, and how, to go on a sentence; "" where it is.

    1.0 is no integer there: it would be written as 1.0 again.
    """
    if IN_BROWSER:  # where jsonschema is not, and nothing of the machine to protect
        return ""
    try:
        jsonschema = import_module("jsonschema")
    except ImportError as error:
        raise MinifpError(f"what is read is checked by jsonschema: {HOW_TO_GET}") from error
    kind = jsonschema.Draft202012Validator
    types = kind.TYPE_CHECKER.redefine("integer", lambda _, v: type(v) is int)
    strict = jsonschema.validators.extend(kind, type_checker=types)
    error = jsonschema.exceptions.best_match(strict(schema).iter_errors(value))
    if error is None:
        return ""
    place = shorten(error.json_path.removeprefix("$").removeprefix("."), 80)
    instead = f"{shorten(repr(error.instance), 60)}, where " if error.validator == "const" else ""
    return f"{f', in {place}' if place else ''}: {instead}{shorten(error.message, 160)}"


# ---- arrays --------------------------------------------------------------------------------------


def arrays_of(data: bytes, path: Any, at_most: int = LARGEST) -> dict[str, np.ndarray]:
    """The arrays by name that a .npz file with this content holds."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as held:
            infos = held.infolist()
            names = [info.filename.removesuffix(".npy") for info in infos]
            if len({*names}) < len(names):
                raise ValueError("an array is there twice")
            if len(infos) > MOST or sum(info.file_size for info in infos) > at_most:
                raise ValueError(f"more than {MOST:,} arrays, or {at_most:,} bytes unpacked")
            return {name: array_of(held.read(info), path) for name, info in zip(names, infos)}
    except MemoryError:
        raise
    except Exception as error:  # zipfile, zlib and NumPy have one for each way to be damaged
        if isinstance(error, DataError):
            raise
        raise DataError(f"cannot read {path} as arrays: {error}") from error


def array_of(data: bytes, path: Any) -> np.ndarray:
    """The array that a .npy file with this content holds, which is as long as it says."""
    file = io.BytesIO(data)
    try:
        shape, _, dtype = HEADERS[np.lib.format.read_magic(file)](file)
        size = len(data) - file.tell()
        if dtype.kind not in "biufc" or math.prod(shape) * dtype.itemsize != size:
            raise ValueError(f"{dtype} of shape {shape} in {size:,} bytes")
        return np.load(io.BytesIO(data), allow_pickle=False)
    except MemoryError:
        raise
    except Exception as error:
        raise DataError(f"cannot read {path} as an array: {error}") from error


HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
