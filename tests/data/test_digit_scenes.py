"""Scenes of digits: what is in them, and that they are the same everywhere."""

import hashlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refuses

import minifp as fp
from minifp.data import digit_scenes, digits
from minifp.data.detection import scenes
from minifp.runtime import random


@pytest.mark.parametrize("size", [24, 32, 47])
def test_a_scene_has_one_or_two_digits_in_boxes_apart(size):
    for part in digit_scenes(80, 40, size=size):
        counts = np.bincount([len(t["boxes"]) for t in part.targets])
        assert counts[0] == 0 and len(counts) == 3 and min(counts[1:]) > len(part) / 4
        for picture, target in (part[i] for i in range(len(part))):
            assert picture.shape == (1, size, size) and picture.dtype == np.float32
            covered = np.zeros((size, size), int)
            for left, top, right, bottom in target["boxes"].numpy().astype(int):
                inside = picture[0, top:bottom, left:right] > 0
                assert inside.any(0)[[0, -1]].all() and inside.any(1)[[0, -1]].all()  # tight
                assert size // 4 < bottom - top <= size // 2 >= right - left
                covered[top:bottom, left:right] += 1
            assert covered.max() == 1 and not picture[0][covered == 0].any()


def test_it_is_the_digit_that_its_label_says_and_train_and_test_have_none_in_common():
    """A digit of 8 x 8 at 16 x 16 is found again: its levels are those of the enlarged picture."""
    originals = [part.arrays for part in digits()]
    known = [
        {scenes.enlarged(x[0], 16).tobytes(): int(label) for x, label in zip(*arrays)}
        for arrays in originals
    ]
    assert len(known[0]) > 1400 and not {*known[0]} & {*known[1]}
    for part, own, other in zip(digit_scenes(150, 60), known, known[::-1]):
        seen = 0
        for picture, target in (part[i] for i in range(len(part))):
            for box, label in zip(target["boxes"].numpy().astype(int), target["labels"].tolist()):
                cut = picture[0, box[1] : box[3], box[0] : box[2]].numpy().astype(float).tobytes()
                if cut in own:
                    assert own[cut] + 1 == label and part.classes[label] == str(own[cut])
                    seen += 1
                assert cut not in other
        assert seen > 5


@settings(max_examples=15)
@given(st.integers(0, 2**64 - 1), st.integers(1, 12), st.integers(1, 12))
def test_the_first_scenes_are_the_same_for_every_count(seed, few, many):
    n = min(few, many)
    for one, other in zip(digit_scenes(few, many, seed=seed), digit_scenes(many, few, seed=seed)):
        np.testing.assert_array_equal(one.pictures[:n], other.pictures[:n])
        for a, b in zip(one.targets[:n], other.targets[:n]):
            assert {k: v.tolist() for k, v in a.items()} == {k: v.tolist() for k, v in b.items()}


def test_they_depend_on_their_seed_alone_and_are_the_same_on_every_machine():
    first = [part.fingerprint() for part in digit_scenes(30, 10)]
    random.manual_seed(5)
    random.uniform(9, purpose="digit scenes, train: sides")
    assert [part.fingerprint() for part in digit_scenes(30, 10)] == first
    assert [part.fingerprint() for part in digit_scenes(30, 10, seed=1)] != first
    whole = b"".join(p.pictures.tobytes() for p in digit_scenes(30, 10))
    assert hashlib.sha256(whole).hexdigest()[:16] == "3e233b450be8e656"


def test_two_that_are_never_drawn_apart_go_into_corners_and_impossible_scenes_are_refused():
    shapes = np.full((3, 2, 2), 16)

    def always_0(high, what):
        return np.zeros((3, 2), int)

    corners = scenes.places(always_0, shapes, 32, np.array([True, False, True]))
    assert corners.tolist() == [[[0, 0], [16, 16]], [[0, 0], [0, 0]], [[0, 0], [16, 16]]]
    for arguments, message in (
        ({"count": 0}, "digit_scenes: count=0: expected an integer, at least 1"),
        ({"test_count": 1.5}, "digit_scenes: test_count=1.5"),
        ({"size": 23}, "digit_scenes: size=23: expected an integer, at least 24"),
        ({"seed": -1}, "seed must be an integer from 0"),
    ):
        refuses(fp.ArgumentError, message, digit_scenes, **arguments)
