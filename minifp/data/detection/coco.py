"""Pictures with boxes in COCO's format: one JSON file for all of them.

    {"images": [{"id", "file_name", "width", "height"}, ...],
     "categories": [{"id", "name"}, ...],
     "annotations": [{"id", "image_id", "category_id", "bbox": [x, y, width, height],
                      "area", "iscrowd"}, ...]}

Source: Lin and others, "Microsoft COCO", arXiv 1405.0312, and https://cocodataset.org/#format-data.
"""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from minifp.checks import check_choice
from minifp.data.detection.boxed import PictureFiles, Sample, boxes_in, sizes_of
from minifp.data.detection.targets import BACKGROUND
from minifp.data.detection.voc import EMPTY
from minifp.data.pillow import need_pillow
from minifp.errors import DataError
from minifp.runtime import untrusted
from minifp.typing import Ints

LISTS = {  # what a file must have, and what each entry of it
    "images": ("id", "file_name"),
    "categories": ("id", "name"),
    "annotations": ("image_id", "category_id", "bbox"),
}
LONGEST = 2**32  # bytes of a list of annotations
LARGEST = 2**53  # of numbers; JSON's integers have no end
SLACK = 1.0  # pixels by which COCO's own boxes, which are rounded, may be outside


class CocoDetection(PictureFiles):
    """The pictures of a COCO annotation file, with boxes.

    folder: where the pictures are. annotation_file: such as instances_val2017.json.
    size: a number, or (height, width), to which each picture is resized, bicubically and whole, and
        its boxes with it; None leaves each its own.
    empty_boxes: "raise" for a box of no width or height, or "drop" to leave it out.

    Labels are 1, 2, ... in the order of the categories' ids; `.category_ids[label]` is the id that
    COCO has for it (0 for the background), and `.classes[label]` its name. Pictures are in the
    order of their ids, `.ids`; those without annotations are there too. An item is (picture
    (3, H, W), float32 from 0 to 1, target) for one index; targets have "boxes", "labels", "area",
    "iscrowd" and "image_id". A box that is outside of its picture by up to a pixel is cut off.
    `.load()` reads all pictures into memory. Raises DataError, which names the file, where it or a
    picture is missing or damaged, or an annotation is of no picture, of no category, without a box,
    or outside of its picture.
    """

    def __init__(
        self,
        folder: str | os.PathLike,
        annotation_file: str | os.PathLike,
        *,
        size: Ints | None = None,
        empty_boxes: str = "raise",
    ) -> None:
        check_choice("CocoDetection: empty_boxes", empty_boxes, EMPTY)
        folder, path = Path(folder), Path(annotation_file)
        content = read_annotations(path)
        categories = by_id(path, "categories", content["categories"])
        images = by_id(path, "images", content["images"])
        labels = {number: label for label, number in enumerate(sorted(categories), 1)}
        self.category_ids = [0, *labels]
        self.ids = sorted(images)
        of_image: dict[int, list] = {number: [] for number in images}
        for i, annotation in enumerate(content["annotations"]):
            check_annotation(path, i, annotation, images, labels)
            of_image[annotation["image_id"]].append(annotation)
        samples = [
            sample(path, folder, images[number], of_image[number], labels, empty_boxes)
            for number in self.ids
        ]
        names = [BACKGROUND, *(str(categories[number]["name"]) for number in labels)]
        super().__init__(samples, name=path.stem, classes=names, size=size)


def read_annotations(path: Path) -> dict[str, list]:
    """The lists of an annotation file. Raises DataError where they are not there."""
    try:
        content = json.loads(untrusted.content(path, LONGEST))
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"{path} cannot be read as JSON: {error}") from error
    for name, keys in LISTS.items():
        entries = content.get(name) if isinstance(content, dict) else None
        if not isinstance(entries, list):
            raise DataError(f"{path}: expected an object with lists {', '.join(LISTS)}, no {name}")
        for i, entry in enumerate(entries):
            missing = [k for k in keys if not isinstance(entry, dict) or k not in entry]
            if missing:
                raise DataError(f"{path}: entry {i} of {name} has no {', '.join(missing)}")
    return content


def by_id(path: Path, name: str, entries: list[dict]) -> dict[int, dict]:
    """Entries by their ids. Raises DataError for an id that is there twice, or no integer."""
    entry_of: dict[int, dict] = {}
    for entry in entries:
        number = entry["id"]
        if not isinstance(number, int) or not is_number(number):
            raise DataError(f"{path}: the id {str(number)[:99]!r} in {name} is not an integer")
        if number in entry_of:
            raise DataError(f"{path}: the id {number} appears twice in {name}")
        entry_of[number] = entry
    return entry_of


def check_annotation(path, i, annotation, images, labels) -> None:
    """Raise DataError for an annotation that is not of a picture, a category and a box."""
    where = f"{path}: annotation {annotation.get('id', i)}"
    for key, known, what in (("image_id", images, "picture"), ("category_id", labels, "category")):
        if not isinstance(number := annotation[key], int) or number not in known:
            raise DataError(f"{where}: {key} is {number!r}, which is no {what} of this file")
    box = annotation["bbox"]
    if not isinstance(box, list) or len(box) != 4 or not all(map(is_number, box)):
        raise DataError(f"{where}: bbox is {box!r}, expected [x, y, width, height]")
    if box[2] < 0 or box[3] < 0:
        raise DataError(f"{where}: bbox is {box!r}, whose width or height is below 0")
    if not is_number(annotation.get("area", 0)) or annotation.get("iscrowd", 0) not in (0, 1):
        both = f"area is {annotation.get('area')!r} and iscrowd {annotation.get('iscrowd')!r}"
        raise DataError(f"{where}: {both}, expected a number, and 0 or 1")


def is_number(value: Any) -> bool:
    """Whether JSON's value is a finite number, such as can be in pixels."""
    is_real = isinstance(value, (int, float)) and not isinstance(value, bool)
    return is_real and abs(value) < LARGEST  # not so of NaN


def sample(path, folder, image, annotations, labels, empty) -> Sample:
    """What is known of a picture. Raises DataError where its file is missing, or a box wrong."""
    file = folder / str(image["file_name"])
    if not file.is_file():
        picture = f"the picture {image['id']}, {image['file_name']!r}"
        raise DataError(f"{path}: {picture}, is not in {str(folder)!r}")
    sides = image.get("height"), image.get("width")
    size = sides if all(isinstance(n, int) and n > 0 for n in sides) else None
    if size is None:
        size, _ = sizes_of(need_pillow(f"CocoDetection({str(path)!r})"), file)
    corners = [[x, y, x + wide, y + high] for x, y, wide, high in (f["bbox"] for f in annotations)]
    where = f"{path}: picture {image['id']} ({image['file_name']})"
    boxes, which = boxes_in(where, corners, size, empty=empty, slack=SLACK)
    areas = np.array([f.get("area", f["bbox"][2] * f["bbox"][3]) for f in annotations], np.float32)
    target = {
        "boxes": boxes,
        "labels": np.array([labels[f["category_id"]] for f in annotations], np.int64)[which],
        "area": areas[which],
        "iscrowd": np.array([f.get("iscrowd", 0) for f in annotations], bool)[which],
        "image_id": np.array(image["id"]),
    }
    return Sample(str(file), target, size)
