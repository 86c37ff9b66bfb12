"""Pictures with boxes in COCO's format."""

import numpy as np
import pytest
from boxed_pictures import coco, pixels, write_coco
from refusals import refuses

from minifp.data import CocoDetection
from minifp.errors import DataError

Image = pytest.importorskip("PIL.Image", reason="Pillow reads pictures")


def test_pictures_are_in_the_order_of_their_ids_with_labels_from_1(tmp_path):
    data = CocoDetection(tmp_path, write_coco(tmp_path, Image))
    assert (data.ids, data.category_ids, data.name) == ([3, 7], [0, 4, 18], "instances")
    assert data.classes == ["__background__", "cat", "dog"]
    picture, target = data[1]
    expected = (pixels(0).transpose(2, 0, 1) / 255).astype(np.float32)
    np.testing.assert_array_equal(picture, expected)
    # corners, and what is outside by less than a pixel cut off
    assert target["boxes"].tolist() == [[2, 3, 12.5, 23], [0, 0, 40, 30]]
    assert target["labels"].tolist() == [2, 1] and target["iscrowd"].tolist() == [False, True]
    np.testing.assert_array_equal(target["area"], np.float32([99.5, 40.4 * 30]))
    assert target["image_id"] == 7 and target["boxes"].dtype == target["area"].dtype == np.float32
    _, empty = data[0]  # whose size the file does not say
    assert {k: v.shape for k, v in empty.items()} == {
        "boxes": (0, 4), "labels": (0,), "area": (0,), "iscrowd": (0,), "image_id": (),
    }  # fmt: skip


def test_areas_are_scaled_with_boxes_and_boxes_without_any_can_be_left_out(tmp_path):
    target = CocoDetection(tmp_path, write_coco(tmp_path, Image), size=(15, 10)).load()[1][1]
    np.testing.assert_array_equal(target["boxes"][0], np.float32([0.5, 1.5, 3.125, 11.5]))
    np.testing.assert_allclose(target["area"], np.float32([99.5, 40.4 * 30]) / 8, rtol=2e-7)
    path = write_coco(tmp_path, Image, **one(bbox=[1, 2, 0, 3]))
    _, target = CocoDetection(tmp_path, path, empty_boxes="drop")[1]
    assert target["labels"].tolist() == [1] and len(target["area"]) == len(target["boxes"]) == 1


def one(**changes):
    first, second = coco()["annotations"]
    return {"annotations": [{**first, **changes}, second]}


@pytest.mark.parametrize("changes, message", [
    ({"images": 3}, "expected an object with lists images, categories, annotations, no images"),
    ({"categories": [{"name": "a"}]}, "entry 0 of categories has no id"),
    ({"annotations": [3]}, "entry 0 of annotations has no image_id, category_id, bbox"),
    ({"images": [coco()["images"][0]] * 2}, "the id 7 appears twice in images"),
    ({"categories": [{"id": "4", "name": "a"}]}, "the id '4' in categories is not an integer"),
    ({"categories": [{"id": 10**400, "name": "a"}]}, "in categories is not an integer"),
    (one(bbox=[1, 2, 3, 10**400]), "bbox is"),
    (one(image_id=8), "annotation 1: image_id is 8, which is no picture of this file"),
    (one(category_id=[]), r"category_id is \[\], which is no category"),
    (one(bbox=[1, 2, 3]), r"bbox is \[1, 2, 3\], expected \[x, y, width, height\]"),
    (one(bbox=[1, 2, float("nan"), 3]), "bbox is .*nan"),
    (one(bbox=[1, 2, 3, None]), "bbox is .*None"),
    (one(bbox=[9, 2, -3, 3]), "whose width or height is below 0"),
    (one(area="big"), "area is 'big' and iscrowd None, expected a number"),
    (one(iscrowd=2), "iscrowd 2, expected a number, and 0 or 1"),
    (one(bbox=[1, 2, 0, 3]), r"picture 7 \(seven.png\): box 0 is \(1, 2, 1, 5\), expected"),
    (one(bbox=[1, 2, 41, 3]), r"box 0 is \(1, 2, 42, 5\), outside of a picture of 40 x 30"),
    (one(bbox=[45, 2, 1, 3]), r"box 0 is \(45, 2, 46, 5\), outside of"),
    ({"images": [{"id": 7, "file_name": "eight.png"}]}, "picture 7, 'eight.png', is not in '"),
])  # fmt: skip
def test_a_wrong_file_is_named_and_what_is_wrong_with_it(tmp_path, changes, message):
    path = write_coco(tmp_path, Image, **changes)
    with pytest.raises(DataError, match=message) as raised:
        CocoDetection(tmp_path, path)
    assert str(raised.value).startswith(str(path))


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"\xff\xfe", b"[" * 100_000, None])
def test_what_is_no_such_file_is_named(tmp_path, content):
    path = tmp_path / "instances.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DataError, match="cannot be read as JSON|expected an object") as raised:
        CocoDetection(tmp_path, path)
    assert str(raised.value).startswith(str(path))


def test_a_damaged_or_resized_picture_is_named(tmp_path):
    data, path = CocoDetection(tmp_path, write_coco(tmp_path, Image)), tmp_path / "seven.png"
    Image.fromarray(pixels(0, (30, 50))).save(path)
    refuses(DataError, "seven.png has 50 x 30 pixels .*, its annotation says 40", lambda: data[1])
    path.write_bytes(b"no picture")
    refuses(DataError, "seven.png cannot be read as a picture", lambda: data[1])
