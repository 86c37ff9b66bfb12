"""Files of PyTorch's format: read as it wrote them, written for it, and nothing in them runs."""

import runpy
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from claims import Claims
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses

import minifp as fp
from minifp import nn
from minifp.saving import torch_files
from minifp.saving.pytorch import archive, emitter, opcodes, writer

HERE, OTHERS = Path(__file__).parent, "expected tensors, plain values"
ours = SimpleNamespace(**runpy.run_path(f"{HERE.parents[1]}/scripts/write_torch_file.py"))
PLAIN = archive.Archive(writer.written(ours.values(fp)))


def test_what_pytorch_wrote_is_read_and_what_is_written_comes_back(tmp_path):
    for held in map(fp.load, (ours.FILE, fp.save(ours.values(fp), tmp_path / "x.pt"))):
        assert ours.told(held) == ours.told(ours.values(fp))
        x, part, transposed, expanded, *_ = held["tensors"]
        x[1, 2] = 77
        assert part.array[0, 1] == transposed.array[2, 1] == 77
        assert not expanded.array.flags.writeable and len({*map(id, held["parameters"])}) == 2


def test_pytorch_reads_what_is_written_and_is_read_again(torch, tmp_path):
    ours.compare(torch, tmp_path / "x.pt")


def test_a_model_takes_its_weights_and_refuses_others_as_from_a_file_of_minifps(tmp_path):
    with fp.precision("mixed"):
        model, path = nn.Linear(2, 3), tmp_path / "m.pt"
    fp.save(path, model)
    np.testing.assert_array_equal(fp.load(path)["weight"].array, model.weight.exact)
    for wrong in (path, fp.save(tmp_path / "m.safetensors", model)):
        words = r"weight: shape \(3, 2\), expected \(4, 2\)"
        refuses(fp.CheckpointError, words, fp.load, wrong, nn.Linear(2, 4))
    refuses(fp.ArgumentError, "no loader; .* m.safetensors", fp.save, path, model, loader=model)
    fp.save({"model": model.state_dict(), "a": np.arange(3), "n": np.float32(0.1)}, path)
    assert repr(fp.load(path)["a"]) == "array([0, 1, 2])" and fp.load(path)["n"] == np.float32(0.1)
    refuses(fp.CheckpointError, r"state\['model'\]", fp.load, path, model)
    refuses(fp.ArgumentError, "cannot save a/0", fp.save, {"a": [len]}, path)


def tensor(sizes, strides, offset=0, key="0", count=4, kind="Float"):
    """What writes a tensor as a file says it, in a storage of 16 bytes."""

    def write(e):
        named = emitter.Written(lambda: e.name(f"torch {kind}Storage"))
        place = "storage", named, key, "cpu", count
        stored = emitter.Written(partial(e.group, place, "", b"tQ"))
        e.call("torch._utils _rebuild_tensor_v2", stored, offset, sizes, strides, False, None)

    return write


def test_nothing_in_a_file_runs_and_its_tensors_and_containers_are_bounded(monkeypatch):
    monkeypatch.setattr(opcodes, "MOST", 300_000)
    own = type("Own", (), {"__module__": "c", "__eq__": None, "__repr__": None, "__bool__": None})
    names = {"tensor": tensor, "call": lambda *said: lambda e: e.call(*said)}
    rows = HERE.joinpath("refused_pickles.txt").read_text(encoding="utf-8").splitlines()[2:]
    with Claims() as claims:
        for row, words in (row.split(" -> ") for row in rows):
            e, write = emitter.Emitter(), eval(row, names)
            e.add(write) if isinstance(write, bytes) else write(e)
            content = archive.packed(b"".join([*e.parts, b"."]), [b"\1\2\3\4" * 4])
            classes = {"c.Own": own} if "Own" in row else None
            with claims("is refused", row):
                refuses(fp.CheckpointError, words, torch_files.loads, content, "f", classes)


@given(st.booleans(), st.floats(0, 1, exclude_max=True), st.integers(0, 9), st.binary(max_size=9))
def test_a_damaged_file_is_refused_or_read_and_nothing_else_is_raised(is_whole, at, count, instead):
    storages = [PLAIN.zip.read(name) for name in PLAIN.infos if "/data/" in name]
    content = archive.packed(PLAIN.pickle(), storages) if is_whole else PLAIN.pickle()
    first = int(at * len(content))
    content = content[:first] + instead + content[first + count :]
    content = content if is_whole else archive.packed(content, storages)
    with suppress(fp.CheckpointError):
        assert writer.written(torch_files.loads(content, "f"))


class Program(nn.Module):
    __setstate__ = __reduce__ = lambda self, *state: 1 / 0  # nothing of it is called

    def __init__(self, size):
        self.layers = nn.Sequential(nn.Linear(size, 2), nn.BatchNorm1d(2))
        self.act, self.parent = nn.functional.relu, [self]


def test_whole_modules_are_read_by_who_allows_their_class_and_by_nobody_else(tmp_path, monkeypatch):
    path, classes = tmp_path / "m.pt", {f"{__name__}.Program": Program}
    with fp.precision("mixed"):
        model = Program(3).eval()
    refuses(fp.ArgumentError, "no class that files may name", torch_files.save, path, model)
    torch_files.save(path, model, classes)
    for load in (fp.load, torch_files.load, partial(torch_files.load, classes={})):
        refuses(fp.CheckpointError, f"Program': {OTHERS}", load, path)
    monkeypatch.setattr(Program, "__init__", None)
    monkeypatch.setattr(Program, "__new__", None)
    again, x = torch_files.load(path, classes), fp.randn(4, 3)
    assert again.parent == [again] and again.act is model.act and not again.training
    np.testing.assert_array_equal(again.layers(x).array, model.layers(x).array)
    np.testing.assert_array_equal(again.layers[0].weight.exact, model.layers[0].weight.exact)
