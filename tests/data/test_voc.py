"""Pictures with boxes in Pascal VOC's layout, and what is wrong with files of other contents."""

import numpy as np
import pytest
from boxed_pictures import NAMES, OBJECTS, pixels, write_voc, xml
from refusals import refuses

from minifp.data import BoxedPictures, DataLoader, Subset, VOCDetection, detection_collate
from minifp.errors import ArgumentError, DataError

Image = pytest.importorskip("PIL.Image", reason="Pillow reads pictures")
# OBJECTS of "one", from 0, with edges behind the last column and row
BOXES = [[0, 0, 40, 30], [10, 5, 20, 15]]


@pytest.fixture
def root(tmp_path):
    return write_voc(tmp_path / "voc", Image)


def voc(root, split="train", **settings):
    return VOCDetection(root, split, **{"classes": NAMES, **settings})


def test_an_item_is_a_picture_and_its_boxes_from_edge_to_edge(root):
    data = voc(root)
    assert len(data) == 3 and data.ids == [*OBJECTS] and data.name == f"{root}, train"
    assert data.classes == ["__background__", "cat", "dog"]
    picture, target = data[0]
    assert picture.shape == (3, 30, 40) and picture.dtype == np.float32
    assert abs(picture - pixels(0).transpose(2, 0, 1) / 255).mean() < 0.05  # JPEG is lossy
    assert {k: v.dtype.name for k, v in target.items()} == {
        "boxes": "float32", "labels": "int64", "difficult": "bool", "image_id": "int64",
    }  # fmt: skip
    assert target["boxes"].tolist() == BOXES and target["labels"].tolist() == [2, 1]
    assert not target["difficult"].any() and data[1][1]["difficult"].tolist() == [True]
    assert data[-1][1]["boxes"].shape == (0, 4) and data[2][1]["image_id"] == 2
    target["boxes"][:] = 5
    assert data[0][1]["boxes"].tolist() == BOXES  # it is the reader's own
    assert repr(data) == f"VOCDetection('{root}, train', 3 pictures, 2 classes)"


def test_a_split_is_a_list_pictures_and_boxes_are_scaled_and_files_may_count_from_0(root):
    assert voc(root, "few").ids == ["two", "three"]
    data = voc(root, size=(15, 10))
    picture, target = data[0]
    assert picture.shape == (3, 15, 10)
    np.testing.assert_allclose(target["boxes"], [[0, 0, 10, 15], [2.5, 2.5, 5, 7.5]], rtol=1e-7)
    assert voc(root, size=8)[1][0].shape == (3, 8, 8) and "15 x 10" in repr(data)
    text = xml([("dog", (0, 0, 40, 30)), ("cat", (10.5, 5, 20, 15.25))])
    (root / "Annotations" / "one.xml").write_text(text, encoding="utf-8")
    boxes = voc(root, first_pixel=0)[0][1]["boxes"]
    assert boxes.tolist() == [[0, 0, 40, 30], [10.5, 5, 20, 15.25]]
    refuses(DataError, r"one.xml: .* at pixel 0, 0, .*: give first_pixel=0 if", voc, root)


@pytest.mark.parametrize("workers", [0, 2])
def test_all_of_it_in_memory_is_the_same(root, workers):
    data = voc(root, size=(15, 20))
    held = data.load(workers)
    assert isinstance(held, BoxedPictures) and held.pictures[0].dtype == np.uint8
    assert (held.classes, held.name, len(held)) == (data.classes, data.name, 3)
    assert held.fingerprint() == data.fingerprint() != voc(root).fingerprint()
    assert repr(held) == f"BoxedPictures(3 pictures, 3 boxes, name='{root}, train')"


def test_batches_are_lists_or_stacked(root):
    data = voc(root)
    (pictures, targets), (rest, _) = DataLoader(data, 2, collate_fn=detection_collate)
    assert [p.shape for p in pictures] == [(3, 30, 40)] * 2 and len(rest) == 1
    assert [t["boxes"].shape for t in targets] == [(2, 4), (1, 4)]

    def stacked(items):
        return detection_collate(items, stack=True)

    x, _ = next(iter(DataLoader(Subset(data, [2, 0]), 2, collate_fn=stacked)))
    assert x.shape == (2, 3, 30, 40)
    with pytest.raises(DataError, match=r"\(1, 2, 2\), \(1, 3, 2\) cannot be stacked; resize"):
        stacked([(np.ones((1, 2, 2)), {}), (np.ones((1, 3, 2)), {})])
    refuses(DataError, r"expected items \(picture, target\), got int", detection_collate, [3])


def test_without_a_collate_fn_or_pillow_it_is_said_what_to_give(root, monkeypatch):
    with pytest.raises(ArgumentError, match="collate_fn=fp.data.detection_collate"):
        next(iter(DataLoader(voc(root), 2)))
    refuses(IndexError, "has 3 pictures, none 3", lambda: voc(root)[3])
    assert len([*voc(root)]) == 3
    monkeypatch.setitem(__import__("sys").modules, "PIL", None)
    refuses(DataError, "VOCDetection.*pip install pillow", voc, root)


def of(box, name="cat"):
    return xml([("dog", (1, 1, 5, 5)), (name, box)])


BOMB = (
    '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "ha"><!ENTITY c "&b;&b;&b;&b;">]>'
    "<annotation>&c;</annotation>"
)


@pytest.mark.parametrize("content, message", [
    (of((5, 5, 5, 9)), r"box 1 is \(5, 5, 5, 9\), expected left < right and top < bottom"),
    (of((7, 5, 5, 9)), r"box 1 is \(7, 5, 5, 9\), expected left < right"),
    (of((6, 5, 5, 9)), r"box 1 is \(6, 5, 5, 9\), expected left < right"),
    (of((3, 3, 41, 9)), r"box 1 is \(2, 2, 41, 9\), outside of a picture of 40 x 30 pixels"),
    (of((0, 3, 4, 9)), r"begins at pixel 0, 3, but VOC counts from 1: give first_pixel=0"),
    (of((3, 3, 4, 9), "cow"), "is a 'cow', which is not a class: expected cat, dog. Give classes="),
    (of(("a", 3, 4, 9)), "expected a number in bndbox/xmin of <object>, got 'a'"),
    (of(("nan", 3, 4, 9)), "expected a number in bndbox/xmin"),
    (xml([]).replace("<width>", "<w>").replace("</width>", "</w>"), "number in size/width"),
    (xml([], (0, 40)), "its <size> is 40 x 0, expected that in pixels"), (xml([], (31, 40)), None),
    (of((3, 3, 4, 9))[:150], "is not XML: .*It is damaged or cut off"), ("", "is not XML"),
    (BOMB, "declares a document type, .* fill all memory: it was not read"),
])  # fmt: skip
@pytest.mark.parametrize("utf", ["utf-8", "utf-16"])
def test_a_wrong_annotation_is_named_and_what_is_wrong_with_it(root, content, message, utf):
    path = root / "Annotations" / "two.xml"
    path.write_bytes(content.encode(utf))
    with pytest.raises(DataError, match=message) as raised:
        voc(root)[1]
    named = path if message else root / "JPEGImages" / "two.jpg"
    assert str(raised.value).startswith(str(named))
    if message is None:
        for read in (lambda: voc(root)[1], voc(root).load):
            refuses(DataError, "40 x 30 pixels .*, its annotation says 40 x 31", read)


def test_boxes_without_area_can_be_left_out_but_not_turned_ones(root):
    path = root / "Annotations" / "two.xml"
    path.write_text(of((5, 5, 5, 9)), encoding="utf-8")
    target = voc(root, empty_boxes="drop")[1][1]
    assert target["labels"].tolist() == [2] and target["boxes"].tolist() == [[0, 0, 5, 5]]
    path.write_text(of((6, 5, 5, 9)), encoding="utf-8")
    refuses(DataError, r"two.xml: box 1 is \(6, 5, 5, 9\), expected", voc, root, empty_boxes="drop")


def test_a_missing_or_damaged_file_is_named(root):
    path = root / "JPEGImages" / "two.jpg"
    content = path.read_bytes()
    path.write_bytes(content[:300])
    for read in (lambda: voc(root)[1], voc(root).load, lambda: voc(root).load(workers=1)):
        refuses(DataError, r"two.jpg cannot be read as a picture: ", read)
    path.write_bytes(content[: len(content) - 60])
    refuses(DataError, r"two.jpg cannot be read as a picture: .*truncated", lambda: voc(root)[1])
    path.unlink()
    refuses(DataError, "two.jpg is missing, but the list of its split has 'two'", voc, root)
    (root / "Annotations" / "one.xml").unlink()
    refuses(DataError, "one.xml is missing", voc, root)
    refuses(DataError, r"no .*val.txt, .*; lists there: few, train\. Expected a", voc, root, "val")
    refuses(DataError, "lists there: none", voc, root / "Annotations")


@pytest.mark.parametrize("text, message", [
    ("one\none\n", "train.txt lists 'one' twice"),
    ("../one\n", "expected names of pictures, one a line, got '../one'"), ("..\n", "got '..'"),
    ("\n\n", "no picture in .*train"),
])  # fmt: skip
def test_a_list_of_other_contents_is_refused(root, text, message):
    (root / "ImageSets" / "Main" / "train.txt").write_text(text, encoding="utf-8")
    refuses(DataError, message, voc, root)


@pytest.mark.parametrize("settings, message", [
    ({"empty_boxes": "keep"}, "empty_boxes='keep': expected one of 'raise', 'drop'"),
    ({"first_pixel": 2}, "first_pixel=2: expected 1, as VOC counts, or 0"),
    ({"first_pixel": True}, "first_pixel=True"),
    ({"size": 0}, "VOCDetection: size must be an integer of at least 1"),
])  # fmt: skip
def test_arguments_that_cannot_be_are_refused(root, settings, message):
    refuses(ArgumentError, message, voc, root, **settings)
    refuses(ArgumentError, "VOCDetection.load: workers=-1: expected an", voc(root).load, workers=-1)


BOX = {"boxes": np.array([[0.0, 0, 2, 2]], np.float32), "labels": np.array([1])}
PICTURE = np.zeros((1, 4, 4), np.float32)


@pytest.mark.parametrize("pictures, targets, message", [
    ([PICTURE], [], "1 pictures with 0 targets"),
    ([PICTURE[0]], [BOX], r"picture 0: float32 of shape \(4, 4\), expected floats or bytes"),
    ([PICTURE.astype(int)], [BOX], "picture 0: int64"),
    ([PICTURE], [3], "expected a dict with boxes and labels, got int"),
    ([PICTURE], [{"labels": 3}], r"got \['labels'\]"),
    ([PICTURE], [{**BOX, "boxes": np.ones(4)}], r"expected boxes \(n, 4\)"),
    ([PICTURE], [{**BOX, "labels": np.array([1, 2])}], r"expected labels of shape \(1,\)"),
    ([PICTURE], [{**BOX, "labels": np.array([1.0])}], "expected labels, integers"),
    ([PICTURE], [{"boxes": BOX["boxes"]}], "expected labels, integers"),
    ([PICTURE], [{**BOX, "area": np.ones(3)}], r"expected area of shape \(1,\)"),
    ([PICTURE], [{**BOX, "labels": np.array([0])}], "label 0, expected classes from 1 to 2: 0"),
    ([PICTURE], [{**BOX, "labels": np.array([3])}], "label 3, expected classes from 1 to 2"),
    ([PICTURE], [{**BOX, "boxes": np.array([[0, 0, 5, 2]])}], "outside of a picture of 4 x 4"),
    ([PICTURE], [{**BOX, "boxes": np.array([[0, np.nan, 5, 2]])}], "expected left < right"),
])  # fmt: skip
def test_targets_that_do_not_fit_their_pictures_are_refused(pictures, targets, message):
    with pytest.raises(DataError, match=message):
        BoxedPictures(pictures, targets, classes=("__background__", "a", "b"))


def test_targets_may_be_lists_and_empty():
    box = {"boxes": [[0, 0, 2, 2]], "labels": [1], "image_id": 3}
    held = BoxedPictures([PICTURE] * 2, [box, {"boxes": [], "labels": []}])
    shapes = [{name: (a.dtype.str, a.shape) for name, a in held[i][1].items()} for i in (0, 1)]
    assert shapes[0] | {"image_id": 0} == {
        "boxes": ("<f4", (1, 4)), "labels": ("<i8", (1,)), "image_id": 0,
    }  # fmt: skip
    assert shapes[1] == {"boxes": ("<f4", (0, 4)), "labels": ("<i8", (0,))}
