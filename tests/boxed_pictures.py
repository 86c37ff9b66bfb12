"""Pictures with boxes for tests: on disk in VOC's and COCO's layout, and random detections."""

import json

import numpy as np

from minifp.runtime import random

SIZE = 30, 40  # of the picture files, height and width
NAMES = ("cat", "dog")
# Of picture 1 and 2, name and box as VOC writes it, from 1, the last column inside.
OBJECTS = {
    "one": [("dog", (1, 1, 40, 30)), ("cat", (11, 6, 20, 15))],
    "two": [("cat", (3, 4, 9, 12))],
    "three": [],
}
HARD = {("two", 0)}  # what is difficult


def pixels(i, size=SIZE):
    """The pixels of picture i, (H, W, 3) uint8, in blocks, which JPEG keeps roughly."""
    blocks = random.integers(0, 256, (size[0] // 10, size[1] // 10, 3), purpose="boxed", call=i)
    return blocks.astype(np.uint8).repeat(10, 0).repeat(10, 1)


def xml(objects, size=SIZE, hard=()):
    parts = [
        f"<object><name>{name}</name><difficult>{int(k in hard)}</difficult><bndbox>"
        + "".join(f"<{e}>{at}</{e}>" for e, at in zip(("xmin", "ymin", "xmax", "ymax"), box))
        + "</bndbox><part><name>head</name><bndbox><xmin>1</xmin></bndbox></part></object>"
        for k, (name, box) in enumerate(objects)
    ]
    whole = f"<size><width>{size[1]}</width><height>{size[0]}</height><depth>3</depth></size>"
    return f"<annotation>{whole}{''.join(parts)}</annotation>"


def write_voc(root, image, objects=OBJECTS, size=SIZE):
    """A folder of VOC's layout with a split "train" of all pictures, and "few" of the last two."""
    for folder in ("Annotations", "JPEGImages", "ImageSets/Main"):
        (root / folder).mkdir(parents=True)
    for i, (name, found) in enumerate(objects.items()):
        image.fromarray(pixels(i, size)).save(root / "JPEGImages" / f"{name}.jpg", quality=95)
        text = xml(found, size, {k for k in range(len(found)) if (name, k) in HARD})
        (root / "Annotations" / f"{name}.xml").write_text(text, encoding="utf-8")
    lists = root / "ImageSets" / "Main"
    (lists / "train.txt").write_text("\n".join(objects) + "\n", encoding="utf-8")
    few = "".join(f"{name} {' 1' if i else '-1'}\n" for i, name in enumerate([*objects][1:]))
    (lists / "few.txt").write_text(few, encoding="utf-8")
    return root


def coco(**changes):
    """The content of a COCO file of two pictures, ids 7 and 3, and categories 18 and 4."""
    made = {
        "images": [
            {"id": 7, "file_name": "seven.png", "width": 40, "height": 30},
            {"id": 3, "file_name": "three.png"},
        ],
        "categories": [{"id": 18, "name": "dog"}, {"id": 4, "name": "cat"}],
        "annotations": [
            {"id": 1, "image_id": 7, "category_id": 18, "bbox": [2, 3, 10.5, 20], "area": 99.5},
            {"id": 2, "image_id": 7, "category_id": 4, "bbox": [0, 0, 40.4, 30], "iscrowd": 1},
        ],
    }
    return {**made, **changes}


def write_coco(folder, image, **changes):
    folder.mkdir(parents=True, exist_ok=True)
    for i, name in enumerate(("seven", "three")):
        image.fromarray(pixels(i)).save(folder / f"{name}.png")
    path = folder / "instances.json"
    path.write_text(json.dumps(coco(**changes)), encoding="utf-8")
    return path


def detections(pictures, seed=0, *, classes=3, most_true=8, most_found=30, side=200, levels=None):
    """(outputs, targets) of so many pictures: true boxes, and detections of which some are near.

    Boxes have whole coordinates, so that every program computes the same overlaps. levels: so many
    different scores, of which many are equal then; None: all are different.
    """
    streams = random.Streams(seed)
    outputs, targets = [], []
    for i in range(pictures):

        def draw(low, high, shape, purpose, i=i):
            return streams.integers(low, high, shape, purpose=purpose, call=i)

        n, m = draw(0, most_true + 1, 1, "n").item(), draw(0, most_found + 1, 1, "m").item()
        corners = draw(0, side - 20, (n, 2), "corners")
        boxes = np.concatenate([corners, corners + draw(6, 130, (n, 2), "sides")], 1)
        labels, wide = draw(1, classes + 1, n, "labels"), (boxes[:, 2:] - boxes[:, :2]).prod(1)
        targets.append(
            {
                "boxes": boxes.astype(np.float32),
                "labels": labels,
                "area": (wide * draw(4, 9, n, "shares") / 8).astype(np.float32),
                "iscrowd": draw(0, 12, n, "crowd") == 0,
                "difficult": draw(0, 6, n, "hard") == 0,
            }
        )
        moved = np.sort(draw(0, side, (m, 2, 2), "anywhere"), 1).reshape(m, 4)
        moved[:, 2:] += 1
        found = draw(1, classes + 1, m, "found")
        if n:
            of = draw(0, n, m, "of")
            near = boxes[of] + draw(-6, 7, (m, 4), "moved")
            is_near = (draw(0, 10, m, "near") < 7) & (near[:, 2:] > near[:, :2]).all(1)
            moved = np.where(is_near[:, None], near, moved)
            found = np.where(draw(0, 10, m, "class") < 8, labels[of], found)
        scores = streams.permutation(1000, purpose="scores", call=i)[:m] / 1000 + i / 1e6
        if levels:
            scores = np.floor(scores * levels) / levels
        outputs.append({"boxes": moved.astype(np.float32), "labels": found, "scores": scores})
    return outputs, targets
