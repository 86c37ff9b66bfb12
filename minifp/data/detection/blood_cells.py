"""BCCD: blood cells under a microscope, 364 pictures of 640 x 480 with boxes of three classes.

Source: Shenggan and Cosmic, "BCCD dataset", https://github.com/Shenggan/BCCD_Dataset (MIT).
"""

from pathlib import Path

from minifp.checks import check_choice
from minifp.data import archives, downloads, files
from minifp.data.detection.boxed import BoxedPictures
from minifp.data.detection.voc import VOCDetection
from minifp.data.images import from_no_path
from minifp.typing import Ints

CLASSES = ("RBC", "WBC", "Platelets")  # red cells, white cells, platelets
FOLDER = "BCCD"
PARTS = "Annotations", "ImageSets", "JPEGImages"
# The publication's archive, which browsers call by the second name; the SHA-256 is that of
# TensorFlow Datasets.
PUBLISHED, ALSO = "v1.0.zip", "BCCD_Dataset-1.0.zip"
CHECKSUM = "97af5cc16d14d293fcb3c82a8f66e49b0339a8d0abd8e9508e0feeb4911caa1f"
MIRRORS = ("https://github.com/Shenggan/BCCD_Dataset/archive/",)
ARCHIVES = ("bccd.tar.xz", "bccd.tar.gz", "bccd.zip", ALSO)
FILES = rf"(?:.+/)?{FOLDER}/((?:Annotations|JPEGImages|ImageSets/Main)/[\w-]+\.(?:xml|jpg|txt))"
SPLITS = {"test": ("trainval", "test"), "val": ("train", "val")}


@from_no_path
def bccd(*, size: Ints | None = None, tested: str = "test") -> tuple[BoxedPictures, BoxedPictures]:
    """Return BCCD, pictures of blood cells with boxes: those to train and those to test with.

    tested: "test" for the official 72 to test and 292 to train with; "val" for those of the latter
        that are there to choose settings by, 87, and the 205 others.
    size: a number, or (height, width), to which pictures and boxes are scaled, such as (120, 160);
        None leaves 480 x 640. They are kept as bytes: 336 MB in all, or 21 MB at 120 x 160.

    Each item is (picture (3, H, W), float32 from 0 to 1, target) for one index; labels 1, 2 and 3
    are red cells, white cells and platelets: see `.classes`. Two boxes of red cells, in
    BloodImage_00338 and BloodImage_00343, are points without area, and are left out; 4,886 remain,
    none of them marked difficult.

    A folder BCCD, or an archive of it (bccd.tar.xz, bccd.zip or BCCD_Dataset-1.0.zip), which is
    unpacked once into the user's cache, is looked for in the folder that MINIFP_DATA names, or in
    bccd inside it; else it is in the cache, or downloaded (8 MB; the archive's checksum is known).
    Raises DataError where files are damaged, missing, or cannot be had, or no Pillow is there.
    """
    check_choice("bccd: tested", tested, SPLITS)
    root = folder()
    whole, test = (
        VOCDetection(root, split, classes=CLASSES, size=size, empty_boxes="drop")
        for split in SPLITS[tested]
    )
    whole.name, test.name = "BCCD, train", f"BCCD, {tested}"
    return whole.load(), test.load()


def folder() -> Path:
    """Where its files are, unpacked or downloaded if need be. Raises DataError."""
    place = local()
    if place is None:
        return downloaded()
    return place if place.is_dir() else archives.unpacked("bccd", place, FILES)


def local() -> Path | None:
    """The folder, or an archive of it, in one of the places for data sets."""
    for place in files.places("bccd", [FOLDER]):
        if all((place / part).is_dir() for part in PARTS):
            return place
        archive = next((place / name for name in ARCHIVES if (place / name).is_file()), None)
        if archive is not None:
            return archive
    return None


def in_cache() -> Path:
    """Its folder in the user's cache, where it was downloaded. Raises DataError without pooch."""
    return archives.folder_in_cache("bccd", CHECKSUM)


def downloaded() -> Path:
    """The folder in the user's cache, from the publication. Raises DataError."""
    place = in_cache()
    if downloads.is_whole(place, None):
        return place
    archive = downloads.archive("bccd", PUBLISHED, CHECKSUM, MIRRORS, [ALSO])
    place = archives.unpacked("bccd", archive, FILES, CHECKSUM)
    archive.unlink()
    return place
