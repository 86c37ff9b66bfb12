"""Scenes for detectors: one or two of the bundled digits, enlarged, on a black field.

Everything is drawn by counters (minifp/runtime/random.py): scene i depends on the seed, its part
and i alone, however many there are. Levels of grey are whole multiples of 2^-8, which all formats
hold exactly, bfloat16 included, and are computed with additions and multiplications of float64
alone: a scene has the same bits in every precision, and on every machine.
"""

import numpy as np

from minifp.checks import check_count
from minifp.data.detection.boxed import BoxedPictures
from minifp.data.detection.targets import BACKGROUND
from minifp.data.images import TEN, digits
from minifp.runtime import random

LEAST = 24  # pixels of a scene's side, so that digits are not made smaller
GAP = 1  # pixels at least between two digits
ATTEMPTS = 64  # to place two apart, before they go into opposite corners
LEVELS = 2**8


def digit_scenes(
    count: int = 1_000, test_count: int = 200, *, seed: int = 0, size: int = 32
) -> tuple[BoxedPictures, BoxedPictures]:
    """Return scenes with one or two digits: `count` to train with, `test_count` to test with.

    A scene is (1, size, size), float32 from 0 to 1. Each of its digits, one of the bundled 8x8
    pictures, is enlarged to a height from 3/8 to 1/2 of the scene, and cut to what is not black:
    that is its box, in whole pixels. Two do not overlap. Train and test scenes have no digit's
    picture in common. Labels are 1 to 10, for 0 to 9: `.classes` has their names, behind the
    background's. An item is (picture, target) for one index.

    The first scenes are the same for every count; they depend on the seed and the size alone.
    Raises ArgumentError for a size below 24. The digits are Alpaydin's and Kaynak's, 1998.
    """
    check_count("digit_scenes: size", size, LEAST)
    streams = random.Streams(seed)
    check_count("digit_scenes: count", count)
    check_count("digit_scenes: test_count", test_count)
    train, test = digits()
    test_scenes = drawn(streams, test, test_count, size, "test")
    return drawn(streams, train, count, size, "train"), test_scenes


def drawn(streams, digit_set, count: int, size: int, part: str) -> BoxedPictures:
    """So many scenes of the digits of a part."""
    pictures, labels = digit_set.arrays

    def integers(high, what, low=0):
        purpose = f"digit scenes, {part}: {what}"
        return streams.integers(low, high, (count, 2), purpose=purpose, call=0)

    which = integers(len(pictures), "digits")
    sides = integers(size // 2 + 1, "sides", low=3 * size // 8)
    has_two = integers(2, "how many")[:, 0] == 1
    pairs = zip(which, sides)
    glyphs = [[enlarged(pictures[k, 0], side) for k, side in zip(*pair)] for pair in pairs]
    shapes = np.array([[glyph.shape for glyph in pair] for pair in glyphs])
    corners = places(integers, shapes, size, has_two)
    scenes = np.zeros((count, 1, size, size), np.float32)
    targets = []
    for i, pair in enumerate(glyphs):
        n = 1 + int(has_two[i])
        for (top, left), glyph in zip(corners[i, :n], pair):
            scenes[i, 0, top : top + glyph.shape[0], left : left + glyph.shape[1]] = glyph
        low, high = corners[i, :n], corners[i, :n] + shapes[i, :n]
        boxes = np.concatenate([low[:, ::-1], high[:, ::-1]], 1).astype(np.float32)
        numbers = labels[which[i, :n]] + 1
        targets.append({"boxes": boxes, "labels": numbers, "image_id": np.array(i)})
    names = [BACKGROUND, *TEN]
    return BoxedPictures(scenes, targets, name=f"digit scenes, {part}", classes=names)


def places(integers, shapes: np.ndarray, size: int, has_two: np.ndarray) -> np.ndarray:
    """Corners (n, 2, 2), top and left, of two digits in each scene.

    shapes: (n, 2, 2) their heights and widths. Both are drawn until they are apart, where both are
    there.
    """
    corners = np.stack([np.zeros_like(shapes[:, 0]), size - shapes[:, 1]], 1)
    waiting = np.ones(len(shapes), bool)
    room = size - shapes + 1
    for attempt in range(ATTEMPTS):
        if not waiting.any():
            break
        drawn = [integers(2**16, f"{side}, attempt {attempt}") for side in ("tops", "lefts")]
        tried = np.stack(drawn, -1) * room >> 16
        low, high = tried - GAP, tried + shapes
        apart = (low[:, 0] >= high[:, 1]) | (low[:, 1] >= high[:, 0])
        done = waiting & (apart.any(1) | ~has_two)
        corners[done] = tried[done]
        waiting &= ~done
    return corners


def enlarged(picture: np.ndarray, side: int) -> np.ndarray:
    """A digit (8, 8) at a height and width of `side`, bilinearly, without black rows and columns
    at its edges: levels from 0 to 1, whole multiples of 2^-8."""
    n = len(picture)
    at = ((np.arange(side) + 0.5) * (n / side) - 0.5).clip(0, n - 1)
    first = np.minimum(at.astype(int), n - 2)
    share = at - first
    rows = picture[first] * (1 - share)[:, None] + picture[first + 1] * share[:, None]
    whole = rows[:, first] * (1 - share) + rows[:, first + 1] * share
    levels = np.floor(whole * LEVELS + 0.5) / LEVELS
    inked = levels > 0
    (top, bottom), (left, right) = (np.flatnonzero(inked.any(axis))[[0, -1]] for axis in (1, 0))
    return levels[top : bottom + 1, left : right + 1]
