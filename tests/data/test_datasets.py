"""Data sets and batches: what is bundled, found or downloaded, and in which order it comes."""

import gzip
import hashlib
import json
import shutil
import struct
import sys
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses

import minifp as fp
from minifp.autograd.tape import Tensor
from minifp.data import DataLoader, Dataset, TensorDataset, TextDataset, digits, images, mnist
from minifp.errors import ArgumentError, DataError, DTypeError, ShapeError
from minifp.numerics.policy import precision
from minifp.ops.creation import PrecisionWarning
from minifp.runtime import random


def numbered(n):
    """A data set whose item i is (i, 10 i)."""
    return TensorDataset(np.arange(n), 10.0 * np.arange(n, dtype=np.float32), name="numbered")


def items(batches):
    """The first field of all batches in a row, after checking that the second belongs to it."""
    batches = list(batches)
    for first, second in batches:
        np.testing.assert_array_equal(10 * first, second)
    return [int(i) for first, _ in batches for i in first]


def test_digits_are_1437_and_360_pictures_of_8_by_8_whatever_the_seed():
    for part, n in zip(digits(), (1437, 360)):
        x, t = part.arrays
        assert (x.shape, x.dtype, t.shape, t.dtype) == ((n, 1, 8, 8), np.float32, (n,), np.int64)
        assert len(part) == n and x.min() == 0 and x.max() == 1
        assert abs(np.bincount(t, minlength=10) - n / 10).max() <= 0.05 * n / 10
    random.manual_seed(1)
    first = [part.fingerprint() for part in digits()]
    random.manual_seed(2)
    assert ([part.fingerprint() for part in digits()], random.get_state()["calls"]) == (first, {})


def test_digits_are_the_pictures_whose_checksum_their_licence_names():
    with np.load(resources.files("minifp.data") / "bundled" / "digits.npz") as stored:
        pixels, labels = stored["pixels"], stored["labels"]
    assert hashlib.sha256(pixels).hexdigest() in licence("digits-licence.md")
    assert "CC BY 4.0" in licence("digits-licence.md")
    raw = [np.concatenate(fields) for fields in zip(*(d.arrays for d in digits(normalize=False)))]
    scaled = [np.concatenate(fields) for fields in zip(*(d.arrays for d in digits()))]
    np.testing.assert_array_equal(raw[0], 16 * scaled[0])
    together = np.column_stack([pixels.reshape(-1, 64), labels])
    split = np.column_stack([raw[0].reshape(-1, 64), raw[1]])
    np.testing.assert_array_equal(sorted(split.tolist()), sorted(together.tolist()))


def test_shakespeare_is_whole_and_followed_by_itself():
    train, test = fp.data.shakespeare(length=50)
    assert len(train.vocabulary) == 65 and test.vocabulary == train.vocabulary
    text = train.decode(train.codes) + test.decode(test.codes)
    assert len(text) == 1_115_394
    assert hashlib.sha256(text.encode("ascii")).hexdigest() in licence("shakespeare-licence.md")
    assert "public domain" in licence("shakespeare-licence.md")
    assert len(train.codes) == 1_003_854 and len(train) == 1_003_853 // 50
    x, t = train[np.array([0, 3])]
    assert (x.shape, x.dtype, t.shape, t.dtype) == ((2, 50), np.int64, (2, 50), np.int64)
    assert (train.decode(x[0]), train.decode(t[1])) == (text[:50], text[151:201])


def licence(name):
    return (resources.files("minifp.data") / "bundled" / name).read_text(encoding="utf-8")


@given(st.text(min_size=1, max_size=60), st.integers(1, 9))
def test_the_pieces_of_a_text_are_the_text_and_what_follows(text, length):
    data = TextDataset(text, length)
    x, t = data[np.arange(len(data))]
    used = len(data) * length
    assert len(data) == (len(text) - 1) // length
    assert data.decode(x) == text[:used] and data.decode(t) == text[1 : used + 1]
    assert data.decode(data.encode(text)) == text


def test_a_piece_of_text_is_found_by_number_slice_or_array_and_other_characters_refused():
    data = TextDataset("abcdefghi", 2)
    assert [data.decode(field) for field in data[1]] == ["cd", "de"]
    assert [data.decode(field) for field in data[-1]] == ["gh", "hi"]
    assert [data.decode(field) for field in data[:2]] == ["abcd", "bcde"]
    with pytest.raises(IndexError):
        data[4]
    refuses(DataError, "'é' is not in its vocabulary 'abc'", TextDataset, "abé", vocabulary="abc")
    refuses(ArgumentError, "repeats characters", TextDataset, "ab", vocabulary="aab")
    refuses(ArgumentError, "length must be 1 character or more, got 0", TextDataset, "ab", length=0)


def test_arrays_become_a_data_set_without_a_copy():
    x, t = np.ones((3, 2), np.float32), np.arange(3)
    data = TensorDataset(x, t)
    assert data.arrays[0] is x and data.arrays[1] is t
    assert [field.tolist() for field in data[np.array([2, 0])]] == [[[1, 1], [1, 1]], [2, 0]]
    assert [field.tolist() for field in data[1]] == [[1, 1], 1]
    sets = (data, *fp.data.shakespeare(8))
    assert all(fp.data.Subset(d, [0])[0][0].unsqueeze(0).ndim > 1 for d in sets)
    assert [len(field) for field in data[1:]] == [2, 2]
    assert TensorDataset(Tensor(x)).arrays[0] is x
    assert repr(data) == "TensorDataset(float32[3, 2], int64[3], name='data')"


@pytest.mark.parametrize("arrays, error, message", [
    ((), ShapeError, "same number of rows"),
    ((np.ones(3), np.ones(4)), ShapeError, r"got shapes \[\(3,\), \(4,\)\]"),
    ((np.float32(3),), ShapeError, r"got shapes \[\(\)\]"),
    ((np.array(["a", "b"]),), DTypeError, "array 0 must hold numbers or booleans, not <U1"),
    ((np.ones(2), [None, 1]), DTypeError, "array 1 must hold numbers or booleans, not object"),
])  # fmt: skip
def test_arrays_that_are_no_data_set_are_refused(arrays, error, message):
    refuses(error, message, TensorDataset, *arrays)


class Squares(Dataset):
    name, takes_arrays = "squares", True

    def __len__(self):
        return 5000

    def __getitem__(self, index):
        return index**2


def test_a_fingerprint_is_of_the_numbers_and_their_format_of_ones_own_data_sets_too():
    squares = np.arange(5000) ** 2
    expected = TensorDataset(squares).fingerprint()
    assert Squares().fingerprint() == fp.data.fingerprint(Squares()) == expected
    assert TensorDataset(squares.astype(">i8")).fingerprint() == expected
    assert TensorDataset(squares.astype(np.float64)).fingerprint() != expected
    assert TensorDataset(squares.reshape(-1, 1)).fingerprint() != expected
    squares[4999] += 1
    assert TensorDataset(squares).fingerprint() != expected
    batches = list(DataLoader(Squares(), 2000).arrays())
    assert [len(batch) for batch in batches] == [1, 1, 1]
    np.testing.assert_array_equal(np.concatenate(batches, axis=1)[0], np.arange(5000) ** 2)


@given(st.integers(1, 40), st.integers(1, 50), st.booleans(), st.integers(0, 2**64 - 1))
def test_an_epoch_gives_every_item_once_in_len_batches(n, batch_size, shuffle, seed):
    loader = DataLoader(numbered(n), batch_size, shuffle, seed=seed)
    batches = list(loader.arrays())
    assert len(batches) == len(loader)
    assert all(len(first) == batch_size for first, _ in batches[:-1])
    order = items(batches)
    assert sorted(order) == list(range(n)) and (shuffle or order == list(range(n)))


@given(st.integers(1, 40), st.integers(1, 40))
def test_drop_last_leaves_out_the_smaller_batch(n, batch_size):
    if batch_size > n:
        refuses(DataError, "drop_last leaves", DataLoader, numbered(n), batch_size, drop_last=True)
        return
    loader = DataLoader(numbered(n), batch_size, drop_last=True)
    lengths = [len(first) for first, _ in loader.arrays()]
    assert lengths == [batch_size] * len(loader) == [batch_size] * (n // batch_size)


def test_the_order_is_that_of_a_seed_and_the_epoch_alone():
    loader = DataLoader(numbered(30), 4, shuffle=True)
    orders = [items(loader.arrays())]
    random.uniform(1000, purpose="dropout")
    random.permutation(30, purpose="shuffle")
    orders.append(items(loader.arrays()))
    assert loader.epoch == 2 and orders[0] != orders[1]
    for epoch, order in enumerate(orders):
        assert order == random.permutation(30, purpose="shuffle", call=epoch).tolist()
    assert [items(DataLoader(numbered(30), 7, True).arrays()) for _ in range(2)] == orders[:1] * 2
    own = DataLoader(numbered(30), 4, shuffle=True, seed=7)
    shared = DataLoader(numbered(30), 4, shuffle=True)
    random.manual_seed(7)
    expected = items(shared.arrays())
    random.manual_seed(8)
    assert items(own.arrays()) == expected
    loader = DataLoader(numbered(20), 3, shuffle=True, seed=1)
    first, second = (items(batches) for batches in zip(*zip(loader.arrays(), loader.arrays())))
    again = DataLoader(numbered(20), 3, shuffle=True, seed=1)
    assert [first, second] == [items(again.arrays()), items(again.arrays())]


def test_a_batch_is_a_copy_and_numbers_that_overflow_its_format_are_counted():
    data = numbered(4)
    for batch in DataLoader(data, 4):
        for field in batch:
            field.data = np.zeros(4)
    for batch in DataLoader(data, 4).arrays():
        for field in batch:
            field[:] = 0
    assert data.arrays[0].tolist() == [0, 1, 2, 3]
    loader = DataLoader(TensorDataset(np.array([1.0, 7e4, -7e4])), 3)
    with precision("mixed"), pytest.warns(PrecisionWarning, match="2 of 3 values overflow"):
        next(iter(loader))


@given(st.integers(1, 20), st.integers(1, 6), st.integers(1, 6), st.integers(0, 3), st.data())
def test_a_loader_goes_on_where_its_state_was_taken(n, before, after, epochs, data):
    random.manual_seed(3)
    ahead, later = (data.draw(st.integers(0, 4)) for _ in range(2))
    loader = DataLoader(numbered(n), before, shuffle=True, prefetch=ahead)
    for _ in range(epochs):
        items(loader.arrays())
    batches, given_out = loader.arrays(), []
    for _ in range(data.draw(st.integers(1, len(loader)))):
        given_out += items([next(batches)])
    state = json.loads(json.dumps(loader.state_dict()))
    batches.close()
    assert loader.state_dict() == state  # of what was used, and not of what was prefetched

    whole = random.permutation(n, purpose="shuffle", call=epochs).tolist()
    next_epoch = random.permutation(n, purpose="shuffle", call=epochs + 1).tolist()
    resumed = DataLoader(numbered(n), after, shuffle=True, prefetch=later)
    resumed.load_state_dict(state)
    assert resumed.state_dict() == state
    if len(given_out) == n:  # nothing of the epoch is left, so the next one begins
        assert resumed.epoch == epochs + 1 and items(resumed.arrays()) == next_epoch
    else:
        assert resumed.epoch == epochs and given_out + items(resumed.arrays()) == whole
        assert resumed.epoch == epochs + 1 and items(resumed.arrays()) == next_epoch


def test_a_resumed_epoch_keeps_the_seed_it_began_with():
    loader = DataLoader(numbered(30), 10, shuffle=True)
    random.manual_seed(1)
    batches = loader.arrays()
    start, state = items([next(batches)]), loader.state_dict()
    random.manual_seed(2)
    resumed = DataLoader(numbered(30), 10, shuffle=True)
    resumed.load_state_dict(state)
    rest, second = items(resumed.arrays()), items(resumed.arrays())
    random.manual_seed(1)
    assert start + rest == random.permutation(30, purpose="shuffle", call=0).tolist()
    random.manual_seed(2)
    assert second == random.permutation(30, purpose="shuffle", call=1).tolist()


def test_an_epoch_that_is_left_early_is_over_and_less_than_a_batch_is_dropped():
    loader = DataLoader(numbered(30), 10, shuffle=True, seed=1)
    next(iter(loader))
    second = items(loader.arrays())
    assert second == random.Streams(1).permutation(30, purpose="shuffle", call=1).tolist()
    assert loader.state_dict() == {"epoch": 2, "position": 0, "seed": 1, "size": 30}
    state = {"epoch": 4, "position": 6, "seed": 0, "size": 10}
    loader = DataLoader(numbered(10), 3, drop_last=True)
    loader.load_state_dict(state)
    assert items(loader.arrays()) == [6, 7, 8]
    loader = DataLoader(numbered(10), 5, drop_last=True)
    loader.load_state_dict(state)
    assert loader.epoch == 5 and len(items(loader.arrays())) == 10


@pytest.mark.parametrize("state, message", [
    (None, "expected what state_dict"), ({}, "expected what state_dict"),
    ({"epoch": 0, "position": 1.5, "seed": 0, "size": 10}, "expected what state_dict"),
    ({"epoch": 0, "position": 1, "seed": None, "size": 10}, "expected what state_dict"),
    ({"epoch": 0, "position": 1, "seed": 0, "size": 11}, "item 1 of 11, .* of 10 items"),
    ({"epoch": 0, "position": 11, "seed": 0, "size": 10}, "item 11 of 10"),
    ({"epoch": -1, "position": 1, "seed": 0, "size": 10}, "epoch -1"),
])  # fmt: skip
def test_a_state_that_does_not_fit_is_refused_and_changes_nothing(state, message):
    loader = DataLoader(numbered(10), 3)
    next(iter(loader))
    before = loader.state_dict()
    refuses(ArgumentError, message, loader.load_state_dict, state)
    assert loader.state_dict() == before


@pytest.mark.parametrize("settings, message", [
    *(({"batch_size": n}, f"batch_size={n!r}: expected an integer")
      for n in (0, -1, 2.0, "4", True)),
    *(({"seed": seed}, "seed must be an integer") for seed in (-1, 1.5, "1")),
    *(({"dataset": data}, "expected a data set, .*TensorDataset")
      for data in ("ab", {0: 1}, [np.ones((3, 2)), np.ones(3)], (np.ones(3),), np.ones(()), None)),
    ({"dataset": numbered(0)}, "data set 'numbered' is empty"),
])  # fmt: skip
def test_what_cannot_be_loaded_is_refused(settings, message):
    with pytest.raises((ArgumentError, DataError), match=message):
        DataLoader(**{"dataset": numbered(3), "batch_size": 1, **settings})


@pytest.mark.parametrize("answer", [
    np.ones(1), (np.ones(2), np.ones(3)), [np.ones(2), np.ones(3)], "ab", np.array(["a", "b"]),
])  # fmt: skip
def test_items_that_are_no_rows_of_numbers_are_refused_by_name(answer):
    class Wrong(Squares):
        def __getitem__(self, index):
            if len(index) == 2:
                return answer
            return [[1.0], [2.0]][index]  # which takes one index at a time

    Wrong.takes_arrays = True
    refuses(DataError, "data set 'squares': asked for 2 items", next, iter(DataLoader(Wrong(), 2)))
    refuses(DataError, r"array of indices, it raised TypeError", next, iter(DataLoader(Wrong(), 3)))
    del Wrong.takes_arrays
    with pytest.raises(DataError, match=r"item 0, it raised TypeError.*takes_arrays = True"):
        next(iter(DataLoader(Wrong(), 3)))


def idx(array):
    sizes = struct.pack(f">{array.ndim}I", *array.shape)
    return bytes([0, 0, 8, array.ndim]) + sizes + array.tobytes()


@pytest.fixture
def small(tmp_path, monkeypatch):
    """A folder with six and four pictures in MNIST's files, and a loader that expects so many."""
    monkeypatch.setattr(images, "MNIST_COUNTS", {"train": 6, "t10k": 4})
    monkeypatch.delenv("MINIFP_DATA", raising=False)
    folder = tmp_path / "data" / "mnist"
    folder.mkdir(parents=True)
    for part, n in (("train", 6), ("t10k", 4)):
        pixels = random.integers(0, 256, (n, 28, 28), purpose=part).astype(np.uint8)
        (folder / f"{part}-images-idx3-ubyte").write_bytes(idx(pixels))
        (folder / f"{part}-labels-idx1-ubyte").write_bytes(idx(np.arange(n, dtype=np.uint8)))
    return folder


@pytest.fixture
def compressed(small):
    for path in list(small.iterdir()):
        (small / f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    return small


@pytest.mark.parametrize("form", ["small", "compressed"])
@pytest.mark.parametrize("named", ["mnist", "."])
def test_mnist_is_found_in_the_folder_or_in_its_own_inside_it(form, named, request, monkeypatch):
    monkeypatch.setenv("MINIFP_DATA", str(request.getfixturevalue(form).parent / named))
    train, test = mnist()
    pixels = random.integers(0, 256, (6, 1, 28, 28), purpose="train", call=0)
    x, t = train.arrays
    assert (x.shape, x.dtype, t.tolist()) == ((6, 1, 28, 28), np.float32, [0, 1, 2, 3, 4, 5])
    assert (t.dtype, len(test), test.name) == (np.int64, 4, "MNIST, test")
    assert train.classes == test.classes == list("0123456789")
    np.testing.assert_array_equal(x, ((pixels / 255 - 0.1307) / 0.3081).astype(np.float32))
    np.testing.assert_array_equal(mnist(normalize=False)[0].arrays[0], pixels)


def test_fashion_mnist_is_in_a_folder_of_its_name_only(small, monkeypatch):
    """Its files are called as MNIST's are."""
    own = small.with_name("fashion-mnist")
    shutil.copytree(small, own)
    monkeypatch.setenv("MINIFP_DATA", str(small))
    same = mnist(normalize=False)[0].fingerprint()
    for where in (own, own.parent):
        monkeypatch.setenv("MINIFP_DATA", str(where))
        train, test = fp.data.fashion_mnist(normalize=False)
        assert (test.name, train.classes[9]) == ("Fashion-MNIST, test", "Ankle boot")
        assert train.fingerprint() == same
    (x, _), expected = fp.data.fashion_mnist()[0].arrays, train.arrays[0] / 255
    assert abs(x - (expected - 0.2860) / 0.3530).max() < 1e-6
    monkeypatch.setitem(sys.modules, "pooch", None)
    for where, other in ((small, fp.data.fashion_mnist), (own, mnist)):
        monkeypatch.setenv("MINIFP_DATA", str(where))
        refuses(DataError, "pip install pooch", other)
    assert [*images.FASHION_CHECKSUMS] == [*images.MNIST_CHECKSUMS]


def test_a_data_folder_and_files_that_are_missing_are_named(small, monkeypatch):
    monkeypatch.setenv("MINIFP_DATA", str(small / "nowhere"))
    refuses(DataError, "MINIFP_DATA names .*nowhere.* not a folder. Set it to", mnist)
    monkeypatch.setenv("MINIFP_DATA", str(small))
    (small / "train-labels-idx1-ubyte").unlink()
    (small / "t10k-images-idx3-ubyte").unlink()
    refuses(DataError, "lacks train-labels-idx1-ubyte, t10k-images-idx3-ubyte", mnist)


def cut(content):
    return content[:-100]


@pytest.mark.parametrize("form, change, message", [
    ("small", cut, r"expected shape \(6, 28, 28\) in 4720 bytes, got \(6, 28, 28\) in 4620"),
    ("small", lambda content: content + b"\0", "in 4721 bytes"),
    ("small", lambda _: idx(np.zeros((5, 28, 28), np.uint8)), r"got \(5, 28, 28\)"),
    ("small", lambda _: idx(np.zeros((6, 28, 14), np.uint8)), r"got \(6, 28, 14\)"),
    ("small", lambda _: b"", "begins with nothing"),
    ("small", lambda content: content[:9], "in 9 bytes"),
    ("small", lambda _: idx(np.zeros(6, np.uint8)), "begins with 00 00 08 01, expected .* 03"),
    ("small", lambda _: b"<html>", "begins with 3c 68 74 6d"),
    ("compressed", cut, "damaged or cut off: download it again"),
    ("compressed", lambda content: content[:60] + b"x" + content[61:], "damaged or cut off"),
    ("compressed", lambda _: b"<html>", "damaged or cut off"),
    ("compressed", lambda _: b"", "begins with nothing|damaged or cut off"),
])  # fmt: skip
def test_a_damaged_file_is_named_with_what_is_wrong(form, change, message, request, monkeypatch):
    folder = request.getfixturevalue(form)
    monkeypatch.setenv("MINIFP_DATA", str(folder))
    path = next(folder.glob("train-images-idx3-ubyte*"))
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(DataError, match=message) as raised:
        mnist()
    assert path.name in str(raised.value)


@pytest.fixture
def network(compressed, tmp_path, monkeypatch):
    """Pooch with a temporary cache and folders for mirrors, one of them empty; what is asked."""
    pooch = pytest.importorskip("pooch")
    pytest.importorskip("requests")
    asked = []

    def choose_downloader(address, **_):
        def download(address, output, _):
            asked.append(address)
            shutil.copy(address, output)

        return download

    monkeypatch.setattr(pooch.core, "choose_downloader", choose_downloader)
    monkeypatch.setattr(pooch, "os_cache", lambda name: tmp_path / "cache" / name)
    monkeypatch.setattr(images, "MNIST_MIRRORS", (f"{tmp_path}/down/", f"{compressed}/"))
    files = [*compressed.iterdir()]
    checksums = {path.stem: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
    monkeypatch.setattr(images, "MNIST_CHECKSUMS", checksums)
    return asked


def test_a_download_is_kept_and_a_damaged_one_got_again(network, tmp_path, compressed, monkeypatch):
    monkeypatch.setenv("MINIFP_DATA", str(tmp_path))  # a folder without it
    train, test = mnist()
    assert [address.startswith(str(compressed)) for address in network] == [False, True] * 4
    kept = tmp_path / "cache/minifp/mnist"
    assert {p.name for p in kept.iterdir()} == {p.name for p in compressed.iterdir()}
    network.clear()
    assert mnist()[0].fingerprint() == train.fingerprint() and network == []
    (kept / "t10k-images-idx3-ubyte.gz").write_bytes(b"damaged")
    assert mnist()[1].fingerprint() == test.fingerprint()
    assert {Path(address).name for address in network} == {"t10k-images-idx3-ubyte.gz"}


def test_a_download_with_another_checksum_is_refused_and_not_kept(network, tmp_path, compressed):
    path = compressed / "train-images-idx3-ubyte.gz"
    path.write_bytes(path.read_bytes() + b"\0")
    refuses(DataError, "(?s)train-images.*could not be downloaded.*hash.*MINIFP_DATA", mnist)
    assert not (tmp_path / "cache/minifp/mnist" / path.name).exists()


def test_without_a_connection_or_pooch_the_error_says_what_to_do(network, monkeypatch, tmp_path):
    monkeypatch.setattr(images, "MNIST_MIRRORS", (f"{tmp_path}/one/", f"{tmp_path}/two/"))
    refuses(DataError, r"(?s)one/: .*two/: .*Try again.*set MINIFP_DATA", mnist)
    monkeypatch.setitem(sys.modules, "pooch", None)
    refuses(DataError, "pip install pooch.*set MINIFP_DATA", mnist)
