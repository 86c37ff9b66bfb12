"""Arrays by name and a tree of plain values, as one safetensors file that others can read too.

The arrays are the file's tensors. The tree (dicts, lists, tuples, texts, numbers, None, arrays) is
JSON in its metadata; an array in it becomes a tensor of its own, "minifp/" and where it stands,
unless one with the same content is there already. A checksum covers both. A file of somebody
else's, without a tree, is read as arrays alone. Codes of formats for which safetensors has no name,
such as "e5m7", are stored as unsigned integers; the metadata has the formats of these tensors.
"""

import hashlib
import json
import math

import numpy as np

from minifp.autograd.tape import Tensor
from minifp.derive.dtypes import name_of
from minifp.errors import ArgumentError, CheckpointError, MinifpError
from minifp.numerics.formats import as_dtype, is_float
from minifp.runtime import untrusted
from minifp.runtime.file_kinds import kind_of
from minifp.saving import files, safetensors_format

VERSION = 1  # of the tree; a larger one is refused
OWN = "minifp/"  # begins the names of tensors that belong to the tree
NATIVE = {
    **{"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2"},
    **{"I8": "i1", "U8": "u1", "U16": "<u2", "U32": "<u4", "U64": "<u8", "BOOL": "?"},
}
CODED = {"BF16": "e8m7", "F8_E4M3": "e4m3+nan=last", "F8_E5M2": "e5m2"}
DTYPES = {name: np.dtype(dtype) for name, dtype in NATIVE.items()}
DTYPES |= {name: as_dtype(format) for name, format in CODED.items()}
NAMES = {dtype: name for name, dtype in DTYPES.items()}
FORMATS = "minifp.formats"  # in the metadata: of codes in formats for which safetensors has no name


def write(path, arrays, tree):
    """Write named arrays and a tree into one file, aside first, and return its path.

    Raises ArgumentError, with nothing written, for a value that is not plain.
    """
    tensors = {name: np.array(a, order="C") for name, a in arrays.items()}
    for name, a in tensors.items():
        if name.startswith(OWN) or not is_saved(a.dtype):
            raise ArgumentError(f"cannot save a tensor named {name!r} of {name_of(a.dtype)}")
    try:
        text = json.dumps(_packed(tree, "", tensors, {}), allow_nan=False)
        metadata = {"format": "pt", "minifp.version": str(VERSION), "minifp.tree": text}
        metadata["minifp.sha256"] = _checksum(tensors, text)
        content = _content_of(tensors, metadata)
    except (MinifpError, MemoryError):
        raise
    except Exception as error:  # too deep, too long, or not UTF-8: safetensors has its own classes
        raise ArgumentError(f"cannot save {str(path)!r}: {type(error).__name__}: {error}") from None
    return files.write(path, content)


def is_saved(dtype):
    """Whether arrays of a dtype can be saved."""
    return dtype in NAMES or is_float(dtype)


def _content_of(tensors, metadata):
    """The file of these tensors. What the format has no name for, is integers there."""
    unnamed = {name: name_of(a.dtype) for name, a in tensors.items() if a.dtype not in NAMES}
    if unnamed:
        metadata |= {FORMATS: json.dumps(unnamed)}
    named = {name: a.view(a.dtype[0]) if name in unnamed else a for name, a in tensors.items()}
    kinds = {name: (NAMES[a.dtype], a) for name, a in named.items()}
    return safetensors_format.serialize(kinds, metadata)


def read(path):
    """(arrays, tree) of a file; tree is None for one that minifp did not write.

    Raises CheckpointError for a file that is missing, truncated, edited since, of a newer version
    or no safetensors file at all, saying which.
    """
    return parsed(content(path), path)


def content(path):
    """The bytes of a file. Raises CheckpointError where it cannot be read."""
    try:
        # not memory-mapped: Windows could not replace the file
        return untrusted.content(files.as_path(path), files.LARGEST)
    except (OSError, TypeError, ValueError) as error:
        said = getattr(error.__cause__, "strerror", None) or error
        raise CheckpointError(f"checkpoint {str(path)!r}: {said}") from None


def parsed(content, path):
    """What `read` returns, of a file with this content; `path` is what errors name."""
    try:
        return _read(content)
    except CheckpointError as error:
        raise CheckpointError(f"checkpoint {str(path)!r}: {error}") from None


def _read(content):
    try:
        arrays_of_file = safetensors_format.deserialize(content)
        metadata = safetensors_format.header_of(content).get("__metadata__", {})
        formats = json.loads(metadata.get(FORMATS, "{}"))
        tensors = {name: _array(name, entry, formats.get(name)) for name, entry in arrays_of_file}
        is_ours = "minifp.tree" in metadata
    except (CheckpointError, MemoryError):
        raise
    except Exception as error:  # safetensors has one class for all, and it differs by version
        if content and (kind := kind_of(content)):
            hint = ", which model.load_state_dict takes" * kind.endswith("dict(np.load(path))")
            raise CheckpointError(f"this is {kind}{hint}") from None
        reason = f"truncated, damaged, or no safetensors file ({len(content)} bytes)"
        raise CheckpointError(f"{reason}: {error}") from None
    if not is_ours:
        return tensors, None
    _check_version(metadata.get("minifp.version"))
    text = metadata["minifp.tree"]
    if metadata.get("minifp.sha256") != _checksum(tensors, text):
        raise CheckpointError("its content is not what was saved: the checksum differs")
    try:
        tree = _unpacked(json.loads(text), tensors)
    except (ArithmeticError, KeyError, TypeError, ValueError, RecursionError, MinifpError) as error:
        raise CheckpointError(f"its tree is damaged: {error!r}") from None
    return {name: a for name, a in tensors.items() if not name.startswith(OWN)}, tree


def _check_version(text):
    if not (isinstance(text, str) and text.isdecimal() and len(text) < 10 and int(text) >= 1):
        raise CheckpointError(f"format version {text!r}: expected a number")
    if int(text) > VERSION:
        raise CheckpointError(
            f"written by a newer minifp, in format version {text}; this one reads up to "
            f"{VERSION}: upgrade minifp"
        )


def _array(name, entry, format):
    data, shape = bytes(entry["data"]), tuple(entry["shape"])
    if entry["dtype"] not in DTYPES:
        kinds = " or ".join(DTYPES)
        raise CheckpointError(f"tensor {name!r} is of {entry['dtype']}: expected {kinds}")
    dtype = DTYPES[entry["dtype"]] if format is None else as_dtype(format)
    if dtype.kind == "V":
        return np.frombuffer(bytearray(data), dtype).reshape(shape)
    array = np.frombuffer(data, dtype).reshape(shape)
    return array.astype(array.dtype.newbyteorder("="))


def _checksum(tensors, text):
    digest = hashlib.sha256(text.encode())
    for name in sorted(tensors):
        a = tensors[name]
        kind = NAMES.get(a.dtype) or name_of(a.dtype)
        digest.update(json.dumps([name, kind, a.shape]).encode())
        little = a if a.dtype.kind == "V" else a.astype(a.dtype.newbyteorder("<"), copy=False)
        digest.update(little.tobytes())
    return digest.hexdigest()


# ---- trees ---------------------------------------------------------------------------------------
#
# What JSON does not have is a dict with one key that begins with "$".


def _packed(value, place, tensors, known):
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"$float": str(value)}
    if isinstance(value, (np.ndarray, Tensor)):
        kind = "$tensor" if isinstance(value, Tensor) else "$array"
        array = value.array if isinstance(value, Tensor) else value
        own = array.dtype if array.dtype.kind == "V" else array.dtype.newbyteorder("=")
        array = np.array(array, own, order="C")
        return {kind: _stored(array, place, tensors, known)}
    if isinstance(value, (list, tuple)):
        items = [_packed(v, f"{place}/{i}", tensors, known) for i, v in enumerate(value)]
        return items if isinstance(value, list) else {"$tuple": items}
    if isinstance(value, dict):
        pairs = [
            (
                _packed(k, place, tensors, known),
                _packed(v, f"{place}/{k}" if place else str(k), tensors, known),
            )
            for k, v in value.items()
        ]
        if all(isinstance(k, str) and not k.startswith("$") for k, _ in pairs):
            return dict(pairs)
        return {"$items": [list(pair) for pair in pairs]}
    raise ArgumentError(
        f"cannot save {place}, a {type(value).__name__}: expected numbers, texts, None, arrays or "
        "tensors, in lists, tuples and dicts"
    )


def _stored(array, place, tensors, known):
    """The name of the tensor that has this content."""
    if not is_saved(array.dtype):
        kind = name_of(array.dtype)
        raise ArgumentError(f"cannot save {place}, an array of {kind}: expected numbers")
    if not known:
        known.update({_content(a): name for name, a in tensors.items()})
    content = _content(array)
    if content not in known:
        name = OWN + place
        while name in tensors:  # as the places of {1: a, "1": b} are spelt alike
            name += "~"
        known[content], tensors[name] = name, array
    return known[content]


def _content(array):
    return name_of(array.dtype), array.shape, hashlib.sha256(array.tobytes()).digest()


def _unpacked(value, tensors):
    if isinstance(value, list):
        return [_unpacked(v, tensors) for v in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        ((kind, content),) = value.items()
        if kind == "$float":
            return float(content)
        if kind == "$tuple":
            return tuple(_unpacked(content, tensors))
        if kind == "$items":
            return {_unpacked(k, tensors): _unpacked(v, tensors) for k, v in content}
        if kind == "$array":
            return tensors[content].copy()
        if kind == "$tensor":
            return Tensor(tensors[content].copy())
    return {k: _unpacked(v, tensors) for k, v in value.items()}
