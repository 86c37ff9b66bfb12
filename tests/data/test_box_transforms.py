"""Augmentation of pictures with boxes: boxes stay around what they are of."""

import colorsys
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import each_refused, refuses
from snapshots import frozen
from test_mixing import MIXED
from test_mixing import pictures as mixed_pictures
from test_transforms import AUGMENT
from test_transforms import pictures as plain_pictures

import minifp as fp
from minifp.data import BoxedPictures, DataLoader, detection_collate, digit_scenes
from minifp.data.detection.targets import mirrored, windowed
from minifp.data.transforms import (
    Compose,
    Draws,
    MixUp,
    Normalize,
    RandomCrop,
    RandomErasing,
    RandomHorizontalFlip,
    RandomIoUCrop,
    RandomPhotometricDistort,
    RandomZoomOut,
    Resize,
)

N = 24


def painted(size=32, channels=3):
    """Pictures whose boxes are filled with 1/8, 2/8, ..., each with its own level."""
    scenes, _ = digit_scenes(N, 1, size=size)
    pictures, targets = [], []
    for i in range(N):
        _, target = scenes[i]
        x = np.zeros((channels, size, size), np.float32)
        for k, (left, top, right, bottom) in enumerate(target["boxes"].numpy().astype(int)):
            x[:, top:bottom, left:right] = (k + 1) / 8
        area = (target["boxes"][:, 2:] - target["boxes"][:, :2]).prod(1) / 2
        level = np.arange(len(area)) + 1
        more = {"area": area, "difficult": level == 2, "iscrowd": level == 1, "labels": level}
        pictures.append(x)
        targets.append({**target, **more})
    return BoxedPictures(pictures, targets, name="painted")


PAINTED = painted()


def changed(transform, seed=0, data=PAINTED, **arguments):
    how = {"collate_fn": detection_collate, "transform": transform, "seed": seed, **arguments}
    return next(DataLoader(data, len(data), **how).arrays())


def extent(picture, level):
    rows, columns = np.nonzero(picture[0] == level)
    return None if not len(rows) else [columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]


EXACT = {
    **{"flip": RandomHorizontalFlip(), "crop": RandomCrop((20, 24))},
    **{"padded crop": RandomCrop((32, 30), padding=6), "iou crop": RandomIoUCrop()},
    "zoom out": RandomZoomOut(side_range=(1.0, 2.0)),
    "all": Compose([RandomZoomOut(), RandomIoUCrop(), RandomHorizontalFlip(), RandomIoUCrop()]),
}


@pytest.mark.parametrize("name", EXACT)
def test_boxes_are_around_what_they_are_of(name):
    """To the pixel: what is of a box's level is in its box, cut where the picture is cut."""
    lost = 0
    for seed in range(3):
        pictures, targets = changed(EXACT[name], seed)
        for i, (picture, target) in enumerate(zip(pictures, targets)):
            for box, level in zip(target["boxes"], target["labels"]):
                assert extent(picture, level / 8) == box.tolist()
            before = PAINTED.targets[i]
            lost += len(before["boxes"]) - len(target["boxes"])
            kept = target["labels"] - 1
            np.testing.assert_array_equal(target["difficult"], before["difficult"][kept])
            np.testing.assert_array_equal(target["iscrowd"], before["iscrowd"][kept])
            areas = (target["boxes"][:, 2:] - target["boxes"][:, :2]).prod(1) / 2
            np.testing.assert_allclose(target["area"], areas, rtol=1e-6)
            assert target["image_id"] == i and target["boxes"].dtype == np.float32
    assert (lost > 0) == ("crop" in name or name == "all")


def test_a_window_keeps_boxes_whose_middle_is_in_it_and_what_nothing_will_do_for_stays_whole():
    boxes = np.array([[0, 0, 10, 10], [4, 4, 9, 9], [0, 0, 8, 8], [2, 2, 8, 6]], np.float32)
    target = {"boxes": boxes, "labels": np.arange(4), "area": np.float32([100, 20, 5, 24])}
    found = windowed(target, (4, 4, 12, 7))
    assert found["labels"].tolist() == [0, 1]  # those of the others are on the edge
    assert found["boxes"].tolist() == [[0, 0, 6, 3], [0, 0, 5, 3]]
    np.testing.assert_allclose(found["area"], [18, 20 * 15 / 25])
    assert target["boxes"] is boxes and mirrored(target, 10)["boxes"].tolist()[1] == [1, 4, 6, 9]

    def alone(crop, boxes):
        target = {"boxes": np.float32(boxes).reshape(-1, 4), "labels": np.ones(len(boxes), int)}
        data = BoxedPictures([np.ones((1, 32, 32), np.float32)], [target])
        (picture,), (found,) = changed(crop, data=data)
        return picture.shape == (1, 32, 32) and np.array_equal(found["boxes"], target["boxes"])

    assert alone(RandomIoUCrop(), [])
    assert alone(RandomIoUCrop(sampler_options=[1.0, 2.0]), [[3, 3, 9, 9]])
    assert alone(RandomIoUCrop(sampler_options=[0.99], trials=2), [[3, 3, 5, 5]])


@pytest.mark.parametrize("size", [(64, 32), (16, 16), (48, 40)])
def test_resize_moves_boxes_with_the_picture(size):
    pictures, targets = changed(Resize(size))
    for picture, target, before in zip(pictures, targets, PAINTED.targets):
        assert picture.shape == (3, *size) and picture.dtype == np.float32
        scale = np.float64([size[1], size[0]] * 2) / 32
        np.testing.assert_allclose(target["boxes"], before["boxes"] * scale, rtol=1e-6)
        np.testing.assert_allclose(target["area"], before["area"] * size[0] * size[1] / 1024)
        for (left, top, right, bottom), level in zip(target["boxes"], target["labels"]):
            middle = int((top + bottom) / 2), int((left + right) / 2)
            np.testing.assert_allclose(picture[:, middle[0], middle[1]], level / 8, rtol=1e-5)
    x = np.stack([PAINTED[i][0] for i in range(N)])
    (array,) = Resize(size)((x,), np.arange(N), Draws(0, 0, N))
    np.testing.assert_array_equal(array, np.stack(pictures))


ALL = Compose([
    RandomPhotometricDistort(), RandomZoomOut(fill=[0.1, 0.2, 0.3]), RandomIoUCrop(),
    RandomHorizontalFlip(), Resize(20), RandomErasing(), Normalize(0.5, 0.25),
])  # fmt: skip


BOXED = {"dataset": PAINTED, "collate_fn": detection_collate, "transform": ALL}
CHANGED = {  # what is changed and how, and that each epoch changes it anew
    "alone": lambda n: {"dataset": plain_pictures(n), "transform": AUGMENT},
    "mixed": lambda n: {"dataset": mixed_pictures(), "transform": MIXED},
    "boxes": lambda n: BOXED,
}


def by_item(loader):
    items = [item for batch in loader.arrays() for item in zip(*batch)]
    return {int(i["image_id"] if isinstance(i, dict) else i): frozen([*x, i]) for *x, i in items}


@pytest.mark.parametrize("kind", CHANGED)
@settings(max_examples=12)
@given(st.tuples(*[st.integers(1, 9)] * 2), st.integers(1, 30), st.integers(0, 2), st.booleans())
def test_an_item_is_changed_alike_in_other_batches_and_another_order(kind, sizes, n, epochs, mixed):
    how, (a, b) = CHANGED[kind](n), sizes
    loaders = [
        DataLoader(**how, batch_size=a, shuffle=mixed, seed=3),
        DataLoader(**how, batch_size=b, prefetch=2, seed=3),
    ]
    for _ in range(epochs):
        before = [by_item(loader) for loader in loaders][0]
    first, other = map(by_item, loaders)
    assert first == other and len(first) == len(how["dataset"])
    if epochs and len(first) >= N:
        assert sum(before[i] == item for i, item in first.items()) < N / 4


def overlap(window, boxes):
    sides = np.minimum(boxes[:, 2:], window[2:]) - np.maximum(boxes[:, :2], window[:2])
    common, areas = sides.clip(0, None).prod(1), (boxes[:, 2:] - boxes[:, :2]).prod(1)
    return common / (areas + np.prod(np.subtract(window[2:], window[:2])) - common)


@pytest.mark.parametrize("option", [0.0, 0.3, 0.7])
def test_a_window_has_what_its_option_asks_for(option):
    crop = RandomIoUCrop(sampler_options=[option], min_scale=0.4, max_aspect_ratio=1.5)
    cut = 0
    for i in range(N):
        target = PAINTED.targets[i]
        window = crop._window(target["boxes"], (32, 32), i, Draws(5, 0, N))
        if window is None:
            continue
        cut += 1
        left, top, right, bottom = window
        width, height = right - left, bottom - top
        assert 0 <= left < right <= 32 and 0 <= top < bottom <= 32
        assert 0.5 <= width / height <= 1.5 and min(width, height) >= int(0.4 * 32)
        middles = (target["boxes"][:, :2] + target["boxes"][:, 2:]) / 2
        inside = ((middles > [left, top]) & (middles < [right, bottom])).all(1)
        assert inside.any() and overlap(window, target["boxes"][inside]).max() >= option
    assert cut == N if option < 0.5 else 0 < cut


# Turning by a hue, if only by none, rounds at most eight numbers that are below 8.
ROUNDED = 8 * 2.0**-22
COLORS = np.random.default_rng(0).random((6, 3, 4, 5)).astype(np.float32)
NOTHING = {"brightness": (1, 1), "contrast": (1, 1), "saturation": (1, 1), "hue": (0, 0)}


def distorted(x=COLORS, p=1.0, **settings):
    """Pictures in which some of it is changed, with their channels in order."""
    transform = RandomPhotometricDistort(**{**NOTHING, **settings}, p=p)
    (y,) = transform((x,), np.arange(len(x)), Draws(1, 0, len(x)))
    assert y.dtype == x.dtype and y.shape == x.shape
    return y


def reordered(y):
    """The pictures with the channels that were red, green and blue, as found by the data."""
    apart = abs(distorted()[:, :, None] - COLORS[:, None]).mean((3, 4))
    orders = apart.argmin(1)  # for each channel that was, where it is now
    assert (np.sort(orders, 1) == [0, 1, 2]).all()
    return np.take_along_axis(y, orders[:, :, None, None], 1)


def test_each_change_has_its_probability_and_without_chance_nothing_changes():
    np.testing.assert_array_equal(distorted(p=0.0, brightness=(0.5, 0.6)), COLORS)
    plain = distorted()
    assert not np.array_equal(plain, COLORS)
    np.testing.assert_allclose(reordered(plain), COLORS, atol=ROUNDED)  # but for hue's rounding
    x = np.repeat(COLORS[:1], 2000, 0)
    y = distorted(x, p=0.25, brightness=(0.5, 0.5))
    darker = np.isclose(y.mean((1, 2, 3)), x[0].mean() / 2)
    assert abs(darker.sum() - 500) <= 4 * np.sqrt(2000 * 0.25 * 0.75)
    moved = abs(np.where(darker[:, None, None, None], 2 * y, y) - x).max((1, 2, 3)) > 1e-3
    expected = 2000 * 0.25 * 5 / 6  # one of the six orders is the one that was there
    assert abs(moved.sum() - expected) <= 4 * np.sqrt(expected)


def test_brightness_contrast_and_saturation_are_the_factors():
    grey = np.tensordot([0.2989, 0.587, 0.114], COLORS, (0, 1))[:, None]
    mean = grey.mean((1, 2, 3), keepdims=True)
    for what, factor, expected in (
        *(("brightness", 0.5, COLORS * 0.5), ("brightness", 9, (COLORS * 9).clip(0, 1))),
        ("contrast", 0.5, mean + (COLORS - mean) / 2),
        ("saturation", 0.5, grey + (COLORS - grey) / 2),
    ):
        y = reordered(distorted(**{what: (factor, factor)}))
        np.testing.assert_allclose(y, expected, atol=ROUNDED, err_msg=what)


def test_hue_turns_the_colour_wheel_as_the_standard_library_does():
    x = COLORS.copy()
    x[0, :, 0] = 0.5  # grey has no hue
    for turn in (0.25, -0.5):
        for picture, y in zip(x, distorted(x, hue=(turn, turn))):
            wheel = [colorsys.rgb_to_hsv(*p) for p in picture.reshape(3, -1).T]
            turned = [colorsys.hsv_to_rgb((h + turn) % 1, s, v) for h, s, v in wheel]
            expected = np.array(turned).T.reshape(picture.shape)
            orders = [expected[list(order)] for order in permutations(range(3))]
            assert min(abs(order - y).max() for order in orders) < ROUNDED


test_arguments_that_cannot_be_are_refused = each_refused(
    (lambda: Resize(0), "Resize: size must be an integer"),
    (lambda: RandomZoomOut(side_range=(0.5, 2)), "side_range=.*: expected 1 or more"),
    (lambda: RandomZoomOut(side_range=3), "RandomZoomOut: side_range must be two numbers, got"),
    (lambda: RandomZoomOut(p=2), "RandomZoomOut: p=2"),
    (lambda: RandomZoomOut(fill="mean"), "RandomZoomOut: fill must be finite"),
    (lambda: RandomIoUCrop(min_scale=0), "RandomIoUCrop: scales must rise, from above 0 to at"),
    (lambda: RandomIoUCrop(max_scale=1.5), "to at most 1.0"),
    (lambda: RandomIoUCrop(min_aspect_ratio=3), "aspect ratios must rise"),
    (lambda: RandomIoUCrop(sampler_options=[]), r"sampler_options=\[\]: expected numbers"),
    (lambda: RandomIoUCrop(sampler_options=[-0.1]), "expected numbers of at least 0"),
    (lambda: RandomIoUCrop(sampler_options=["a"]), "expected numbers of at least 0"),
    (lambda: RandomIoUCrop(trials=0), "RandomIoUCrop: trials=0"),
    (lambda: RandomPhotometricDistort(hue=(-0.6, 0)), "hue must rise, from above -0.5 to at"),
    (lambda: RandomPhotometricDistort(contrast=(2, 1)), "contrast must rise"),
    (lambda: RandomPhotometricDistort(p=-1), "RandomPhotometricDistort: p=-1"),
    error=fp.ArgumentError,
)  # fmt: skip


@pytest.mark.parametrize("transform, x, error, message", [
    (RandomPhotometricDistort(), COLORS[:, :1], fp.ShapeError, "green and blue, got 1 channels"),
    (RandomPhotometricDistort(), COLORS.astype(int), fp.DTypeError, "floats from 0 to 1, got int"),
    (RandomPhotometricDistort(), COLORS * 255, fp.ArgumentError, "0 to 1, got .*before Normalize"),
    (RandomPhotometricDistort(), COLORS - 1, fp.ArgumentError, "expected numbers from 0 to 1"),
    (RandomIoUCrop(), COLORS, fp.ShapeError, "several sizes, which one array cannot hold: give"),
    (RandomZoomOut(), COLORS, fp.ShapeError, "RandomZoomOut: the resulting pictures have several"),
    (RandomIoUCrop(), [*COLORS], fp.ArgumentError, r"items \(picture, target\) .* got NoneType"),
    (RandomZoomOut([1, 2]), [*COLORS], fp.ShapeError, "2 channels in fill, 3 in a picture"),
    (RandomCrop(9), [*COLORS], fp.ShapeError, "RandomCrop: a window of .9, 9. does not fit"),
    (Resize(3), [COLORS], fp.ShapeError, r"Resize: expected pictures \(C, H, W\) .* \(6, 3, 4"),
    (MixUp(num_classes=2), [*COLORS], fp.ShapeError, r"MixUp: expected pictures \(n, .* list"),
    (Resize(3), [3], fp.ShapeError, "as the first field, got int"),
])  # fmt: skip
def test_other_pictures_are_refused(transform, x, error, message):
    fields = (x, np.zeros(6, int))[: 1 + isinstance(transform, MixUp)]
    refuses(error, message, transform, fields, np.arange(6), Draws(0, 0, 6))


def test_targets_that_are_none_or_have_masks_are_refused():
    picture, target = PAINTED.pictures[0], PAINTED.targets[0]
    draws = Draws(0, 0, N)

    def apply(transform, **changes):
        return transform(([picture], [{**target, **changes}]), np.arange(1), draws)

    with pytest.raises(fp.DataError, match=r"RandomCrop: item 0: expected labels of shape"):
        apply(RandomCrop(3), labels=np.ones(9, int))
    with pytest.raises(fp.DataError, match="Normalize: item 0: box 0 is .*outside"):
        apply(Normalize(0, 1), boxes=target["boxes"] + 99)
    masks = {"masks": np.ones((2, 32, 32))}
    for transform in (RandomHorizontalFlip(), RandomIoUCrop(), RandomZoomOut(), Resize(3)):
        refuses(fp.ArgumentError, "item 0: boxes would move, but", apply, transform, **masks)
    apply(RandomErasing(), **masks)  # which moves nothing
    (changed_one,), labels = RandomHorizontalFlip(1)(([picture], [7]), np.arange(1), draws)
    assert labels == [7] and np.array_equal(changed_one, picture[..., ::-1])
