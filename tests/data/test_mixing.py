"""MixUp, CutMix and RandomErasing: what they do, and on what it depends."""

import numpy as np
import pytest
from refusals import each_refused, refuses
from scipy import stats

import minifp as fp
import minifp.nn.functional as F
from minifp.data import DataLoader, TensorDataset
from minifp.data.transforms import (
    Compose,
    CutMix,
    Draws,
    MixUp,
    RandomCrop,
    RandomErasing,
    RandomHorizontalFlip,
)
from minifp.data.transforms.beta import symmetric_beta

N = 24
MOVED = [RandomCrop((6, 8), padding=2), RandomHorizontalFlip()]
MIXED = Compose([*MOVED, CutMix(num_classes=N), RandomErasing(), MixUp(num_classes=N, alpha=0.4)])


def pictures(n=N):
    x = np.arange(1, 1 + n * 2 * 6 * 8, dtype=np.float32).reshape(n, 2, 6, 8) / 64
    return TensorDataset(x, np.arange(n), np.arange(n))


def one(transform, **arguments):
    return next(DataLoader(pictures(), N, transform=transform, seed=3, **arguments).arrays())


def test_each_item_is_the_partner_of_one_and_none_that_the_sampler_leaves_out():
    some, mix = np.array([3, 3, 20, 7, 11, 2, 5]), MixUp(num_classes=N, alpha=50)
    loader = DataLoader(pictures(), 4, sampler=some, transform=mix, seed=3)
    x, q, i = map(np.concatenate, zip(*loader.arrays()))
    assert {*np.flatnonzero(q.sum(0))} <= {*some.tolist()}
    draws = Draws(3, 0, N, all_items=np.unique(some))
    assert sorted(draws.partners(np.unique(some), "MixUp")) == sorted({*some.tolist()})
    for row, item in zip(q, i):
        assert {*np.flatnonzero(row)} == {item, draws.partners(np.array([item]), "MixUp")[0]}


@pytest.mark.parametrize("alpha", [0.2, 1, 8])
def test_mixup_is_the_same_sum_of_pictures_and_of_classes(alpha):
    """Each in the shape in which it is in its own turn; here every picture has its own class."""
    plain, _, _ = one(Compose(MOVED))
    x, q, _ = one(Compose([*MOVED, MixUp(num_classes=N, alpha=alpha)]))
    assert (x.dtype, q.dtype, q.shape) == (np.float32, np.float32, (N, N))
    np.testing.assert_allclose(x, np.einsum("nk,kchw->nchw", q, plain), rtol=1e-6)
    assert (q.sum(1) == 1).all() and (q >= 0).all() and ((q > 0).sum(1) <= 2).all()
    assert (q * 2**10 % 1 == 0).all() and len({*q.diagonal().tolist()}) > N / 3


def test_cutmix_puts_a_window_of_another_picture_and_mixes_classes_by_areas():
    flip, windows = RandomHorizontalFlip(), 0
    plain, _, _ = one(flip)
    x, q, _ = one(Compose([flip, CutMix(num_classes=N)]))
    for i in range(N):
        partner, is_other = (q[i] - np.eye(N)[i]).argmax(), (x[i] != plain[i]).any(0)
        np.testing.assert_array_equal(x[i][:, is_other], plain[partner][:, is_other])
        rows, columns = (np.flatnonzero(is_other.any(axis)) for axis in (1, 0))
        assert is_other.sum() == len(rows) * len(columns)
        assert all((np.diff(line) == 1).all() for line in (rows, columns))
        assert abs(q[i, i] - (1 - is_other.sum() / 48)) < 2**-10
        windows += is_other.any()
    assert windows > N / 3 and (q.sum(1) == 1).all()


@pytest.mark.parametrize("precision", ["float32", "mixed", "float64"])
def test_probabilities_are_exact_in_every_format(precision):
    _, expected, _ = one(MIXED)
    with fp.precision(precision) as p:
        x, q, _ = next(iter(DataLoader(pictures(), N, transform=MIXED, seed=3)))
        assert x.dtype == p.activations and q.dtype == np.promote_types(x.dtype, np.float32)
        mixed = one(Compose([MixUp(num_classes=N)]))[1]
        np.testing.assert_array_equal(mixed.astype(p.activations), mixed)
    assert abs(q.numpy().astype(np.float64) - expected).max() < 2**-11


def test_the_loss_of_a_mixed_picture_is_the_mixed_loss():
    x, q, t = one(MixUp(num_classes=N))
    z = fp.tensor(np.random.default_rng(0).normal(size=(N, N)).astype(np.float32))
    m, other = q.diagonal(), np.where(np.eye(N, dtype=bool), 0, q).argmax(1)
    each = [F.cross_entropy(z, fp.tensor(k), reduction="none").numpy() for k in (t, other)]
    loss = F.cross_entropy(z, fp.tensor(q), reduction="none").numpy()
    np.testing.assert_allclose(loss, m * each[0] + (1 - m) * each[1], rtol=1e-5)


@pytest.mark.parametrize("a", [0.1, 0.4, 1, 3, 400])
def test_shares_have_the_distribution_beta(a):
    u = (np.arange(20_000) + 0.5).astype(np.float32) / 40_000
    drawn = symmetric_beta(a, u)
    np.testing.assert_allclose(stats.beta(a, a).cdf(drawn), u, atol=2e-4)
    np.testing.assert_allclose(symmetric_beta(a, 1 - u), 1 - drawn, atol=1e-4)


def erased(n=400, size=(20, 30), value=0.0, **arguments):
    x = np.ones((n, 3, *size), np.float32)
    return RandomErasing(value=value, **arguments)((x,), np.arange(n), Draws(1, 0, n))[0]


def test_rectangles_have_areas_and_proportions_in_the_ranges_or_are_not_there():
    x = erased(p=1, scale=(0.1, 0.3), ratio=(0.5, 2))
    areas, ratios = [], []
    for picture in x:
        assert (picture == picture[0]).all()  # all channels alike
        rows, columns = (picture[0] == 0).any(1), (picture[0] == 0).any(0)
        assert (picture[0] == 0).sum() == rows.sum() * columns.sum() > 0
        areas.append(rows.sum() * columns.sum() / 600)
        ratios.append(rows.sum() / columns.sum())
    assert 0.08 < min(areas) < 0.12 and 0.27 < max(areas) < 0.33  # whole pixels
    assert 0.42 < min(ratios) < 0.6 and 1.7 < max(ratios) < 2.4
    assert 0.3 < np.mean(x == 0, (0, 1))[10, 15] / np.mean(x == 0) / 3 < 1  # the middle, more often
    assert (erased(p=1, scale=(1, 1)) == 1).all()


@pytest.mark.parametrize("p", [0, 0.25, 1])
def test_pictures_are_erased_with_the_probability(p):
    assert abs((erased(p=p) == 0).any((1, 2, 3)).sum() - 400 * p) <= 4 * np.sqrt(400 * p * (1 - p))


def test_values_are_a_number_one_a_channel_or_each_pictures_own():
    x = erased(p=1, value=[2, 3, 4])
    assert [{*x[:, c].reshape(-1).tolist()} for c in range(3)] == [{1, 2}, {1, 3}, {1, 4}]
    x = erased(p=1, value="random")
    values = x[x != 1]
    assert abs(values.mean()) < 0.02 and abs(values.std() - 1) < 0.02
    indices, ones = np.array([7, 300]), np.ones((2, 3, 20, 30), np.float32)
    (some,) = RandomErasing(1, value="random")((ones,), indices, Draws(1, 0, 400))
    np.testing.assert_array_equal(some, x[indices])
    (other,) = RandomErasing(1, value="random")((ones,), indices, Draws(1, 1, 400))
    assert not np.isin(other[other != 1], x).any()


test_arguments_that_cannot_be_are_refused = each_refused(
    (lambda: MixUp(num_classes=0), "MixUp: num_classes=0: expected an integer, at least 1"),
    (lambda: CutMix(num_classes=10, alpha=-1), "CutMix: alpha=-1: expected a finite number"),
    (lambda: MixUp(num_classes=10, alpha=0), "alpha=0 mixes nothing"),
    (lambda: RandomErasing(1.5), "RandomErasing: p=1.5: expected a finite number, from 0 to 1"),
    (lambda: RandomErasing(scale=(0.5, 0.1)), r"scale must rise, .* at most 1.0, got \(0.5"),
    (lambda: RandomErasing(scale=0.1), "scale must be two numbers, got 0.1"),
    (lambda: RandomErasing(ratio=(0, 1)), "ratio must rise, from above 0"),
    (lambda: RandomErasing(value="grey"), "value must be finite, a number or .* got 'grey'"),
    (lambda: one(MixUp(num_classes=9)), "MixUp: class 9, expected 0 to 8"),
    (lambda: MixUp(num_classes=N)(pictures()[:], np.arange(N), Draws(0, 0, N)),
     "needs other items .* DataLoader"),
    error=fp.ArgumentError,
)  # fmt: skip


@pytest.mark.parametrize("t", [np.zeros((N, 3)), np.zeros((N, 1), int), np.zeros(N, bool)])
def test_what_are_no_classes_and_no_pictures_is_refused(t):
    data, mix = TensorDataset(pictures().arrays[0], t), MixUp(num_classes=N)
    with pytest.raises(fp.ShapeError, match=r"MixUp: .*classes, integers \(n,\), or probabilities"):
        next(DataLoader(data, 4, transform=mix).arrays())
    for data in (TensorDataset(np.zeros((N, 3)), np.zeros(N, int)), TensorDataset(np.zeros(N))):
        refuses(fp.ShapeError, "MixUp: expected", next, DataLoader(data, 4, transform=mix).arrays())


def test_pictures_of_bytes_have_no_random_values_and_transforms_say_what_they_are():
    pixels = np.ones((9, 3, 8, 8), np.uint8)
    with pytest.raises(fp.DTypeError, match="of uint8: put Normalize before it"):
        RandomErasing(1, value="random")((pixels,), np.arange(9), Draws(0, 0, 9))
    refuses(fp.ShapeError, "2 channels in value, 3 in pictures", erased, value=(1, 2))
    assert repr(Compose([MixUp(num_classes=10), CutMix(num_classes=9, alpha=0.5)])) == (
        "Compose([MixUp(num_classes=10, alpha=1.0), CutMix(num_classes=9, alpha=0.5)])"
    )
    assert repr(RandomErasing(value="random")) == (
        "RandomErasing(p=0.5, scale=(0.02, 0.33), ratio=(0.3, 3.3), value='random')"
    )
