"""CIFAR-10 and CIFAR-100: found, read, decoded, checked, downloaded and unpacked."""

import gzip
import hashlib
import io
import shutil
import sys
import tarfile
from multiprocessing.pool import ThreadPool
from pathlib import Path

import numpy as np
import pytest
from refusals import refuses

from minifp import data, lab
from minifp.data import cifar, downloads, packed
from minifp.errors import ArgumentError, DataError
from minifp.lab.exhibits.showing import estimate
from minifp.runtime import random

TRAIN = {f"data_batch_{i}.bin": i + 1 for i in range(1, 6)}
TEST = {"test_batch.bin": 3}
HELD = sum(TRAIN.values())


def records(name, n, *counts):
    """n records with a label below each count: they depend on the name alone."""
    out = random.integers(0, 256, (n, len(counts) + 3072), purpose=name, call=0).astype(np.uint8)
    out[:, : len(counts)] %= np.array(counts, np.uint8)
    return out


def write(folder):
    folder.mkdir(parents=True)
    for name, n in {**TRAIN, **TEST}.items():
        (folder / name).write_bytes(records(name, n, 10).tobytes())
    (folder / "batches.meta.txt").write_text("\n".join(packed.NAMES) + "\n\n", encoding="ascii")
    return folder


@pytest.fixture
def folder(tmp_path, monkeypatch):
    found = write(tmp_path / "own" / "cifar-10-batches-bin")
    monkeypatch.setenv("MINIFP_DATA", str(found))
    return found


def expected(names):
    rows = np.concatenate([records(name, n, 10) for name, n in names.items()])
    return rows[:, 1:].reshape(-1, 3, 32, 32), rows[:, 0]


def test_it_is_pictures_of_classes_in_order_that_stay_bytes_until_they_are_asked_for(folder):
    for part, names, said in zip(data.cifar10(), (TRAIN, TEST), ("train", "test")):
        pixels, labels = expected(names)
        x, t = part.arrays
        mean, deviation = np.reshape([0.4914, 0.4822, 0.4465, 0.2470, 0.2435, 0.2616], (2, 3, 1, 1))
        assert (x.dtype, t.dtype, len(part)) == (np.float32, np.int64, len(pixels))
        np.testing.assert_array_equal(x, ((pixels / 255 - mean) / deviation).astype(np.float32))
        np.testing.assert_array_equal(t, labels)
        assert part.classes == packed.NAMES and part.name == f"CIFAR-10, {said}"
    raw, _ = data.cifar10(normalize=False)
    assert raw.arrays[0].dtype == np.float32
    np.testing.assert_array_equal(raw.arrays[0], expected(TRAIN)[0])
    train, _ = data.cifar10()
    x, t = train.arrays
    assert train.held[0].dtype == np.uint8 and train.held[0].shape == x.shape
    for index in (3, slice(2, 9), np.array([5, 1, 1]), np.array([], int)):
        for part, whole in zip(train[index], (x, t)):
            np.testing.assert_array_equal(part, whole[index])
    assert repr(train) == f"Pictures(uint8[{HELD}, 3, 32, 32], name='CIFAR-10, train')"


@pytest.mark.parametrize("named", ["own/cifar-10-batches-bin", "own", "."])
@pytest.mark.parametrize("inside", ["own", "cifar10"])
def test_it_is_found_in_a_folder_or_its_own_inside_it(folder, tmp_path, monkeypatch, named, inside):
    if inside != "own":
        shutil.move(folder.parent, tmp_path / inside)
        named = named.replace("own", inside)
    elif named == ".":
        shutil.move(folder, tmp_path)
    monkeypatch.setenv("MINIFP_DATA", str(tmp_path / named))
    assert len(data.cifar10()[0]) == HELD


def test_cifar100_has_fine_and_coarse_labels(tmp_path, monkeypatch):
    inside = tmp_path / "cifar100" / "cifar-100-binary"
    inside.mkdir(parents=True)
    rows = {name: records(name, n, 20, 100) for name, n in (("train", 9), ("test", 4))}
    for name, part in rows.items():
        (inside / f"{name}.bin").write_bytes(part.tobytes())
    for kind, n in (("coarse", 20), ("fine", 100)):
        text = "".join(f"{kind} {i}\n" for i in range(n))
        (inside / f"{kind}_label_names.txt").write_text(text, encoding="ascii")
    monkeypatch.setenv("MINIFP_DATA", str(tmp_path))
    for kind, column, n in (("fine", 1, 100), ("coarse", 0, 20)):
        for part, name in zip(data.cifar100(labels=kind, normalize=False), rows):
            x, t = part.arrays
            np.testing.assert_array_equal(x.reshape(-1, 3072), rows[name][:, 2:])
            np.testing.assert_array_equal(t, rows[name][:, column])
            assert part.classes == [f"{kind} {i}" for i in range(n)]
            assert part.name == f"CIFAR-100, {name}"
    assert data.cifar100()[0].classes[0] == "fine 0"
    refuses(ArgumentError, 'labels must be "fine" or "coarse", got', data.cifar100, labels="medium")
    refuses(ArgumentError, "only labels and normalize, by name", data.cifar100, "folder")
    content = bytearray((inside / "train.bin").read_bytes())
    content[3074 + 1] = 100
    (inside / "train.bin").write_bytes(content)
    refuses(DataError, "train.bin: label 1 of picture 1 is 100", data.cifar100, labels="coarse")


@pytest.fixture
def cache(tmp_path, monkeypatch):
    pooch = pytest.importorskip("pooch", reason="pooch says where the cache is")
    monkeypatch.setattr(pooch, "os_cache", lambda name: tmp_path / "cache" / name)
    return tmp_path / "cache" / "minifp" / "cifar10"


def jpeg(i):
    image = pytest.importorskip("PIL.Image", reason="Pillow reads pictures")
    pixels = random.integers(0, 256, (4, 4, 3), purpose="jpeg", call=i).astype(np.uint8)
    out = io.BytesIO()
    image.fromarray(pixels.repeat(8, 0).repeat(8, 1)).save(out, "jpeg")
    return out.getvalue(), np.asarray(image.open(out)).transpose(2, 0, 1)


def pack(path, indices, **changes):
    contents = [jpeg(i)[0] for i in indices]
    arrays = {
        "jpeg": np.frombuffer(b"".join(contents), np.uint8),
        "offset": np.cumsum([0, *map(len, contents)]),
        "label": np.array(indices, np.uint8) % 10,
    }
    np.savez(path, **{**arrays, **changes})


@pytest.fixture
def jpegs(tmp_path, cache, monkeypatch):
    (tmp_path / "packs" / "cifar10").mkdir(parents=True)
    for part, indices in (("train", range(12)), ("test", range(12, 15))):
        pack(tmp_path / "packs" / "cifar10" / f"{part}.npz", [*indices])
    monkeypatch.setenv("MINIFP_DATA", str(tmp_path / "packs"))
    return tmp_path / "packs" / "cifar10"


def test_packed_pictures_are_decoded_once_and_kept_as_in_the_publication(jpegs, cache, monkeypatch):
    expected = [jpeg(i)[1] for i in range(12)]
    for _ in range(2):
        train, test = data.cifar10(normalize=False)
        np.testing.assert_array_equal(train.arrays[0], expected)
        np.testing.assert_array_equal(test.arrays[1], [2, 3, 4])
        assert (train.name, test.name) == ("CIFAR-10 (JPEG), train", "CIFAR-10 (JPEG), test")
        monkeypatch.setitem(sys.modules, "PIL", None)  # it is not needed again
    (kept,) = cache.iterdir()
    assert {p.name for p in kept.iterdir()} == {*TRAIN, *TEST, downloads.SUMS}
    (kept / "batches.meta.txt").write_text("\n".join(packed.NAMES), encoding="ascii")
    monkeypatch.setenv("MINIFP_DATA", str(kept))
    assert data.cifar10(normalize=False)[0].fingerprint() == train.fingerprint()


def test_damaged_pictures_are_not_used_and_without_pillow_none_is_read(jpegs, cache, monkeypatch):
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "PIL", None)
        refuses(DataError, "train.npz holds JPEG.*Pillow.* pip install pillow", data.cifar10)
    first = data.cifar10()[1].fingerprint()
    (kept,) = cache.iterdir()
    (kept / "test_batch.bin").write_bytes(bytes(3 * 3073))
    assert data.cifar10()[1].fingerprint() == first
    pack(jpegs / "test.npz", [14, 13])
    assert data.cifar10()[1].arrays[1].tolist() == [4, 3] and len([*cache.iterdir()]) == 2


def test_where_nothing_can_be_kept_pictures_are_decoded_each_time(jpegs, cache, monkeypatch):
    cache.parent.parent.write_bytes(b"a file where the cache would be")
    assert [len(part) for part in data.cifar10()] == [12, 3]
    monkeypatch.setitem(sys.modules, "pooch", None)
    assert [len(part) for part in data.cifar10()] == [12, 3]


@pytest.mark.parametrize("changes, message", [
    ({"label": np.array([1, 2, 10])}, "labels from 1 to 10, expected 0 to 9"),
    ({"label": np.array([0.5, 1, 2])}, "expected bytes in jpeg, integers in offset and label"),
    ({"label": np.array([1, 2])}, "its 2 labels, 4 bounds and .* bytes do not fit"),
    ({"offset": np.array([0, 9, 5, 99])}, "do not fit"),
    ({"jpeg": np.zeros(9, np.uint8), "offset": np.array([0, 3, 6, 9])}, "picture 0 cannot be"),
    ({"jpeg": np.array([{}], object)}, "expected the arrays jpeg, offset, label"),
    (b"no file of NumPy's", r"expected the arrays .* move it out of the cifar10 folder"),
])  # fmt: skip
def test_a_packed_file_of_another_layout_is_named(jpegs, changes, message):
    path = jpegs / "test.npz"
    if isinstance(changes, bytes):
        path.write_bytes(changes)
    else:
        pack(path, [1, 2, 3], **changes)
    with pytest.raises(DataError, match=message) as raised:
        data.cifar10()
    assert str(path) in str(raised.value)


@pytest.mark.parametrize("change, message", [
    (lambda content: content[:-1], "has 9218 bytes, expected records of 3073 bytes each"),
    (lambda content: content + b"\0", "has 9220 bytes"),
    (lambda content: content[:3073] + b"\x0a" + content[3074:], "0 of picture 1 is 10, .*to 9"),
])  # fmt: skip
def test_a_file_of_another_layout_is_named_and_what_is_wrong_with_it(folder, change, message):
    path = folder / "data_batch_2.bin"
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(DataError, match=message) as raised:
        data.cifar10()
    assert str(path) in str(raised.value)


@pytest.mark.parametrize("names", [packed.NAMES[:9], [*packed.NAMES[:9], "airplane"], ["\0" * 9]])
def test_names_of_classes_must_be_ten_different_ones(folder, names):
    (folder / "batches.meta.txt").write_text("\n".join(names), encoding="ascii")
    refuses(DataError, "batches.meta.txt: expected 10 different names", data.cifar10)


def test_files_that_are_missing_empty_or_too_long_are_refused(folder, monkeypatch):
    (folder / "test_batch.bin").write_bytes(b"")
    refuses(DataError, "no picture to test with", data.cifar10)
    monkeypatch.setattr(cifar, "LARGEST", 5000)
    refuses(DataError, "data_batch_1.bin has 5001 bytes or more", data.cifar10)
    (folder / "data_batch_3.bin").unlink()
    refuses(DataError, r"cifar10: the folder .* lacks data_batch_3.bin \(each", data.cifar10)


@pytest.mark.parametrize("get, path, said", [
    (data.cifar10, "data_batch_1", "cifar-10-binary.tar.gz"),
    (data.cifar10, "cifar-10-batches-py/data_batch_1", "cifar-10-binary.tar.gz"),
    (data.cifar100, "cifar100/cifar-100-python/train", "cifar-100-binary.tar.gz"),
])  # fmt: skip
def test_pickles_are_not_read_and_what_is_instead_is_said(tmp_path, monkeypatch, get, path, said):
    (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / path).write_bytes(b"cos\nsystem\n.")
    monkeypatch.setenv("MINIFP_DATA", str(tmp_path))
    refuses(DataError, f"pickles and can run code.*{said}", get)


def tar(path, files):
    """A compressed archive of files by name; None is a link to /etc/passwd."""
    with tarfile.open(path, "w:gz", compresslevel=1) as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            if content is None:
                entry.type, entry.linkname = tarfile.SYMTYPE, "/etc/passwd"
            else:
                entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content or b""))


@pytest.fixture
def network(tmp_path, cache, monkeypatch):
    """Pooch with a temporary cache and a folder for the mirror; what is asked, and `pack`."""
    import pooch

    pytest.importorskip("requests", reason="pooch downloads with it")
    monkeypatch.delenv("MINIFP_DATA", raising=False)
    source = write(tmp_path / "source" / cifar.CIFAR10.folder)
    files = {f"{source.name}/{path.name}": path.read_bytes() for path in source.iterdir()}

    class Network:
        asked, archive = [], source.parent / cifar.CIFAR10.archive

        def pack(self, **changes):
            tar(self.archive, {**files, "../outside": b"!", f"{source.name}/more": b"!", **changes})
            self.expect(hashlib.sha256(self.archive.read_bytes()).hexdigest())

        def expect(self, checksum):
            monkeypatch.setattr(cifar, "CIFAR10", cifar.CIFAR10._replace(checksum=checksum))

    def choose_downloader(address, **_):
        def download(address, output, _):
            Network.asked.append(address)
            shutil.copy(address, output)

        return download

    Network().pack()
    monkeypatch.setattr(pooch.core, "choose_downloader", choose_downloader)
    monkeypatch.setattr(cifar, "MIRRORS", (f"{tmp_path}/down/", f"{source.parent}/"))
    return Network()


def below(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


def test_it_is_downloaded_once_and_not_for_plans_and_only_its_files_are_unpacked(network, cache):
    with downloads.planned():
        assert [*map(len, data.cifar10())] == [50_000, 10_000]  # of black pictures
    for names in ("skips", "translation-en-fr"):
        refuses(DataError, "a plan downloads nothing", estimate, names, "quick", None, lab.Where())
    assert network.asked == []
    with ThreadPool(2) as two:  # programs at once
        (train, _), (same, _) = two.map(lambda _: data.cifar10(), range(2))
    assert len(train) == len(same) == HELD
    assert [address.rpartition("/")[2] for address in network.asked] == [cifar.CIFAR10.archive] * 2
    names = [downloads.SUMS, "batches.meta.txt", *TRAIN, *TEST]
    assert below(cache) == [f"{cifar.CIFAR10.folder}/{name}" for name in names]
    network.asked.clear()
    assert data.cifar10()[0].fingerprint() == train.fingerprint() and network.asked == []


@pytest.mark.parametrize("name", ["data_batch_1.bin", downloads.SUMS])
@pytest.mark.parametrize("harm", [Path.unlink, lambda path: path.write_bytes(b"damaged")])
def test_a_cached_file_that_is_lost_or_damaged_is_got_again(network, cache, harm, name):
    first = data.cifar10()[0].fingerprint()
    harm(cache / cifar.CIFAR10.folder / name)
    assert data.cifar10()[0].fingerprint() == first


def test_an_archive_that_is_in_the_cache_already_is_used(network, cache, monkeypatch):
    cache.mkdir(parents=True)
    shutil.copy(network.archive, cache)
    monkeypatch.setattr(cifar, "MIRRORS", ("nowhere/",))
    assert len(data.cifar10()[0]) == HELD and network.asked == []


def test_an_archive_with_a_link_or_without_a_file_is_refused_and_none_of_it_kept(network, cache):
    network.pack(**{"cifar-10-batches-bin/data_batch_1.bin": None})
    refuses(DataError, "(?s)not be unpacked: .*_1.bin is not a file.*MINIFP_DATA", data.cifar10)
    assert below(cache) == [cifar.CIFAR10.archive]
    for content in (gzip.compress(b""), b"no archive", network.archive.read_bytes()[:3000]):
        network.archive.write_bytes(content)
        network.expect(hashlib.sha256(content).hexdigest())
        refuses(DataError, "could not be unpacked", data.cifar10)
