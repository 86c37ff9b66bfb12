"""BCCD: found as a folder or an archive, unpacked once, and downloaded."""

import shutil
import tarfile
import zipfile
from pathlib import Path

import pytest
from boxed_pictures import write_voc
from refusals import refuses

from minifp import data
from minifp.data import archives, downloads
from minifp.data.detection import blood_cells
from minifp.data.whereabouts import whereabouts
from minifp.errors import ArgumentError, DataError

Image = pytest.importorskip("PIL.Image", reason="Pillow reads pictures")
pooch = pytest.importorskip("pooch", reason="pooch says where the cache is")
CELLS = {
    "cell-1": [("RBC", (1, 1, 9, 9)), ("Platelets", (3, 3, 5, 4))],
    "cell-2": [("WBC", (2, 2, 20, 20)), ("RBC", (7, 7, 7, 7))],
    "cell-3": [("RBC", (5, 5, 9, 9))],
}
SPLITS = {"trainval": [1, 2], "test": [3], "train": [2], "val": [1]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = write_voc(tmp_path_factory.mktemp("cells") / "BCCD", Image, CELLS)
    for split, numbers in SPLITS.items():
        text = "".join(f"cell-{i}\n" for i in numbers)
        (made / "ImageSets" / "Main" / f"{split}.txt").write_text(text, encoding="utf-8")
    return made


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setattr(pooch, "os_cache", lambda name: tmp_path / "cache" / name)
    return tmp_path / "cache" / "minifp" / "bccd"


def packed(folder, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as out:
            out.writestr("Dataset/../evil.txt", "x")
            for file in sorted(folder.rglob("*")):
                out.write(file, Path("Dataset") / "BCCD" / file.relative_to(folder))
    else:
        with tarfile.open(path, "w:xz") as out:
            out.add(folder, "BCCD")
    return path


def check(parts):
    train, test = parts
    assert (train.name, test.name, len(train), len(test)) == ("BCCD, train", "BCCD, test", 2, 1)
    assert train.classes == ["__background__", "RBC", "WBC", "Platelets"]
    # the point at 7, 7 is left out
    assert [t["labels"].tolist() for t in train.targets] == [[1, 3], [2]]
    assert test[0][1]["boxes"].tolist() == [[4, 4, 9, 9]] and test[0][0].shape == (3, 30, 40)


@pytest.mark.parametrize("place", ["BCCD", "bccd/BCCD", "bccd"])
def test_a_folder_is_found(folder, tmp_path, monkeypatch, place):
    shutil.copytree(folder, tmp_path / "own" / place)
    monkeypatch.setenv("MINIFP_DATA", str(tmp_path / "own"))
    check(data.bccd())
    assert whereabouts("bccd") == f"in {tmp_path / 'own' / place}"
    validated = data.bccd(tested="val", size=(15, 20))
    assert [len(part) for part in validated] == [1, 1] and validated[1].name == "BCCD, val"
    assert validated[0][0][0].shape == (3, 15, 20)
    assert validated[1][0][1]["boxes"].tolist() == [[0, 0, 4.5, 4.5], [1, 1, 2.5, 2]]


@pytest.mark.parametrize("name", ["bccd.tar.xz", "bccd/bccd.zip", "BCCD_Dataset-1.0.zip"])
def test_an_archive_is_unpacked_once_into_the_cache(folder, tmp_path, cache, monkeypatch, name):
    path = packed(folder, tmp_path / "own" / name)
    monkeypatch.setenv("MINIFP_DATA", str(tmp_path / "own"))
    check(data.bccd())
    (kept,) = cache.iterdir()
    files = {p.relative_to(kept).as_posix() for p in kept.rglob("*") if p.is_file()}
    there = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}
    assert files == {downloads.SUMS, *there} and not [*tmp_path.rglob("evil*")]
    with monkeypatch.context() as patch:
        patch.setattr(archives, "opened", lambda *_: pytest.fail("unpacked again"))
        check(data.bccd())
    (kept / "Annotations" / "cell-1.xml").write_bytes(b"damaged")
    check(data.bccd())
    assert whereabouts("bccd") == f"in {path}"


def test_it_is_downloaded_where_it_is_not_there(folder, tmp_path, cache, monkeypatch):
    monkeypatch.delenv("MINIFP_DATA", raising=False)
    archive, asked = packed(folder, tmp_path / "mirror" / blood_cells.PUBLISHED), []

    def retrieve(url, known, name, path, progressbar):
        asked.append((url, known))
        path.mkdir(parents=True, exist_ok=True)
        return shutil.copy(archive, path / name)

    monkeypatch.setattr(pooch, "retrieve", retrieve)
    assert whereabouts("bccd") == f"will be downloaded into {cache} (8 MB)"
    for _ in range(2):
        check(data.bccd())
    (found,) = asked
    assert found == (blood_cells.MIRRORS[0] + "v1.0.zip", f"sha256:{blood_cells.CHECKSUM}")
    (kept,) = cache.iterdir()  # and no archive
    assert whereabouts("bccd") == f"in {kept}"


def test_what_is_no_such_archive_is_named(folder, tmp_path, cache, monkeypatch):
    path = packed(folder, tmp_path / "own" / "bccd.tar.xz")
    monkeypatch.setenv("MINIFP_DATA", str(tmp_path / "own"))
    content = path.read_bytes()
    for wrong in (content[: len(content) // 2], content[:3], b"no archive"):
        path.write_bytes(wrong)
        refuses(DataError, "(?s)tar.xz' could not be unpacked.* download the arch", data.bccd)
    path.write_bytes(content)
    for bound, words in (("LARGEST", "is file 1, .*: too many"), ("TOTAL", "in all: too many")):
        with monkeypatch.context() as patch:
            patch.setattr(archives, bound, 5)
            refuses(DataError, words, data.bccd)
    with monkeypatch.context() as patch:
        patch.setattr(blood_cells, "FILES", "(nothing)")
        refuses(DataError, "is another archive: it has no .nothing.", data.bccd)
    cache.parent.parent.write_bytes(b"a file where the cache would be")
    refuses(DataError, "could not be unpacked into .*Make room there", data.bccd)
    monkeypatch.setitem(__import__("sys").modules, "pooch", None)
    refuses(DataError, "pip install pooch. Or unpack the archive", data.bccd)
    monkeypatch.delenv("MINIFP_DATA")
    assert whereabouts("bccd").startswith("not in MINIFP_DATA, and downloading")


def test_arguments_that_cannot_be_are_refused(folder, monkeypatch):
    monkeypatch.setenv("MINIFP_DATA", str(folder))
    refuses(ArgumentError, "tested='train': expected one of 'test", data.bccd, tested="train")
    refuses(ArgumentError, "only size and tested, by name.*MINIFP_DATA", data.bccd, "folder")
    monkeypatch.setenv("MINIFP_DATA", str(folder / "nowhere"))
    assert "which is not a folder" in whereabouts("bccd")
