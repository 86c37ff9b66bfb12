"""Files as people have them: read right side up and at their own scale, or told what they are."""

import os
import struct
import zipfile

import numpy as np
import pytest
from recordings import as_wav
from refusals import refuses

import minifp as fp
from minifp import data, nn
from minifp.data import ImageFolder, read_wav
from minifp.errors import CheckpointError, DataError, DTypeError, FileError
from minifp.saving import files

Image = pytest.importorskip("PIL.Image")
LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 12345\n"
EPS = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n%%EndComments\nshowpage\n%%EOF\n"
HALVES = np.zeros((4, 6, 3), np.uint8)
HALVES[:2] = 255  # white above


@pytest.fixture
def folder(tmp_path):
    for kind in ("cat", "dog"):
        (tmp_path / kind).mkdir()
        Image.fromarray(HALVES).save(tmp_path / kind / "0.png")
    return tmp_path


@pytest.mark.parametrize("orientation, turned", [(1, 0), (3, 2), (6, 3), (8, 1)])
def test_a_picture_is_upright_as_its_camera_has_noted(tmp_path, orientation, turned):
    exif = Image.Exif()
    exif[0x0112] = orientation
    (tmp_path / "a").mkdir()
    Image.fromarray(HALVES).save(tmp_path / "a" / "x.png", exif=exif)
    expected = np.rot90(HALVES, turned).transpose(2, 0, 1) / np.float32(255)
    for workers in (0, 1):
        x, _ = ImageFolder(tmp_path, workers=workers)[0]
        np.testing.assert_array_equal(x.numpy(), expected)
    for sides in {expected.shape[1:], HALVES.shape[:2]}:  # as labelled upright, or as stored
        image = {"id": 0, "file_name": "x.png", "height": sides[0], "width": sides[1]}
        marks = {"images": [image], "annotations": [], "categories": [{"id": 1, "name": "a"}]}
        (tmp_path / "marks.json").write_text(str(marks).replace("'", '"'), encoding="utf-8")
        coco = data.CocoDetection(tmp_path / "a", tmp_path / "marks.json")
        assert coco[0][0].shape[1:] == sides


def test_splits_taken_for_classes_and_pictures_left_out_are_told(folder):
    with pytest.warns(fp.MisuseWarning, match=r"1 files \(.heic\) are left out"):
        (folder / "cat" / "1.heic").write_bytes(b"\0\0\0\x18ftypheic")
        ImageFolder(folder)
    (folder / "__MACOSX" / "cat").mkdir(parents=True)
    (folder / "__MACOSX" / "cat" / "._0.png").write_bytes(b"\0\5\x16\7")
    assert ImageFolder(folder).classes == ["cat", "dog"]
    for old, new in (("cat", "train"), ("dog", "val")):
        (folder / old).rename(folder / new)
    with pytest.warns(fp.MisuseWarning, match="train, val: are these parts of a data set"):
        ImageFolder(folder)


@pytest.mark.parametrize("content, words", [
    (LFS, "Git LFS pointer.*git lfs pull"), (EPS, "PostScript"), (b"<!DOCTYPE html>", "web page"),
    (b"\0\0\0\x18ftypheic" + bytes(20), "HEIC.*convert it"), (b"", "empty file"),
])  # fmt: skip
def test_what_is_no_picture_is_told_and_no_other_program_is_started(
    folder, monkeypatch, content, words
):
    started = folder / "started"
    (folder / "gs").write_text(f"#!/bin/sh\ntouch {started}\nexit 1\n", encoding="utf-8")
    (folder / "gs").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    (folder / "cat" / "0.png").write_bytes(content)
    refuses(DataError, words, ImageFolder, folder)
    assert not started.exists()


def wav(form, samples, channels=1, extra=b""):
    bits = 8 * samples.itemsize
    head = struct.pack("<HHIIHH", form, channels, 8000, 0, channels * bits // 8, bits) + extra
    body = b"WAVEfmt " + struct.pack("<I", len(head)) + head + b"LIST\3\0\0\0abc\0data"
    body += struct.pack("<I", samples.nbytes) + samples.tobytes()
    return b"RIFF" + struct.pack("<I", len(body)) + body


def test_sounds_of_floats_and_logarithms_are_read():
    x = np.sin(np.arange(80) / 5) * 1.5
    for dtype in ("<f4", "<f8"):
        for form, extra in ((3, b""), (0xFFFE, struct.pack("<HHIH14x", 22, 32, 1, 3))):
            samples, rate = read_wav(wav(form, x.astype(dtype), 2, extra))
            np.testing.assert_array_equal(samples, x.reshape(-1, 2).T.astype(np.float32))
    codes = np.array([0x00, 0x80, 0xFF, 0xD5, 0x2A, 0xAA], np.uint8)
    assert (read_wav(wav(7, codes))[0][0] * 2**15).tolist()[:3] == [-32124, 32124, 0]
    assert (read_wav(wav(6, codes))[0][0] * 2**15).tolist()[3:] == [8, -32256, 32256]
    assert rate == 8000 and read_wav(as_wav(np.array([2**14], "<i2")))[0] == 0.5
    refuses(DataError, "format 2 with 8 bits.*pip install soundfile", read_wav, wav(2, codes))
    refuses(DataError, r"it is a sound \(FLAC\)", read_wav, b"fLaC" + bytes(99))


def test_weights_and_arrays_are_told_by_what_they_are(tmp_path):
    model, path = nn.Linear(2, 2), tmp_path / "w"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("w/data.pkl", b"")
    refuses(CheckpointError, "pickle.*safetensors.torch.save_file", fp.load, path, model)
    for content, words in ((LFS, "git lfs"), (b"\x89HDF\r\n\x1a\n", "HDF5"), (b"GGUF", "GGUF")):
        path.write_bytes(content)
        refuses(CheckpointError, words, fp.load, path, model)
    np.savez(tmp_path / "w.npz", weight=np.eye(2), bias=np.ones(2))
    refuses(CheckpointError, r"\(.npz\)", fp.load, tmp_path / "w.npz", model)
    model.load_state_dict(np.load(tmp_path / "w.npz"))
    for strange, words in (("w.npz", "a text"), (np.load(tmp_path / "w.npz"), "'weight', 'bias'"),
                           (np.ma.array([1.0, 2.0], mask=[0, 1]), "masked array, of which 1")):  # fmt: skip
        for take in (fp.tensor, data.TensorDataset):
            refuses(DTypeError, words, take, strange)
    refuses(DataError, "got bytes: give bytes.decode", data.TextDataset, b"abc")


def test_of_files_that_are_written_together_all_are_old_where_one_cannot_be(tmp_path, monkeypatch):
    a, b, replace, calls = tmp_path / "a", tmp_path / "b", os.replace, []

    def fails_once(source, target):
        calls.append(target)
        if len(calls) == 2:
            raise OSError(5, "Input/output error")
        replace(source, target)

    a.write_text("old", encoding="utf-8")
    monkeypatch.setattr(os, "replace", fails_once)
    refuses(FileError, "What was there is as it was", files.write_all, {a: "new", b: "new"})
    assert a.read_text(encoding="utf-8") == "old" and [*tmp_path.iterdir()] == [a]


def test_an_archive_has_a_bound_for_all_its_files(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for i in range(17):
            archive.writestr(f"{i}.xml", bytes(2**24))
    refuses(DataError, "too many", data.archives.unpacked, "a", tmp_path / "a.zip", r"(\d+.xml)")
