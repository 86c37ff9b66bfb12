"""Whatever is in a file: data or a DataError, and nothing else."""

import gzip
import io
import json
import tarfile
import zipfile

import numpy as np
import pytest
from boxed_pictures import NAMES, OBJECTS, coco, write_coco, write_voc, xml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from refusals import refuses
from test_datasets import idx

import minifp as fp
from minifp.data import archives, cifar, digits, files, packed, shakespeare

several = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@st.composite
def edited(draw, content):
    content = bytearray(content[: draw(st.integers(0, len(content)) | st.just(len(content)))])
    for _ in range(draw(st.integers(0, 4))):
        where = draw(st.integers(0, len(content)))
        content[where : where + draw(st.integers(0, 3))] = draw(st.binary(max_size=6))
    return bytes(content)


def harmed(content):
    return st.binary(max_size=200) | edited(content)


def npz(**arrays):
    out = io.BytesIO()
    np.savez_compressed(out, **arrays)
    return out.getvalue()


def attempt(function, *arguments):
    try:
        return function(*arguments)
    except fp.DataError as error:
        assert len(str(error)) < 2000
        return None


PIXELS = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
PACKED = {"jpeg": np.zeros(6, "u1"), "offset": np.array([0, 3, 6]), "label": np.array([1, 9])}
KINDS = {  # a file's name, what is in it, what reads it, and what is true of what was read
    "pixels": (
        *(idx(PIXELS), lambda path: files.read_idx(path, PIXELS.shape)),
        lambda found: found.shape == PIXELS.shape,
    ),
    "pixels.gz": (
        *(gzip.compress(idx(PIXELS), mtime=0), lambda path: files.read_idx(path, PIXELS.shape)),
        lambda found: found.shape == PIXELS.shape,
    ),
    "data_batch_1.bin": (
        *(bytes([7, *bytes(3072)]) * 2, lambda path: cifar.read_records(path, [10])),
        lambda found: found.shape[1] == 3073 and (found[:, 0] <= 9).all(),
    ),
    "train.npz": (npz(**PACKED), packed.unpack, lambda found: len(found[1]) == len(found[2]) + 1),
}


@pytest.mark.parametrize("name", KINDS)
@several
@given(st.data())
def test_a_file_of_any_kind(tmp_path, name, data):
    content, read, holds = KINDS[name]
    path = tmp_path / name
    path.write_bytes(data.draw(harmed(content)))
    found = attempt(read, path)
    assert found is None or holds(found)


def test_a_compressed_file_of_more_than_the_memory_is_not_unpacked(tmp_path):
    path = tmp_path / "pixels.gz"
    with gzip.open(path, "wb") as file:
        file.write(idx(PIXELS))
        for _ in range(64):
            file.write(bytes(2**20))
    refuses(fp.DataError, "in 41 bytes or more", files.read_idx, path, PIXELS.shape)


DIGITS = {"pixels": np.zeros((1797, 8, 8), "u1"), "labels": np.zeros(1797, "u1")}


@several
@given(harmed(npz(**DIGITS)) | harmed(gzip.compress(b"abc" * 50, mtime=0)))
def test_what_is_bundled(monkeypatch, content):
    monkeypatch.setattr(files, "bundled", lambda name: content)
    found = attempt(digits)
    assert found is None or len(found[0]) == 1437
    attempt(shakespeare)


def test_bundled_pictures_of_another_shape_or_kind_are_refused(monkeypatch):
    for changes in (
        {"pixels": np.zeros((9, 8, 8), "u1"), "labels": np.zeros(9, "u1")},
        {"pixels": np.zeros((1797, 8, 8))},
        {"labels": np.array([{}] * 1797)},
        {"labels": None},
    ):
        arrays = {name: a for name, a in {**DIGITS, **changes}.items() if a is not None}
        monkeypatch.setattr(files, "bundled", lambda name, arrays=arrays: npz(**arrays))
        refuses(fp.DataError, "digits.npz, .* is damaged: .* Install minifp again", digits)


@several
@given(st.data())
def test_a_picture_of_ones_own(tmp_path, data):
    Image = pytest.importorskip("PIL.Image", reason="Pillow reads pictures")
    out = io.BytesIO()
    kind = data.draw(st.sampled_from(["png", "jpeg", "gif", "bmp", "tiff", "ppm", "webp"]))
    Image.fromarray(np.arange(192, dtype=np.uint8).reshape(8, 8, 3)).save(out, kind)
    (tmp_path / "class").mkdir(exist_ok=True)
    (tmp_path / "class" / "picture.png").write_bytes(data.draw(harmed(out.getvalue())))
    for mode in ("RGB", "L"):  # what kind it is, Pillow reads from the contents
        found = attempt(fp.data.ImageFolder, tmp_path, 4, mode)
        assert found is None or found[:][0].shape[2:] == (4, 4)


@several
@given(harmed(xml(OBJECTS["one"]).encode()), st.sampled_from(["raise", "drop"]))
def test_an_annotation_of_voc(tmp_path, content, empty):
    root = tmp_path / "voc"
    if not root.exists():
        write_voc(root, pytest.importorskip("PIL.Image", reason="Pillow reads pictures"))
    (root / "Annotations" / "one.xml").write_bytes(content)
    found = attempt(lambda: fp.data.VOCDetection(root, classes=NAMES, empty_boxes=empty))
    target = None if found is None else attempt(found.__getitem__, 0)
    assert target is None or target[1]["boxes"].shape == (*target[1]["labels"].shape, 4)


@several
@given(harmed(json.dumps(coco()).encode()), st.sampled_from(["raise", "drop"]))
def test_an_annotation_file_of_coco(tmp_path, content, empty):
    path = tmp_path / "instances.json"
    if not path.exists():
        write_coco(tmp_path, pytest.importorskip("PIL.Image", reason="Pillow reads pictures"))
    path.write_bytes(content)
    found = attempt(lambda: fp.data.CocoDetection(tmp_path, path, empty_boxes=empty))
    target = None if found is None else attempt(found.__getitem__, 0)
    assert target is None or target[1]["boxes"].shape == (*target[1]["labels"].shape, 4)


def an_archive(kind):
    out, contents = io.BytesIO(), {"BCCD/a.txt": b"a" * 99, "BCCD/b.txt": b"b" * 99}
    if kind == "zip":
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
            for name, content in contents.items():
                made.writestr(name, content)
    else:
        with tarfile.open(fileobj=out, mode="w:xz") as made:
            for name, content in contents.items():
                info = tarfile.TarInfo(name)
                info.size = len(content)
                made.addfile(info, io.BytesIO(content))
    return out.getvalue()


@several
@given(harmed(an_archive("zip")) | harmed(an_archive("tar")))
def test_an_archive(tmp_path, monkeypatch, content):
    pooch = pytest.importorskip("pooch", reason="pooch says where the cache is")
    monkeypatch.setattr(pooch, "os_cache", lambda name: tmp_path / "cache")
    path = tmp_path / "bccd.tar.xz"
    path.write_bytes(content)
    found = attempt(archives.unpacked, "bccd", path, r"BCCD/(\w\.txt)")
    assert found is None or all(p.name in ("a.txt", "b.txt", "SHA256SUMS") for p in found.iterdir())
