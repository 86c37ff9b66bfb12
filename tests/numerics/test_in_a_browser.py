"""What is computed otherwise in a browser, held here against what is computed elsewhere."""

import numpy as np
import pytest

from minifp.numerics import accumulate, formats
from minifp.numerics.formats import float16, float32


def test_numpys_own_cast_to_half_gives_the_same_bits():
    halves = np.arange(2**16, dtype=np.uint16).view(float16)
    nan = np.array([0x7F800001, 0xFFC12345, 0xFF800001], np.uint32).view(float32)
    with np.errstate(all="ignore"):
        x = halves.astype(float32)
        beside = [np.nextafter(x, float32.type(side)) for side in (-np.inf, np.inf)]
        middle = ((x[:-1].astype(np.float64) + x[1:]) / 2).astype(float32)
        x = np.concatenate([x, *beside, middle, nan, [-65520.0, 65519.99]]).astype(float32)
    ours = formats._narrow_to_half(x).view(np.uint16)
    assert (formats._cast_to_half(x).view(np.uint16) == ours).all()
    turned = x[: 2**16].reshape(256, 256).T
    assert (formats._cast_to_half(turned) == formats._narrow_to_half(turned))[
        turned == turned
    ].all()


@pytest.mark.parametrize("lead", [((), ()), ((3,), (3,)), ((2, 1), (3,)), ((3,), ()), ((0,), ())])
@pytest.mark.parametrize("m, k, n", [(5, 7, 4), (1, 100, 3), (2, 0, 3), (33, 1, 65)])
def test_a_dot_by_rows_is_a_product_within_the_bound_of_its_sums(lead, m, k, n):
    """|error| <= k u |a| |b|, for sums in any order (Higham 2002, section 3.1)."""
    random = np.random.default_rng(k)
    a = random.standard_normal((*lead[0], m, k)).astype(float32)
    b = random.standard_normal((*lead[1], k, n)).astype(float32)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    bound = max(k, 1) * 2.0**-24 / (1 - k * 2.0**-24) * (np.abs(a) @ np.abs(b)).astype(np.float64)
    for ours in (accumulate.dot_of_rows(a, b), accumulate.dot_of_rows(a, b.copy("F"))):
        assert ours.dtype == float32 and ours.shape == exact.shape
        assert (np.abs(ours - exact) <= bound * (1 + 1e-6) + 2.0**-140).all()
