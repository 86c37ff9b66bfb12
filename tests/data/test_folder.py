"""Pictures of one's own, in a folder with a folder for each class."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from minifp.data import DataLoader, TensorDataset, fingerprint, folder, image_folder
from minifp.errors import ArgumentError, DataError
from minifp.numerics.policy import precision
from minifp.runtime import random

Image = pytest.importorskip("PIL.Image", reason="Pillow reads pictures")


def pixels(i, size=(4, 6)):
    """The pixels of picture i, (H, W, 3) uint8."""
    return random.integers(0, 256, (*size, 3), purpose="pixels", call=i).astype(np.uint8)


@pytest.fixture
def pets(tmp_path):
    """Two cats, a dog and what is to be left alone."""
    for i, name in enumerate(("cat/b.png", "cat/A.PNG", "dog/deep/down.bmp")):
        path = tmp_path / "pets" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels(i)).save(path)
    for name in ("notes.txt", "cat/notes.txt", "cat/._b.png", "cat/.b.png", ".hidden/x.png"):
        path = tmp_path / "pets" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("no picture", encoding="utf-8")
    return tmp_path / "pets"


@pytest.mark.parametrize("eager", [False, True])
def test_pictures_and_classes_are_those_of_the_folders(pets, eager):
    data = image_folder(pets, eager=eager)
    assert len(data) == 3 and data.classes == ["cat", "dog"] and data.name == str(pets)
    assert isinstance(data, TensorDataset) == eager
    x, t = data[np.array([0, 1, 2])]
    assert (x.shape, x.dtype, t.dtype) == ((3, 3, 4, 6), np.float32, np.int64)
    assert t.tolist() == [0, 0, 1]
    expected = np.stack([pixels(i) for i in (1, 0, 2)]).transpose(0, 3, 1, 2)  # A.PNG, b.png, down
    np.testing.assert_array_equal(x, (expected / 255).astype(np.float32))
    raw, _ = image_folder(str(pets), normalize=False, eager=eager)[1:]
    np.testing.assert_array_equal(raw, expected[1:])


def test_it_reads_when_asked_and_gives_items_by_number_slice_or_array(pets):
    data = image_folder(pets)
    assert fingerprint(data) == fingerprint(data.load())
    x, t = data[2]
    assert (x.shape, t.shape, int(t)) == ((3, 4, 6), (), 1)
    assert [len(field) for field in data[1:]] == [2, 2]
    assert data[np.array([], int)][0].shape == (0, 3, 4, 6)
    assert repr(data) == f"ImageFolder({str(pets)!r}, 3 pictures of 4 x 6, RGB, 2 classes)"
    (pets / "dog/deep/down.bmp").unlink()
    with pytest.raises(DataError, match="down.bmp cannot be read as a picture"):
        data[2]
    assert data[0][1] == 0


@pytest.mark.parametrize("prefetch", [0, 2])
def test_batches_of_it_are_in_the_format_of_the_precision(pets, prefetch):
    with precision("mixed") as p:
        for x, t in DataLoader(image_folder(pets), 2, shuffle=True, prefetch=prefetch):
            assert (x.dtype, t.dtype, x.shape[1:]) == (p.activations, np.int64, (3, 4, 6))


def test_grey_is_pillows_grey(pets):
    x, _ = image_folder(pets, mode="L", normalize=False)[:]
    assert x.shape == (3, 1, 4, 6)
    expected = np.asarray(Image.fromarray(pixels(1)).convert("L"))
    np.testing.assert_array_equal(x[0, 0], expected)


@pytest.mark.parametrize("size, shape", [(5, (5, 5)), ((2, 3), (2, 3)), ([8, 7], (8, 7))])
def test_pictures_of_many_sizes_are_resized(pets, size, shape):
    Image.fromarray(pixels(3, (9, 2))).save(pets / "dog" / "wide.png")
    data = image_folder(pets, size, normalize=False)
    assert data.size == shape and data[:][0].shape == (4, 3, *shape)
    expected = np.asarray(Image.fromarray(pixels(3, (9, 2))).resize(shape[::-1]))
    np.testing.assert_array_equal(data[3][0], expected.transpose(2, 0, 1))


def test_a_picture_of_another_size_is_named(pets):
    Image.fromarray(pixels(3, (9, 2))).save(pets / "dog" / "wide.png")
    data = image_folder(pets)
    message = r"wide.png has 9 x 2 pixels \(height x width\), .*A.PNG has 4 x 6; .*size=64"
    for read in (lambda: data[3], lambda: image_folder(pets, eager=True)):
        with pytest.raises(DataError, match=message):
            read()


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
    assert image_folder(tmp_path)[:][0].shape == (7, 3, 4, 6)


@pytest.mark.parametrize("dtype", [np.uint16, np.float32])
def test_pictures_of_more_than_8_bits_are_refused_and_not_clipped(tmp_path, dtype):
    (tmp_path / "c").mkdir()
    Image.fromarray(np.full((3, 3), 1000, dtype)).save(tmp_path / "c" / "deep.tif")
    with pytest.raises(DataError, match="deep.tif cannot be read .* more than 8 bits a pixel"):
        image_folder(tmp_path)


@pytest.mark.parametrize("eager", [False, True])
@pytest.mark.parametrize("harm", [lambda c: c[: len(c) // 2], lambda c: b"<html>", lambda c: b""])
def test_a_damaged_picture_is_named(pets, harm, eager):
    path = pets / "cat" / "b.png"
    path.write_bytes(harm(path.read_bytes()))
    with pytest.raises(DataError, match="b.png cannot be read as a picture"):
        image_folder(pets, eager=eager)[:]


def test_a_picture_of_a_billion_pixels_is_refused(pets, monkeypatch):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 4)  # Pillow's guard, which raises at twice it
    with pytest.raises(DataError, match="A.PNG cannot be read .* decompression bomb"):
        image_folder(pets)


def test_folders_without_pictures_are_named(pets, tmp_path):
    with pytest.raises(DataError, match="nowhere' is no folder"):
        image_folder(tmp_path / "nowhere")
    with pytest.raises(DataError, match="notes.txt' is no folder"):
        image_folder(pets / "notes.txt")
    with pytest.raises(DataError, match="no pictures in no folder in"):
        image_folder(pets / "cat")
    (pets / "emu").mkdir()
    (pets / "yak").mkdir()
    with pytest.raises(DataError, match=r"no pictures in the folders emu, yak in .*\(read are"):
        image_folder(pets)


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"mode": "RGBA"}, 'mode must be "RGB" or "L", got \'RGBA\''),
        ({"mode": None}, "got None"),
        ({"mode": ["L"]}, r"got \['L'\]"),
        ({"size": 0}, "image_folder: size must be an integer of at least 1"),
        ({"size": (1, 2, 3)}, r"got \(1, 2, 3\)"),
    ],
)
def test_arguments_that_cannot_be_are_refused(pets, arguments, message):
    with pytest.raises(ArgumentError, match=message):
        image_folder(pets, **arguments)


def test_without_pillow_the_error_says_how_to_install_it(pets, monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(DataError, match="Pillow, .* is not installed: pip install pillow"):
        image_folder(pets)


def test_a_progress_bar_is_shown_only_where_it_takes_its_time(monkeypatch, capsys):
    now = iter([0.0, 0.5, 1.9, 2.1])
    monkeypatch.setattr(folder, "time", SimpleNamespace(monotonic=lambda: next(now)))
    seen = []
    for item in folder.shown(range(4), "reading"):
        seen.append((item, "reading" in capsys.readouterr().err))
    assert seen == [(0, False), (1, False), (2, True), (3, False)]
    assert "4/4" in capsys.readouterr().err
    now = iter([0.0] * 9)
    assert list(folder.shown(range(4), "reading")) == [0, 1, 2, 3]
    assert capsys.readouterr().err == ""
