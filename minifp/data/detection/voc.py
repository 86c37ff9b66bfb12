"""Pictures with boxes in the layout of Pascal VOC: a text file of names, an XML file for each.

    ImageSets/Main/train.txt     the names of the pictures of a split, one a line
    Annotations/NAME.xml         what is to be found: <object> with <name>, <bndbox>, <difficult>
    JPEGImages/NAME.jpg

Source: Everingham and Winn, "The PASCAL Visual Object Classes Challenge 2012 development kit".
"""

import math
import os
import re
from collections.abc import Sequence
from pathlib import Path
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

import numpy as np

from minifp.checks import check_choice
from minifp.data import files
from minifp.data.detection.boxed import PictureFiles, Sample, boxes_in
from minifp.data.detection.targets import BACKGROUND
from minifp.errors import ArgumentError, DataError
from minifp.typing import Ints

VOC_CLASSES = tuple(
    "aeroplane bicycle bird boat bottle bus car cat chair cow diningtable dog horse motorbike "
    "person pottedplant sheep sofa train tvmonitor".split()
)
LARGEST = 2**24  # bytes of an annotation, or of a list
EDGES = ("xmin", "ymin", "xmax", "ymax")
EMPTY = ("raise", "drop")


class VOCDetection(PictureFiles):
    """The pictures of a split in a folder of Pascal VOC's layout, with boxes.

    root: the folder that has Annotations, ImageSets and JPEGImages. split: a list in
        ImageSets/Main, such as "train" of train.txt.
    classes: the names of what may be there, in the order of their labels, from 1; by default the 20
        of VOC. `.classes` has the background before them.
    size: a number, or (height, width), to which each picture is resized, bicubically and whole, and
        its boxes with it; None leaves each its own.
    empty_boxes: "raise" where xmin is xmax, or ymin is ymax; "drop" leaves such boxes out.
    first_pixel: what a file calls the first column and row. VOC counts from 1, and xmax is the last
        column inside: then a box is (xmin - 1, ymin - 1, xmax, ymax). For files that count from 0,
        and whose xmax is an edge, give 0: it is (xmin, ymin, xmax, ymax).

    An item is (picture (3, H, W), float32 from 0 to 1, target) for one index; targets have "boxes",
    "labels", "difficult" and "image_id". `.ids` are the pictures' names. `.load()` reads all of
    them into memory. Raises DataError, which names the file, where a list, an annotation or a
    picture is missing or damaged, a class is unknown, or a box is outside of its picture.
    """

    def __init__(
        self,
        root: str | os.PathLike,
        split: str = "train",
        *,
        classes: Sequence[str] = VOC_CLASSES,
        size: Ints | None = None,
        empty_boxes: str = "raise",
        first_pixel: int = 1,
    ) -> None:
        check_choice("VOCDetection: empty_boxes", empty_boxes, EMPTY)
        if first_pixel not in (0, 1) or isinstance(first_pixel, bool):
            value = f"first_pixel={first_pixel!r}"
            raise ArgumentError(f"VOCDetection: {value}: expected 1, as VOC counts, or 0")
        root, numbers = Path(root), {name: i for i, name in enumerate(classes, 1)}
        self.ids = names_in(root, split)
        reader = Annotations(numbers, empty_boxes, first_pixel)
        samples = [reader.sample(root, name, i) for i, name in enumerate(self.ids)]
        names = [BACKGROUND, *classes]
        super().__init__(samples, name=f"{root}, {split}", classes=names, size=size)


def names_in(root: Path, split: str) -> list[str]:
    """The names of the pictures of a split, in their order. Raises DataError."""
    lists = root / "ImageSets" / "Main"
    path = lists / f"{split}.txt"
    if not path.is_file():
        there = ", ".join(sorted(p.stem for p in lists.glob("*.txt"))) or "none"
        raise DataError(
            f"VOCDetection: there is no {path}, the list of the split {split!r}; lists there: "
            f"{there}. Expected a folder with ImageSets/Main, Annotations and JPEGImages."
        )
    text = files.read(path, LARGEST).decode("utf-8", errors="replace")
    # lists of one class have behind each name whether it is there: 1, -1 or, where hard to see, 0
    names = [re.sub(r"\s+(-1|0|1)$", "", line.strip()) for line in text.splitlines()]
    names = [name for name in names if name]
    wrong = [name for name in names if not re.fullmatch(r"[^/\\\0]+", name) or name[0] == "."]
    if wrong:
        raise DataError(f"{path}: expected names of pictures, one a line, got {wrong[0]!r}")
    if len({*names}) < len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise DataError(f"{path} lists {twice!r} twice")
    return names


class Annotations:
    """Reads annotations; the settings are those of VOCDetection, `numbers` the classes' labels."""

    def __init__(self, numbers: dict[str, int], empty_boxes: str, first_pixel: int) -> None:
        self.numbers, self.empty_boxes, self.first_pixel = numbers, empty_boxes, first_pixel

    def sample(self, root: Path, name: str, number: int) -> Sample:
        """What is known of a picture. Raises DataError."""
        path, picture = root / "Annotations" / f"{name}.xml", root / "JPEGImages" / f"{name}.jpg"
        for file in (path, picture):
            if not file.is_file():
                raise DataError(
                    f"{file} is missing, but the list of its split has {name!r}. Add the file, or "
                    "remove the name from the list."
                )
        tree = parsed(path)
        width, height = (int(number_in(path, tree, f"size/{side}")) for side in ("width", "height"))
        if min(width, height) < 1:
            raise DataError(f"{path}: its <size> is {width} x {height}, expected that in pixels")
        objects = tree.findall("object")
        labels = np.array([self.label(path, element) for element in objects], np.int64)
        hard = np.array([f.findtext("difficult", "0").strip() == "1" for f in objects], bool)
        boxes = [self.box(path, element) for element in objects]
        size = height, width
        boxes, which = boxes_in(str(path), boxes, size, empty=self.empty_boxes)
        target = {"boxes": boxes, "labels": labels[which], "difficult": hard[which]}
        return Sample(str(picture), {**target, "image_id": np.array(number)}, size)

    def label(self, path, element: Element) -> int:
        """The number of the class of an object."""
        name = element.findtext("name", "").strip()
        if name not in self.numbers:
            raise DataError(
                f"{path}: an object is a {name!r}, which is not a class: expected "
                f"{', '.join(self.numbers)}. Give classes=[...], all names in this data set."
            )
        return self.numbers[name]

    def box(self, path, element: Element) -> list[float]:
        """(left, top, right, bottom) of an object, from 0."""
        left, top, right, bottom = (number_in(path, element, f"bndbox/{edge}") for edge in EDGES)
        if self.first_pixel == 0 or left >= right or top >= bottom:
            return [left, top, right, bottom]
        if 0 in (left, top):
            raise DataError(
                f"{path}: an object begins at pixel {left:g}, {top:g}, but VOC counts from 1: give "
                "first_pixel=0 if this data set counts from 0"
            )
        return [left - 1, top - 1, right, bottom]


def number_in(path, tree: Element, place: str) -> float:
    """The number that stands in an element. Raises DataError where there is none."""
    text = tree.findtext(place)
    try:
        number = float(text or "")
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise DataError(f"{path}: expected a number in {place} of <{tree.tag}>, got {text!r}")
    return number


def parsed(path: Path) -> Element:
    """The tree of an XML file. Raises DataError where it is none, or declares types or entities:
    one that is made of others can fill all memory."""
    content = files.read(path, LARGEST)
    if len(content) > LARGEST:
        raise DataError(f"{path} has more than {LARGEST} bytes: it is not an annotation")
    tree, parser = TreeBuilder(), expat.ParserCreate()

    def refuse(*_):
        raise DataError(
            f"{path} declares a document type, which annotations do not need and which can fill "
            "all memory: it was not read. Remove the <!DOCTYPE ...>."
        )

    parser.StartDoctypeDeclHandler = refuse
    parser.StartElementHandler = tree.start
    parser.EndElementHandler = tree.end
    parser.CharacterDataHandler = tree.data
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        raise DataError(f"{path} is not XML: {error}. {files.DAMAGED}") from error
    return tree.close()
