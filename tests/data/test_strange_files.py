"""Files as people have them: read right side up and at their own scale, or told what they are."""

import json
import os
import struct

import numpy as np
import pytest
from refusals import refuses

import minifp as fp
from minifp import data, nn
from minifp.data import ImageFolder, read_wav
from minifp.errors import CheckpointError, DataError, DTypeError

Image = pytest.importorskip("PIL.Image")
LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 12345\n"
HALVES = np.zeros((4, 6, 3), np.uint8)
HALVES[:2] = 255  # white above


@pytest.fixture
def folder(tmp_path):
    for kind in ("cat", "dog", "__MACOSX"):
        (tmp_path / kind).mkdir()
        Image.fromarray(HALVES).save(tmp_path / kind / "0.png")
    return tmp_path


@pytest.mark.parametrize("orientation, turned", [(1, 0), (3, 2), (6, 3), (8, 1)])
def test_a_picture_is_upright_as_its_camera_has_noted(folder, orientation, turned):
    exif = Image.Exif()
    exif[0x0112] = orientation
    Image.fromarray(HALVES).save(folder / "cat" / "0.png", exif=exif)
    expected = np.rot90(HALVES, turned).transpose(2, 0, 1) / np.float32(255)
    for workers in (0, 1):
        x, _ = ImageFolder(folder, expected.shape[1:], workers=workers)[0]
        np.testing.assert_array_equal(x.numpy(), expected)
    for sides in {expected.shape[1:], HALVES.shape[:2]}:  # as labelled upright, or as stored
        image = {"id": 0, "file_name": "0.png", "height": sides[0], "width": sides[1]}
        marks = {"images": [image], "annotations": [], "categories": [{"id": 1, "name": "a"}]}
        (folder / "marks").write_text(json.dumps(marks), encoding="utf-8")
        assert data.CocoDetection(folder / "cat", folder / "marks")[0][0].shape[1:] == sides


def test_splits_taken_for_classes_and_pictures_left_out_are_told(folder):
    (folder / "cat" / "1.heic").touch()
    with pytest.warns(fp.MisuseWarning, match=r"1 files \(.heic\) were left out"):
        assert ImageFolder(folder).classes == ["cat", "dog"]
    (folder / "cat").rename(folder / "train"), (folder / "dog").rename(folder / "val")
    with pytest.warns(fp.MisuseWarning, match="train, val: are these the parts of a data"):
        ImageFolder(folder)


def test_what_is_no_picture_is_told_and_starts_no_program(folder, monkeypatch):
    (folder / "gs").write_text(f"#!/bin/sh\ntouch {folder}/started\nexit 1\n", encoding="utf-8")
    (folder / "gs").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    eps = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n%%EndComments\nshowpage\n%%EOF\n"
    for content, words in ((LFS, "Git LFS pointer.*git lfs pull"), (eps, "PostScript"),
                           (b"\0\0\0\x18ftypheic", "HEIC.*convert")):  # fmt: skip
        (folder / "cat" / "0.png").write_bytes(content)
        refuses(DataError, words, ImageFolder, folder)
    assert not (folder / "started").exists()


def wav(form, samples, channels=1, extra=b""):
    bits = 8 * samples.itemsize
    head = struct.pack("<HHIIHH", form, channels, 8000, 0, channels * bits // 8, bits) + extra
    body = b"WAVEfmt " + struct.pack("<I", len(head)) + head + b"LIST\3\0\0\0abc\0data"
    return b"RIFF\0\0\0\0" + body + struct.pack("<I", samples.nbytes) + samples.tobytes()


def test_sounds_of_floats_and_logarithms_are_read():
    x, codes = np.sin(np.arange(80) / 5) * 1.5, np.array([0x00, 0x80, 0xFF], np.uint8)
    for form, extra in ((3, b""), (0xFFFE, struct.pack("<HHIH14x", 22, 32, 1, 3))):
        for dtype in ("<f4", "<f8"):
            samples, rate = read_wav(wav(form, x.astype(dtype), 2, extra))
            np.testing.assert_array_equal(samples, x.reshape(-1, 2).T.astype(np.float32))
    for form, expected in ((7, [-32124, 32124, 0]), (6, [-5504, 5504, 848])):
        assert (read_wav(wav(form, codes))[0] * 2**15).tolist() == [expected] and rate == 8000
    refuses(DataError, "format 2 with 8 bits.*soundfile", read_wav, wav(2, codes))
    refuses(DataError, r"it is a sound \(FLAC\)", read_wav, b"fLaC" + bytes(99))


def test_weights_and_arrays_are_told_by_what_they_are(tmp_path):
    model, path = nn.Linear(2, 2), tmp_path / "w.npz"
    for content, words in ((LFS, "git lfs"), (b"\x89HDF\r\n\x1a\n", "HDF5"), (b"GGUF", "GGUF")):
        path.write_bytes(content)
        refuses(CheckpointError, words, fp.load, path, model)
    np.savez(path, weight=np.eye(2), bias=np.ones(2))
    refuses(CheckpointError, r"\(.npz\)", fp.load, path, model)
    model.load_state_dict(arrays := np.load(path))
    masked = np.ma.array([1.0, 2.0], mask=[0, 1])
    for strange, words in (("w", "a text"), (arrays, "'weight', 'bias'"), (masked, "with 1 mas")):
        refuses(DTypeError, words, fp.tensor, strange)
        refuses(DTypeError, words, data.TensorDataset, strange)
    refuses(DataError, "got bytes: give bytes.decode", data.TextDataset, b"abc")


def test_weights_of_a_wrapper_name_its_prefix():
    load, own = (model := nn.Sequential(nn.Linear(2, 2))).load_state_dict, model.state_dict()
    for prefix in ("module.", "_orig_mod.", "model.", "a.b."):
        state = {prefix + name: t for name, t in own.items()}
        words = rf"names begin with '{prefix}', .*n.removeprefix\('{prefix}'\)"
        refuses(fp.ArgumentError, words, load, state)
    refuses(fp.ArgumentError, "in the entry 'net'", load, {"net": own})
    inside = {f"0._orig_mod.{name[2:]}": t for name, t in own.items()}
    refuses(fp.ArgumentError, "have '_orig_mod.' in them", load, inside)
    with pytest.warns(fp.MisuseWarning, match=f"{words}.*nothing was loaded"):
        load(state, strict=False)
