"""Augmentation: what it does to a picture, and that it depends on seed, epoch and item alone."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import each_refused, refuses

import minifp as fp
from minifp.data import DataLoader, Subset, TensorDataset
from minifp.data.transforms import Compose, Draws, Normalize, RandomCrop, RandomHorizontalFlip
from minifp.runtime import random


def pictures(n, size=(4, 5), channels=2):
    x = np.arange(1, 1 + n * channels * size[0] * size[1], dtype=np.float32)
    return TensorDataset(x.reshape(n, channels, *size) / 8, np.arange(n), name="pictures")


AUGMENT = Compose([RandomCrop((4, 5), padding=2), RandomHorizontalFlip()])


def augmented(loader):
    return {int(i): picture for x, t in loader.arrays() for picture, i in zip(x, t)}


def assert_same(first, second):
    assert first.keys() == second.keys()
    for i, picture in first.items():
        np.testing.assert_array_equal(picture, second[i])


def test_a_subset_of_the_order_and_a_function_of_ones_own_change_a_picture_alike():
    whole = augmented(DataLoader(pictures(20), 3, transform=AUGMENT, seed=5))
    some = DataLoader(pictures(20), 4, sampler=[7, 3, 7, 19], transform=AUGMENT, seed=5)
    assert_same(augmented(some), {i: whole[i] for i in (3, 7, 19)})

    def darker(fields, indices, draws):
        x, t = fields
        return x * draws.uniform(indices, "darker")[:, None, None, None], t

    loader = DataLoader(pictures(9), 4, shuffle=True, transform=darker, seed=3)
    other = DataLoader(pictures(9), 2, transform=Compose([darker]), seed=3, prefetch=1)
    assert_same(augmented(loader), augmented(other))


def test_every_precision_sees_the_same_pictures_and_other_seeds_and_epochs_others():
    seen = []
    for name in ("float32", "mixed", "float16", "float64"):
        with fp.precision(name):
            loader = DataLoader(pictures(20), 6, shuffle=True, transform=AUGMENT)
            seen.append([x.numpy().astype(np.float64).tolist() for x, _ in loader])
    assert seen == seen[:1] * 4  # the numbers of these pictures are exact in all

    def changes(seed, epochs):
        loader = DataLoader(pictures(20), 20, transform=AUGMENT, seed=seed)
        return [next(loader.arrays())[0].tobytes() for _ in range(epochs)]

    first = changes(1, 3)
    assert len({*first, *changes(2, 3)}) == 6 and changes(1, 3) == first


def test_the_global_seed_is_taken_when_an_epoch_begins_and_a_subset_counts_its_own_items():
    random.manual_seed(4)
    loader = DataLoader(pictures(20), 20, transform=AUGMENT)
    random.manual_seed(5)
    first, own = next(loader.arrays())[0], DataLoader(pictures(20), 20, transform=AUGMENT, seed=5)
    np.testing.assert_array_equal(first, next(own.arrays())[0])
    assert random.get_state()["calls"] == {}
    data = Subset(pictures(10), [9, 8, 7])
    x = [next(DataLoader(data, b, transform=AUGMENT, seed=1).arrays())[0][0] for b in (1, 3)]
    np.testing.assert_array_equal(*x)


def test_two_of_a_kind_draw_different_numbers_and_others_between_move_nothing():
    flip, crop = RandomHorizontalFlip(), RandomCrop(4, padding=1)
    fields = (np.arange(64 * 3, dtype=np.float32).reshape(64, 1, 1, 3), np.arange(64))

    def result(*transforms):
        return Compose(list(transforms))(fields, np.arange(64), Draws(0, 0, 64))[0]

    once, twice = result(flip), result(flip, flip)
    assert not np.array_equal(twice, fields[0]) and not np.array_equal(twice, once)
    np.testing.assert_array_equal(result(Normalize(0, 1), flip), once)
    np.testing.assert_array_equal(result(flip, Compose([flip])), twice)
    fields = (np.arange(64 * 16, dtype=np.float32).reshape(64, 1, 4, 4), np.arange(64))
    crops = [result(crop), result(flip, crop)]
    flipped = [(a.sum(), b.sum()) for a, b in zip(*crops)]
    assert len(flipped) == 64 and not np.array_equal(*crops)


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**40), st.integers(1, 50), st.data())
def test_what_is_drawn_for_an_item_is_its_number_of_the_epoch(seed, epoch, size, data):
    indices = np.array(data.draw(st.lists(st.integers(0, size - 1), max_size=20)), int)
    draws = Draws(seed, epoch, size)
    drawn = draws.uniform(indices, "grey")
    expected = random.Streams(seed).uniform(1000, purpose="transform grey", call=epoch)
    np.testing.assert_array_equal(drawn, expected[indices])
    whole = draws.integers(7, indices, "grey")
    assert whole.dtype == np.int64
    np.testing.assert_array_equal(whole, (expected[indices].astype(float) * 7).astype(int))


@given(
    st.tuples(st.integers(1, 6), st.integers(1, 6)),
    st.tuples(st.integers(1, 8), st.integers(1, 8)),
    st.integers(0, 2),
    st.integers(0, 9),
)
def test_a_crop_is_a_window_of_the_padded_picture(size, window, padding, seed):
    x = np.arange(1, 1 + 6 * 2 * size[0] * size[1], dtype=np.float32).reshape(6, 2, *size)
    crop, draws, indices = RandomCrop(window, padding), Draws(seed, 0, 9), np.arange(6)[::-1]
    if any(w > s + 2 * padding for s, w in zip(size, window)):
        refuses(fp.ShapeError, "does not fit into pictures of .* with", crop, (x,), indices, draws)
        return
    before = x.copy()
    (cropped,) = crop((x,), indices, draws)
    np.testing.assert_array_equal(x, before)
    assert cropped.shape == (6, 2, *window) and cropped.dtype == np.float32
    padded = np.pad(x, [(0, 0), (0, 0), (padding, padding), (padding, padding)])
    for picture, whole in zip(cropped, padded):
        windows = [
            whole[:, i : i + window[0], j : j + window[1]]
            for i in range(whole.shape[1] - window[0] + 1)
            for j in range(whole.shape[2] - window[1] + 1)
        ]
        assert any(np.array_equal(picture, w) for w in windows)


def test_windows_are_equally_likely_and_a_flip_mirrors_with_its_probability():
    x = np.broadcast_to(np.arange(9.0).reshape(1, 1, 3, 3), (9000, 1, 3, 3))
    (cropped,) = RandomCrop(1)((x,), np.arange(9000), Draws(0, 0, 9000))
    counts = np.bincount(cropped.reshape(-1).astype(int), minlength=9)
    assert abs(counts - 1000).max() < 4 * 30  # a deviation is 30
    x = pictures(4000, size=(1, 3), channels=1).arrays[0]
    for p in (0, 0.25, 1):
        y, t = RandomHorizontalFlip(p)((x, np.arange(4000)), np.arange(4000), Draws(0, 3, 4000))
        flipped = (y == x[..., ::-1]).all((1, 2, 3))
        assert (flipped | (y == x).all((1, 2, 3))).all() and t.tolist() == list(range(4000))
        assert abs(flipped.sum() - 4000 * p) <= 4 * np.sqrt(4000 * p * (1 - p)), p


def test_normalize_is_by_channel_and_in_float32():
    x = np.arange(2 * 3 * 2 * 2, dtype=np.uint8).reshape(2, 3, 2, 2)
    (y,) = Normalize([1, 2, 3], (2, 4, 8))((x,), None, None)
    assert y.dtype == np.float32
    expected = (x - np.reshape([1.0, 2, 3], (3, 1, 1))) / np.reshape([2, 4, 8], (3, 1, 1))
    np.testing.assert_array_equal(y, expected)
    (y,) = Normalize(1, 2)((x.astype(np.float64),), None, None)
    assert y.dtype == np.float64 and y[0, 0, 0, 0] == -0.5
    data = TensorDataset(np.full((4, 3, 2, 2), 255, np.uint8), np.arange(4))
    with fp.precision("mixed") as p:
        x, _ = next(iter(DataLoader(data, 4, transform=Normalize(0, 255))))
        assert x.dtype == p.activations and (x.numpy() == 1).all()


test_arguments_that_cannot_be_are_refused = each_refused(
    (lambda: RandomCrop(0), "RandomCrop: size must be an integer of at least 1, .* got 0"),
    (lambda: RandomCrop((3, 3, 3)), r"got \(3, 3, 3\)"),
    (lambda: RandomCrop("32"), "got '32'"),
    (lambda: RandomCrop((2, 1.5)), r"got \(2, 1.5\)"),
    (lambda: RandomCrop(2, padding=-1), "padding=-1: expected an integer, at least 0"),
    (lambda: RandomCrop(2, padding=(1, 1)), r"padding=\(1, 1\)"),
    (lambda: RandomHorizontalFlip(1.5), "p must be a probability, 0 to 1, got 1.5"),
    (lambda: RandomHorizontalFlip("a"), "got 'a'"),
    (lambda: RandomHorizontalFlip(float("nan")), "got nan"),
    (lambda: Normalize("a", 1), "Normalize: mean must be finite, .* got 'a'"),
    (lambda: Normalize(0, [1, 0]), r"std must be above 0, got \[1, 0\]"),
    (lambda: Normalize(0, []), r"std must be finite, .* got \[\]"),
    (lambda: Normalize(float("inf"), 1), "got inf"),
    (lambda: Compose(RandomCrop(3)), "expected a list of transforms, got RandomCrop"),
    (lambda: Compose([1]), r"got \[1\]"),
    (lambda: DataLoader(pictures(3), transform=3), "transform must be a function .* got 3"),
    error=fp.ArgumentError,
)


def test_what_are_no_pictures_is_refused():
    for transform in (RandomCrop(1), RandomHorizontalFlip(), Normalize(0, 1)):
        with pytest.raises(fp.ShapeError, match=r"expected pictures \(n, C, H, W\) .* \(3, 2\)"):
            transform((np.ones((3, 2)),), np.arange(3), Draws(0, 0, 3))
    with pytest.raises(fp.ShapeError, match="Normalize: 3 channels in mean or std, 2 in pictures"):
        Normalize([1, 2, 3], 1)(pictures(3).arrays, None, None)


@pytest.mark.parametrize("answer", [None, np.ones(3), (np.ones(2), "ab"), [np.ones(2), np.ones(3)]])
def test_what_a_transform_returns_is_checked(answer):
    def wrong(fields, indices, draws):
        return answer

    loader = DataLoader(pictures(4), 2, transform=wrong)
    refuses(fp.DataError, "(?s)wrong.* to change 2 items, expected arrays", next, iter(loader))
