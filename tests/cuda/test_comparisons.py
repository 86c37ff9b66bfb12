"""Comparisons on a GPU, of integers too, are NumPy's; and what lies beside can be captured."""

import numpy as np
import pytest

pytest.importorskip("hypothesis")
from cases import COMPARISONS, OF_NUMPY

import minifp as fp
import minifp.functional as F
from minifp.autograd.tape import Tensor
from minifp.runtime.cuda.arrays import to_device

# Shapes that broadcast, of one block and more.
PAIRS = [((7,), (7,)), ((3, 1, 500), (40, 1)), ((), (5,)), ((0, 3), (3,)),
         ((2, 3, 4, 5), (3, 1, 5))]  # fmt: skip
KINDS = ("int64", "int64"), ("int32", "uint8"), ("bool", "int64"), ("int8", "uint32")


def compared(name, *operands):
    """A comparison on the device, the same as NumPy's."""
    placed = [Tensor(to_device(a)) if isinstance(a, np.ndarray) else a for a in operands]
    found = getattr(fp, name)(*placed).numpy()
    with np.errstate(over="ignore"):  # a number of Python's becomes Inf
        expected = getattr(np, OF_NUMPY[name])(*operands)
    said = (name, *[(a.shape, a.dtype) if isinstance(a, np.ndarray) else a for a in operands])
    assert found.dtype == bool and np.array_equal(found, expected), said


@pytest.mark.usefixtures("on_device")
@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons_are_numpys(name):
    rng = np.random.default_rng(0)
    for shapes in PAIRS:
        for kinds in KINDS:
            x, y = (np.asarray(rng.integers(0, 3, s)).astype(k) for s, k in zip(shapes, kinds))
            compared(name, x, y)
        for one, other in (x, 1), (x, 0.5), (2, x):
            compared(name, one, other)
    exact = np.array([2**53, 2**53 + 1, -(2**63), 2**63 - 1, -(2**53) - 1])
    compared(name, exact, exact[::-1].copy())
    compared(name, exact, 2**53 + 1)
    compared(name, exact[:, None], exact + (exact < 0))
    compared("logical_not", exact * (exact > 0))
    special = np.array([0, -0.0, 1, np.nan, np.inf, -np.inf, 6e-8], "float16")
    compared(name, special[:, None], special)
    compared(name, special, np.ones(7, "int64"))
    compared(name, special, 0.0)
    compared(name, special[:4], 1e300)
    for test in ("isfinite", "isinf", "isnan"):
        compared(test, special)


@pytest.mark.filterwarnings("ignore::minifp.numerics.kernels.OnHostWarning")
def test_integers_without_a_kernel_are_compared_on_the_cpu():
    x = np.zeros((2, 1, 2, 1, 2, 1), "int64")
    y = np.arange(2).reshape(1, 2, 1, 1, 1, 1) + np.arange(2)
    compared("eq", x, y.astype("int16"))
    compared("lt", x, 2**70)


PICTURES = {
    "fold": lambda x: F.fold(F.unfold(x, 3, padding=1, stride=2), (6, 6), 3, padding=1, stride=2),
    "reflect": lambda x: F.pad(x, (2, 1, 0, 3), "reflect"),
    "replicate": lambda x: F.pad(x, (2, 1, 0, 3), "replicate"),
    "circular": lambda x: F.pad(x, (2, 1, 0, 3), "circular"),
    "interpolate": lambda x: F.interpolate(x, (9, 4), mode="bilinear"),
    "joined": lambda x: fp.cat([x, x * 2.0], 1).sum(1) + fp.stack([x, x.flip(0)])[1].sum(1),
    **{"glu": lambda x: F.glu(x, 1), "repeat": lambda x: x.repeat(2, 1, 1, 3)},
    "divide": lambda x: fp.remainder(x, 0.7) + fp.floor_divide(x, 0.3),
    "einsum": lambda x: fp.einsum("ncij,mcij->nm", x, x),
    "norm": lambda x: F.normalize(x, 3.0) + fp.norm(x, 4),
    "cosines": lambda x: (
        F.cosine_similarity(x, x[:1].flip(1)) + F.pairwise_distance(x, x.flip(0)).sum()
    ),
    "prod": lambda x: fp.prod(x, 1) + fp.cumprod(x, 1).sum(1),
    "pairs": lambda x: F.cosine_embedding_loss(x[:, 0, 0], x[:, 1, 0], fp.ones(3, device="cuda")),
    "right": lambda x: x * (fp.argmax(x, 1, keepdim=True) == fp.argmax(x, 1, keepdim=True).flip(0)),
}


@pytest.mark.usefixtures("on_device")
@pytest.mark.parametrize("name", PICTURES)
def test_small_families_are_captured_and_nothing_of_them_is_computed_on_the_cpu(name):
    def step(x):
        leaf = Tensor(x.array, requires_grad=True)
        (PICTURES[name](leaf) ** 2).sum().backward()
        return leaf.grad

    captured, rng = fp.capture(step, device="cuda"), np.random.default_rng(0)
    for _ in range(6):
        x = Tensor(to_device(rng.normal(size=(3, 4, 6, 6)).astype("float32")))
        assert np.array_equal(captured(x).numpy(), step(x).numpy(), equal_nan=True)
    assert captured.graphs == 1
