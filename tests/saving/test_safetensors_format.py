"""Our own writing and reading of safetensors, held against the library's."""

import struct

import numpy as np
import pytest
from test_checkpoint import assembled, parts_of

from minifp.saving import safetensors_format
from minifp.saving.tensor_file import NATIVE

safetensors = pytest.importorskip("safetensors.numpy")

METADATA = {"format": "pt", "own": '{"é": "\n"}'}


def tensors():
    """Arrays of all kinds that NumPy has, of several shapes, in no order."""
    random, found = np.random.default_rng(0), {}
    for i, (kind, dtype) in enumerate(NATIVE.items()):
        for shape in ((), (3,), (2, 0), (2, 3)):
            a = random.integers(0, 100, shape).astype(dtype)
            found[f"{'zyxé'[i % 4]}.{kind}{len(shape)}{shape}"] = kind, np.asarray(a)
    return found


def test_what_is_written_and_read_are_the_librarys_bytes_but_for_the_order_of_metadata():
    ours = safetensors_format.serialize(tensors(), METADATA)
    theirs = safetensors.save({name: a for name, (_, a) in tensors().items()}, METADATA)
    assert parts_of(ours) == parts_of(theirs) and len(ours) == len(theirs)
    assert [*parts_of(ours)[0]] == [*parts_of(theirs)[0]]
    assert ours == safetensors_format.serialize(dict(reversed(tensors().items())), METADATA)
    name, (kind, a) = next(iter(tensors().items()))
    ours = safetensors_format.serialize({name: (kind, a)}, {})
    assert ours == safetensors.save({name: a}, {})
    content = safetensors_format.serialize(tensors(), METADATA)
    theirs = dict(safetensors_format.deserialize(content))
    ours = dict(safetensors_format.parse(content))
    assert {*ours} == {*theirs} == {*tensors()}
    for name, entry in ours.items():
        assert (entry["dtype"], entry["shape"]) == (theirs[name]["dtype"], theirs[name]["shape"])
        assert entry["data"] == bytes(theirs[name]["data"])


def entry(dtype="F32", shape=(2,), offsets=(0, 8)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


DAMAGED = {
    "empty": b"", "short": b"\1\0\0", "no header": struct.pack("<Q", 100) + b"{}",
    "vast header": struct.pack("<Q", 2**60) + b"{}",
    "no JSON": struct.pack("<Q", 2) + b"{!", "no table": struct.pack("<Q", 2) + b"[]",
    "shape": assembled({"a": entry(shape=(3,))}, b"\0" * 8),
    "negative": assembled({"a": entry(shape=(-1, -2))}, b"\0" * 8),
    "gap": assembled({"a": entry(offsets=(0, 8)), "b": entry(offsets=(12, 20))}, b"\0" * 20),
    "overlap": assembled({"a": entry(), "b": entry(offsets=(4, 12))}, b"\0" * 12),
    "rest": assembled({"a": entry()}, b"\0" * 12),
    "truncated": assembled({"a": entry()}, b"\0" * 4),
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGED)
def test_what_the_library_refuses_is_refused(damage):
    with pytest.raises(Exception):  # noqa: B017 (the library has classes of its own)
        safetensors_format.deserialize(DAMAGED[damage])
    with pytest.raises(ValueError):
        safetensors_format.parse(DAMAGED[damage])
