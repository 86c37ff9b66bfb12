"""The safetensors format: the length of a header, the header, which is JSON, and the bytes.

    8 bytes, little-endian: n    n bytes: {"name": {"dtype", "shape", "data_offsets"}, ...}    data

Tensors lie one after the other without gaps, those of wide numbers first, so that all are aligned
(https://github.com/huggingface/safetensors#format). We write it ourselves, as the library writes
"__metadata__" in another order each time, and a file's bytes should tell whether a run was the
same. Files are read by the library, which checks all that a stranger may have put there; where it
is not installed, as in a browser, by `parse`, which checks the same.
"""

import json
import math
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np

METADATA = "__metadata__"
# The library's order of kinds, in which ties of width are broken too.
ORDER = ("BOOL", "U8", "I8", "F8_E5M2", "F8_E4M3", "I16", "U16", "F16", "BF16", "I32", "U32", "F32")
ORDER += ("F64", "I64", "U64")
SIZES = {name: {"64": 8, "32": 4, "16": 2}.get(name[-2:], 1) for name in ORDER}  # in bytes
LONGEST = 100_000_000  # bytes of a header, as in the library


def serialize(tensors: Mapping[str, tuple[str, np.ndarray]], metadata: Mapping[str, str]) -> bytes:
    """The file of named tensors: of each the name of its kind, of ORDER, and its numbers."""
    ordered = sorted(tensors, key=lambda name: (-ORDER.index(tensors[name][0]), name))
    header: dict[str, Any] = {METADATA: dict(metadata)}
    end, parts = 0, []
    for name in ordered:
        kind, a = tensors[name]
        if a.dtype.kind != "V":
            a = a.astype(a.dtype.newbyteorder("<"), copy=False)
        data = a.tobytes()
        header[name] = {"dtype": kind, "shape": a.shape, "data_offsets": [end, end + len(data)]}
        end += len(data)
        parts.append(data)
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    return b"".join([struct.pack("<Q", len(text)), text, *parts])


def deserialize(content: bytes) -> list[tuple[str, dict[str, Any]]]:
    """(name, {"dtype", "shape", "data"}) of each tensor. Raises as the library, or `parse`."""
    try:
        import safetensors
    except ModuleNotFoundError:
        return parse(content)
    return safetensors.deserialize(content)


def header_of(content: bytes) -> dict[str, Any]:
    """The header, with its metadata. Raises ValueError for a file that has none."""
    if len(content) < 8:
        raise ValueError("it is too short to have a header")
    (size,) = struct.unpack("<Q", content[:8])
    if size > min(LONGEST, len(content) - 8):
        raise ValueError(f"its header would be of {size} bytes")
    header = json.loads(content[8 : 8 + size].decode())
    if not isinstance(header, dict):
        raise ValueError("its header is no table")
    return header


def parse(content: bytes) -> list[tuple[str, dict[str, Any]]]:
    """What `deserialize` returns. Raises ValueError for a file that does not keep to the format."""
    header = header_of(content)
    header.pop(METADATA, None)
    data = content[8 + struct.unpack("<Q", content[:8])[0] :]
    end, ranges = 0, []
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        kind, shape, (first, last) = entry["dtype"], entry["shape"], entry["data_offsets"]
        if not all(isinstance(n, int) and n >= 0 for n in (*shape, first, last)):
            raise ValueError(f"tensor {name!r} has shape {shape} at {first} to {last}")
        if kind in SIZES and math.prod(shape) * SIZES[kind] != last - first:
            raise ValueError(f"tensor {name!r}, {kind} of shape {shape}, has {last - first} bytes")
        if first != end:
            raise ValueError(f"tensor {name!r} begins at {first}, where {end} was expected")
        end = last
        ranges.append((name, {"dtype": kind, "shape": shape, "data": data[first:last]}))
    if end != len(data):
        raise ValueError(f"it has {len(data)} bytes of numbers, and describes {end}")
    return ranges
