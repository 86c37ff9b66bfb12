"""Pictures of one's own, in a folder with a folder for each class."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from refusals import refuses

from minifp.data import DataLoader, ImageFolder, TensorDataset, decoding, fingerprint, progress
from minifp.errors import ArgumentError, DataError, MisuseWarning
from minifp.runtime import random

Image = pytest.importorskip("PIL.Image", reason="Pillow reads pictures")


def pixels(i, size=(4, 6)):
    return random.integers(0, 256, (*size, 3), purpose="pixels", call=i).astype(np.uint8)


@pytest.fixture
def pets(tmp_path):
    for i, name in enumerate(("cat/b.png", "cat/A.PNG", "dog/deep/down.bmp")):
        path = tmp_path / "pets" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels(i)).save(path)
    for name in ("notes.txt", "cat/notes.txt", "cat/._b.png", "cat/.b.png", ".hidden/x.png"):
        path = tmp_path / "pets" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("no picture", encoding="utf-8")
    return tmp_path / "pets"


def whole(data, eager):
    return data.load() if eager else data


@pytest.mark.parametrize("eager", [False, True])
def test_pictures_and_classes_are_those_of_the_folders(pets, eager):
    data = whole(ImageFolder(pets), eager)
    assert len(data) == 3 and data.classes == ["cat", "dog"] and data.name == str(pets)
    assert isinstance(data, TensorDataset) == eager
    x, t = data[np.array([0, 1, 2])]
    assert (x.shape, x.dtype, t.dtype) == ((3, 3, 4, 6), np.float32, np.int64)
    assert t.tolist() == [0, 0, 1]
    expected = np.stack([pixels(i) for i in (1, 0, 2)]).transpose(0, 3, 1, 2)  # A.PNG, b.png, down
    np.testing.assert_array_equal(x, (expected / 255).astype(np.float32))
    raw, _ = whole(ImageFolder(str(pets), normalize=False), eager)[1:]
    np.testing.assert_array_equal(raw, expected[1:])


def test_it_reads_when_asked_and_gives_items_by_number_slice_or_array(pets):
    data = ImageFolder(pets)
    assert fingerprint(data) == fingerprint(data.load())
    x, t = data[2]
    assert (x.shape, t.shape, int(t)) == ((3, 4, 6), (), 1)
    assert [len(field) for field in data[1:]] == [2, 2]
    assert data[np.array([], int)][0].shape == (0, 3, 4, 6)
    assert repr(data) == f"ImageFolder({str(pets)!r}, 3 pictures of 4 x 6, RGB, 2 classes)"
    assert data.class_to_idx == {"cat": 0, "dog": 1} and data.targets == [0, 0, 1]
    names = ["cat/A.PNG", "cat/b.png", "dog/deep/down.bmp"]  # as torchvision's class has them
    assert data.samples == [(str(pets / name), t) for name, t in zip(names, data.targets)]
    (pets / "dog/deep/down.bmp").unlink()
    refuses(DataError, "down.bmp cannot be read as a picture", lambda: data[2])
    assert data[0][1] == 0


@pytest.mark.parametrize("size, shape", [(5, (5, 5)), ((2, 3), (2, 3)), ([8, 7], (8, 7))])
def test_pictures_of_many_sizes_are_resized_and_grey_is_pillows(pets, size, shape):
    x, _ = ImageFolder(pets, mode="L", normalize=False)[:]
    assert x.shape == (3, 1, 4, 6)
    np.testing.assert_array_equal(x[0, 0], Image.fromarray(pixels(1)).convert("L"))
    Image.fromarray(pixels(3, (9, 2))).save(pets / "dog" / "wide.png")
    data = ImageFolder(pets, size, normalize=False, crop=False)
    assert data.size == shape and data[:][0].shape == (4, 3, *shape)
    expected = np.asarray(Image.fromarray(pixels(3, (9, 2))).resize(shape[::-1]))
    np.testing.assert_array_equal(data[3][0], expected.transpose(2, 0, 1))


@pytest.mark.parametrize("have, size", [((9, 2), 2), ((4, 6), (2, 1)), ((5, 7), (3, 3))])
def test_of_a_picture_in_other_proportions_the_middle_is_taken(tmp_path, have, size):
    (tmp_path / "c").mkdir()
    Image.fromarray(pixels(0, have)).save(tmp_path / "c" / "a.png")
    x, _ = ImageFolder(tmp_path, size, normalize=False)[0]
    height, width = np.broadcast_to(size, 2).tolist()
    scale = min(have[0] / height, have[1] / width)
    top, left = (have[0] - height * scale) / 2, (have[1] - width * scale) / 2
    box = (left, top, left + width * scale, top + height * scale)
    expected = Image.fromarray(pixels(0, have)).resize((width, height), Image.BICUBIC, box)
    np.testing.assert_array_equal(x, np.asarray(expected).transpose(2, 0, 1))


@pytest.fixture
def many(tmp_path):
    for i in range(12):
        path = tmp_path / "many" / f"class {i % 3}" / f"{i} é.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels(i, (8 + i, 20 - i))).save(path)
    return tmp_path / "many"


@pytest.fixture
def worked(many):
    data = ImageFolder(many, 8, workers=2)
    yield data
    data._workers.close()


def test_workers_read_the_same_and_end_with_the_data_set(many, worked, monkeypatch):
    alone = ImageFolder(many, 8)
    expected = [batch[0].tobytes() for batch in DataLoader(alone, 5, True, seed=1).arrays()]
    monkeypatch.setattr(decoding, "picture", None)  # this process reads none
    loader = DataLoader(worked, 5, True, seed=1, prefetch=2)
    assert [batch[0].tobytes() for batch in loader.arrays()] == expected
    monkeypatch.undo()
    assert fingerprint(worked) == fingerprint(alone) == fingerprint(worked.load())
    other = ImageFolder(many, 8, workers=1)
    other[:]
    (process,) = other._workers._processes
    del other
    assert process.poll() is not None


def test_what_a_worker_cannot_read_is_named_and_the_next_is_read(many, worked):
    path = many / "class 1" / "4 é.png"
    path.write_bytes(path.read_bytes()[:60])
    with pytest.raises(DataError) as raised:
        worked[:]
    with pytest.raises(DataError) as alone:
        ImageFolder(many, 8)[:]
    assert str(raised.value) == str(alone.value) and f"{path} cannot be read" in str(alone.value)
    assert worked[:4][0].shape == (4, 3, 8, 8)
    worked._workers._processes[1].kill()
    refuses(DataError, "worker process .* ended with exit code", lambda: worked[:4])
    assert worked[:4][0].shape == (4, 3, 8, 8)


def test_a_picture_of_another_size_is_named_with_workers_too(pets, many):
    Image.fromarray(pixels(3, (9, 2))).save(pets / "dog" / "wide.png")
    data = ImageFolder(pets)
    message = r"wide.png has 9 x 2 pixels \(height x width\), .*A.PNG has 4 x 6; .*size=64"
    for read in (lambda: data[3], lambda: ImageFolder(pets).load()):
        refuses(DataError, message, read)
    data = ImageFolder(many, workers=1)
    refuses(DataError, r"3 é.png has 11 x 17 pixels .* has 8 x 20", lambda: data[:])
    assert data[:1][0].shape == (1, 3, 8, 20)
    data._workers.close()


def test_pictures_of_other_kinds_become_rgb(tmp_path):
    (tmp_path / "c").mkdir()
    colour = Image.fromarray(pixels(0))
    colour.save(tmp_path / "c" / "a.jpg")
    colour.convert("RGBA").save(tmp_path / "c" / "b.png")
    colour.convert("L").save(tmp_path / "c" / "c.png")
    colour.convert("P").save(tmp_path / "c" / "d.gif", transparency=3)
    colour.convert("P").save(tmp_path / "c" / "e.png", transparency=bytes(range(256)))
    colour.convert("1").save(tmp_path / "c" / "f.png")
    colour.convert("CMYK").save(tmp_path / "c" / "g.jpg")
    with pytest.warns(MisuseWarning, match="partly transparent"):
        assert ImageFolder(tmp_path, workers=1)[:][0].shape == (7, 3, 4, 6)


@pytest.mark.parametrize("eager", [False, True])
@pytest.mark.parametrize("harm", [lambda c: c[: len(c) // 2], lambda c: b"<html>", lambda c: b""])
def test_a_damaged_picture_is_named(pets, harm, eager):
    path = pets / "cat" / "b.png"
    path.write_bytes(harm(path.read_bytes()))
    refuses(DataError, "b.png cannot be read as a", lambda: whole(ImageFolder(pets), eager)[:])


def test_pictures_of_too_many_bits_or_pixels_are_refused(tmp_path, pets, monkeypatch):
    (tmp_path / "c").mkdir()
    for dtype in (np.uint16, np.float32):  # and not clipped
        Image.fromarray(np.full((3, 3), 1000, dtype)).save(tmp_path / "c" / "deep.tif")
        refuses(DataError, "deep.tif cannot be read .* more than 8 bits a", ImageFolder, tmp_path)
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 4)  # Pillow's guard, which raises at twice it
    refuses(DataError, "A.PNG cannot be read .* decompression bomb", ImageFolder, pets)


def test_folders_without_pictures_and_a_missing_pillow_are_named(pets, tmp_path, monkeypatch):
    refuses(DataError, "nowhere' is not a folder", ImageFolder, tmp_path / "nowhere")
    refuses(DataError, "notes.txt' is not a folder", ImageFolder, pets / "notes.txt")
    refuses(DataError, "no pictures in no folder in", ImageFolder, pets / "cat")
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "PIL", None)
        refuses(DataError, "needs Pillow: pip install pillow", ImageFolder, pets)
    (pets / "emu").mkdir()
    (pets / "yak").mkdir()
    refuses(DataError, r"no pictures in the folders emu, yak in .*\(read are", ImageFolder, pets)


@pytest.mark.parametrize("arguments, message", [
    ({"mode": "RGBA"}, 'mode must be "RGB" or "L", got \'RGBA\''), ({"mode": None}, "got None"),
    ({"mode": ["L"]}, r"got \['L'\]"),
    ({"workers": -1}, "workers=-1: expected an integer, at least 0"),
    ({"workers": True}, "workers=True"),
    ({"size": 0}, "ImageFolder: size must be an integer of at least 1"),
    ({"size": (1, 2, 3)}, r"got \(1, 2, 3\)"),
])  # fmt: skip
def test_arguments_that_cannot_be_are_refused(pets, arguments, message):
    refuses(ArgumentError, message, ImageFolder, pets, **arguments)


def test_a_progress_bar_is_shown_only_where_it_takes_its_time(monkeypatch, capsys):
    now = iter([0.0, 0.5, 1.9, 2.1])
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: next(now)))
    seen = []
    for item in progress.with_bar(range(4), "reading"):
        seen.append((item, "reading" in capsys.readouterr().err))
    assert seen == [(0, False), (1, False), (2, True), (3, False)]
    assert "4/4" in capsys.readouterr().err
    now = iter([0.0] * 9)
    assert list(progress.with_bar(range(4), "reading")) == [0, 1, 2, 3]
    assert capsys.readouterr().err == ""
