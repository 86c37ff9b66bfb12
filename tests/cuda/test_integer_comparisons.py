"""Comparisons of integers, and small families: what the cases do not reach of their compiled
kernels."""

import numpy as np
import pytest
from checked import check, results_of

import minifp as fp
import minifp.functional as F
from minifp.autograd.tape import Tensor
from minifp.numerics.kernels import ran_on_host
from minifp.ops.pointwise import glu_prelu
from minifp.runtime.cuda.arrays import to_device

BOTH = pytest.mark.parametrize("dtype", ["float16", "float32"])
COMPARISONS = ["eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or", "logical_xor"]
# Shapes that broadcast, of one block and more.
PAIRS = [
    ((7,), (7,)),
    ((3, 1, 500), (40, 1)),
    ((), (5,)),
    ((0, 3), (3,)),
    ((2, 3, 4, 5), (3, 1, 5)),
]


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def on_device():
    """Fail where something is computed on the CPU."""
    before = {*ran_on_host}
    ran_on_host.clear()
    yield
    assert not ran_on_host
    ran_on_host.update(before)


# ---- comparisons --------------------------------------------------------------------------------


def compared(name, *operands):
    """A comparison on the device, the same as NumPy's."""
    given = [Tensor(to_device(a)) if isinstance(a, np.ndarray) else a for a in operands]
    found = getattr(fp, name)(*given).numpy()
    expected = getattr(np, {"eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal"}.get(
        name, {"gt": "greater", "ge": "greater_equal"}.get(name, name)
    ))(*operands)  # fmt: skip
    assert found.dtype == bool and np.array_equal(found, expected)


@pytest.mark.usefixtures("on_device")
@pytest.mark.parametrize("name", COMPARISONS)
@pytest.mark.parametrize("shapes", PAIRS)
def test_comparisons_of_integers(rng, name, shapes):
    for kinds in (("int64", "int64"), ("int32", "uint8"), ("bool", "int64"), ("int8", "uint32")):
        x, y = (np.asarray(rng.integers(0, 3, size=s)).astype(k) for s, k in zip(shapes, kinds))
        compared(name, x, y)
    compared(name, x, 1)
    compared(name, x, 0.5)
    compared(name, 2, x)


@pytest.mark.usefixtures("on_device")
@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons_of_integers_are_exact(name):
    x = np.array([2**53, 2**53 + 1, -(2**63), 2**63 - 1, -(2**53) - 1])
    compared(name, x, x[::-1].copy())
    compared(name, x, 2**53 + 1)
    compared(name, x[:, None], x + (x < 0))
    compared("logical_not", x * (x > 0))


@pytest.mark.usefixtures("on_device")
def test_how_many_are_right():
    logits = np.array([[1, 3, 2], [0, 0, 5], [2, 1, 1]], "float16")
    target = Tensor(to_device(np.array([1, 2, 2])))
    right = fp.argmax(Tensor(to_device(logits)), 1) == target
    assert right.device == "cuda" and right.numpy().tolist() == [True, True, False]


@pytest.mark.usefixtures("on_device")
@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons_of_what_is_not_finite(name):
    x = np.array([0, -0.0, 1, np.nan, np.inf, -np.inf, 6e-8], "float16")
    compared(name, x[:, None], x)
    compared(name, x, np.ones(7, "int64"))
    compared(name, x, 0.0)
    compared(name, x[:4], 1e300)


@pytest.mark.filterwarnings("ignore::minifp.numerics.kernels.OnHostWarning")
def test_integers_without_a_kernel_are_compared_on_the_cpu():
    x = np.zeros((2, 1, 2, 1, 2, 1), "int64")
    y = np.arange(2).reshape(1, 2, 1, 1, 1, 1) + np.arange(2)
    compared("eq", x, y.astype("int16"))
    compared("lt", x, 2**70)


# ---- divisions without a fraction ---------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("shapes", PAIRS)
def test_remainders(rng, shapes, dtype):
    x, y = (np.asarray(rng.normal(size=s) * 30).astype(dtype) for s in shapes)
    dz = np.ones(np.broadcast_shapes(*shapes), dtype)
    for name in ("remainder", "floor_divide"):
        check(f"arithmetic.{name}_forward", x, y, to=(dtype,))
    for d, a in zip("xy", (x, y)):
        check(f"arithmetic.remainder_d{d}", dz, x, y, shape=a.shape, to=(dtype,))
        for name in ("floor_divide", "trunc_divide"):
            (found,) = results_of(f"arithmetic.{name}_d{d}", dz, x, y, shape=a.shape, to=(dtype,))
            assert found.shape == a.shape and not found.any()


@BOTH
@pytest.mark.parametrize("name", ["remainder", "floor_divide"])
def test_remainders_of_what_is_not_finite_or_far_apart(name, dtype):
    x = np.array([0, -0.0, 1, -1, 3, np.nan, np.inf, -np.inf, 6e-8, 65504, -65504], dtype)
    y = np.append(x, np.array([0.1, -0.1, 1e-3], dtype))
    z = check(f"arithmetic.{name}_forward", x[:, None], y, to=("float32",))
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(x[:, None], y, dtype="float32")
    assert np.array_equal(np.isnan(z), np.isnan(expected))
    zero = expected == 0
    assert np.array_equal(np.signbit(z[zero]), np.signbit(expected[zero]))


# ---- gates, windows, einsum ------------------------------------------------------------


@BOTH
@pytest.mark.parametrize(
    "shape, axis", [((50, 34), 1), ((6, 700), 0), ((3, 8, 41), 1), ((0, 4), 1)]
)
def test_gates(rng, shape, axis, dtype):
    x = (rng.normal(size=shape) * 4).astype(dtype)
    check_gates(x, axis, np.split(x, 2, axis)[1].copy())


def check_gates(x, axis, dy):
    """The gate and its gradient, of both halves."""
    a, b = glu_prelu.halves(x, axis)
    second = np.array([0, 1], x.dtype).reshape(2, *(1,) * (x.ndim - axis))
    check("glu_prelu.glu_forward", a, b, to=(x.dtype,))
    check("glu_prelu.glu_dx", dy.reshape(a.shape), a, b, second, to=(x.dtype,))


def test_gates_of_what_is_not_finite():
    given = np.array([0, 1, np.nan, np.inf, -np.inf, 65504, -65504, -80], "float16")
    x = np.stack(np.broadcast_arrays(given[:, None], given)).reshape(2, -1)
    check_gates(x, 0, np.ones((1, x.shape[1]), "float16"))


@BOTH
@pytest.mark.parametrize(
    "window",
    [
        {"kernel_size": (3, 3), "dilation": (1, 1), "padding": (1, 1), "stride": (1, 1)},
        {"kernel_size": (2, 5), "dilation": (2, 1), "padding": (0, 2), "stride": (3, 2)},
        {"kernel_size": (1, 1), "dilation": (1, 1), "padding": (0, 0), "stride": (1, 1)},
    ],
)
def test_windows_as_columns_and_back(rng, window, dtype):
    x = rng.normal(size=(3, 5, 19, 23)).astype(dtype)
    y = check("folding.unfold_columns", x, to=(dtype,), **window)
    assert y.flags.c_contiguous
    check("folding.fold_forward", y, size=(19, 23), to=(dtype,), **window)


@pytest.mark.usefixtures("on_device")
def test_unfold_and_fold_on_the_device(rng):
    x = rng.normal(size=(2, 3, 6, 7)).astype("float16")
    found = []
    for place in (lambda a: a, to_device):
        leaf = Tensor(place(x.copy()), requires_grad=True)
        y = F.fold(F.unfold(leaf, 3, padding=1), (6, 7), 3, padding=1)
        y.sum().backward()
        found.append((y.numpy(), leaf.grad.numpy()))
    for a, b in zip(*found):
        assert np.array_equal(a, b)


@BOTH
@pytest.mark.parametrize(
    "equation", ["bij,bjk->bik", "ij,kj->ki", "abc,cd->ad", "ij,j->", "i,j->ij"]
)
def test_einsum(rng, equation, dtype):
    sizes = dict(zip("abcdijk", (5, 3, 40, 17, 33, 70, 9)))
    terms, out = equation.split("->")
    left, right = map(tuple, terms.split(","))
    x, y = (rng.normal(size=[sizes[n] for n in t]).astype(dtype) for t in (left, right))
    given = {"left": left, "right": right}
    if out:
        z = check("einsum.einsum_forward", x, y, out=tuple(out), to=(dtype,), **given)
    else:
        z = check("einsum.einsum_number", x, y, to=("float32",), **given)
    given = {"out": tuple(out), "to": (dtype,)}
    check("einsum.einsum_dx", z, y, left=left, right=right, shape=x.shape, **given)
    check("einsum.einsum_dx", z, x, left=right, right=left, shape=y.shape, **given)


# ---- norms and similarity -----------------------------------------------------------------------

ROWS = [((40, 300), (1,)), ((300, 40), (0,)), ((3, 50, 7), (0, 2)), ((2, 9000), (1,)), ((9,), (0,))]
POWERS = pytest.mark.parametrize("p", [3.0, 0.5, -2.0, np.inf, -np.inf])


@BOTH
@POWERS
@pytest.mark.parametrize("shape, axes", ROWS)
def test_norms_of_other_powers(rng, shape, axes, p, dtype):
    x = rng.normal(size=shape).astype(dtype)
    dy = np.asarray(rng.normal(size=[n for i, n in enumerate(shape) if i not in axes]))
    check("norm.norm_forward", x, p=p, axes=axes, keepdims=False, to=("float32",))
    check("norm.norm_dx", dy.astype(dtype), x, p=p, axes=axes, to=(dtype,))


@POWERS
def test_a_norm_of_many_numbers(rng, p):
    x = rng.normal(size=150000).astype("float32")
    check("norm.norm_forward", x, p=p, axes=(0,), keepdims=False, to=("float32",))


@POWERS
def test_norms_of_what_is_not_finite(p):
    x = np.ones((8, 40), "float16")
    x[0], x[1, 3], x[2, 3], x[3, 2], x[4] = 0, np.nan, np.inf, 0, 65504
    x[5], x[6, ::2], x[7, 1], x[7, 2] = 6e-8, -1, np.nan, np.inf
    check("norm.norm_forward", x, p=p, axes=(1,), keepdims=False, to=("float32",))
    check("norm.norm_dx", np.ones(8, "float16"), x, p=p, axes=(1,), to=("float32",))


@BOTH
@pytest.mark.parametrize("p", [1.0, 3.0, np.inf])
@pytest.mark.parametrize("shape, axes", ROWS)
def test_normalised_by_other_norms(rng, shape, axes, p, dtype):
    x = rng.normal(size=shape).astype(dtype)
    given = {"p": p, "axes": axes, "eps": 1e-12}
    y, n = check("normalize.normalize_forward", x, to=(dtype, "float32"), **given)
    check("normalize.normalize_dx", y, x, n, to=(dtype,), **given)


VECTORS = [
    ((5, 300), (5, 300), 1),
    ((300, 40), (40,), 0),
    ((4, 1, 70), (3, 70), -1),
    ((9,), (9,), 0),
]


@BOTH
@pytest.mark.parametrize("first, second, axis", VECTORS)
def test_cosines_and_distances(rng, first, second, axis, dtype):
    x1, x2 = (rng.normal(size=s).astype(dtype) for s in (first, second))
    given = {"axis": axis, "eps": 1e-8}
    y = check("similarity.cosine_similarity_forward", x1, x2, to=("float32",), **given)
    whole = np.broadcast_arrays(x1, x2)  # what is stretched is summed behind the kernel
    check("similarity.cosine_similarity_dx", y, whole[0], x2, to=(dtype,), **given)
    check("similarity.cosine_similarity_dx", y, whole[1], x1, to=(dtype,), **given)
    for p in (2.0, 1.0, 3.0, np.inf):
        given = {"p": p, "eps": 1e-6}
        for keepdim in (False, True):
            y = check("similarity.pairwise_distance_forward", x1, x2, keepdim=keepdim,
                      to=("float32",), **given)  # fmt: skip
        given["to"] = (dtype,)
        given["shape"] = whole[0].shape
        check("similarity.pairwise_distance_dx", y, whole[0], x2, **given)
        check("similarity.pairwise_distance_dx", y, whole[1], x1, **given)


@pytest.mark.usefixtures("on_device")
def test_slopes_of_what_is_stretched(rng):
    arrays = [rng.normal(size=s).astype("float32") for s in VECTORS[2][:2]]
    slopes = []
    for device in ("cpu", "cuda"):
        leaves = [fp.tensor(a, device=device, requires_grad=True) for a in arrays]
        (F.cosine_similarity(*leaves, dim=-1) * F.pairwise_distance(*leaves)).sum().backward()
        slopes.append([leaf.grad.numpy() for leaf in leaves])
    for ours, theirs in zip(*slopes):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-6)


def test_cosines_of_zeros_and_of_what_is_not_finite():
    x = np.ones((6, 5), "float16")
    x[1], x[2, 2], x[3, 2], x[4], x[5] = 0, np.nan, np.inf, 65504, 6e-8
    other = np.linspace(-1, 1, 5).astype("float16")
    given = {"axis": 1, "eps": 1e-8}
    y = check("similarity.cosine_similarity_forward", x, other, to=("float16",), **given)
    assert np.isnan(y[2:4]).all() and y[1] == 0
    dy = np.ones(6, "float16")
    check("similarity.cosine_similarity_dx", dy, x, other, to=("float32",), **given)


@BOTH
@pytest.mark.parametrize("shape", [(300, 70), (3, 9000), (9,)])
def test_losses_of_pairs(rng, shape, dtype):
    x1, x2 = (rng.normal(size=shape).astype(dtype) for _ in range(2))
    t = np.asarray(rng.choice([-1, 1], size=shape[:-1]))
    name, margin = "cosine_embedding_loss.cosine_embedding_loss_", 0.1
    check(f"{name}each", x1, x2, t, margin=margin, to=(dtype,))
    given = {"margin": margin, "divisor": 7}
    loss = check(f"{name}total", x1, x2, t, to=("float32",), **given)
    check(f"{name}dx", loss, x1, x2, t, to=(dtype,), **given)
    check(f"{name}dx", np.ones_like(t, dtype), x1, x2, t, to=(dtype,), **given)


@pytest.mark.usefixtures("on_device")
def test_a_loss_of_pairs_stays_on_the_device(rng):
    x1, x2 = (rng.normal(size=(6, 5)).astype("float32") for _ in range(2))
    t, found = np.array([1, -1, 1, 1, -1, -1]), []
    for place in (lambda a: a, to_device):
        a, b = (Tensor(place(x.copy()), requires_grad=True) for x in (x1, x2))
        loss = F.cosine_embedding_loss(a, b, Tensor(place(t)), 0.1)
        loss.backward()
        found.append([v.numpy() for v in (loss, a.grad, b.grad)])
    for a, b in zip(*found):
        assert np.allclose(a, b, rtol=1e-5, atol=1e-7)


# ---- borders and other sizes --------------------------------------------------------------------

WIDTHS = [((4, 9), ((0, 0), (8, 8))), ((3, 5, 6), ((0, 0), (4, 0), (0, 5))), ((300,), ((7, 299),)),
          ((2, 3, 7, 9), ((1, 0), (0, 0), (3, 6), (8, 1)))]  # fmt: skip


@BOTH
@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
@pytest.mark.parametrize("shape, widths", WIDTHS)
def test_what_borders_repeat_is_summed(rng, shape, widths, mode, dtype):
    dy = rng.normal(size=[n + b + a for n, (b, a) in zip(shape, widths)]).astype(dtype)
    check("padding.pad_around_dx", dy, shape=shape, widths=widths, mode=mode, to=(dtype,))


@pytest.mark.usefixtures("on_device")
@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
@pytest.mark.parametrize("shape, widths", WIDTHS)
def test_borders_are_those_of_the_cpu(rng, shape, widths, mode):
    x, found = rng.normal(size=shape).astype("float16"), []
    for place in (lambda a: a, to_device):
        leaf = Tensor(place(x.copy()), requires_grad=True)
        y = F.pad(leaf, [n for width in reversed(widths) for n in width], mode)
        (y * y).sum().backward()
        found.append([y.numpy(), leaf.grad.numpy()])
    assert np.array_equal(found[0][0], found[1][0])
    assert np.allclose(found[0][1], found[1][1], rtol=2e-3, atol=1e-3)


RESIZED = [
    *(((3, 40), (9,)), ((2, 5, 9, 30), (20, 31)), ((2, 5, 9, 30), (9, 7)), ((1, 2, 300), (300,))),
    *(((4, 3, 5, 1), (1, 700)), ((1, 3, 1, 1), (90, 90)), ((0, 3, 4, 4), (2, 2))),
]


@BOTH
@pytest.mark.parametrize("shape, counts", RESIZED)
@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "linear", "aligned"])
def test_other_sizes(rng, shape, counts, mode, dtype):
    shape = shape if len(shape) == len(counts) + 2 else (1, *shape)
    align_corners, mode = mode == "aligned", mode.replace("aligned", "linear")
    given = {"mode": mode, "align_corners": align_corners, "to": (dtype,)}
    x = rng.normal(size=shape).astype(dtype)
    for factors in ((None,) * len(counts), tuple(c / n for n, c in zip(shape[2:], counts))):
        given["factors"] = factors
        y = check("interpolate.interpolate_forward", x, counts=counts, **given)
        check("interpolate.interpolate_dx", y, sizes=shape[2:], **given)


# ---- products -----------------------------------------------------------------------------------

FACTORS = [*ROWS, ((3, 50, 7), (0, 1, 2)), ((5, 1, 4), (1,)), ((2, 20000), (0, 1))]


def factors(rng, shape, axes, zeros=0.0):
    """Numbers whose product is neither large nor small, some of them 0."""
    x = np.exp(rng.normal(size=shape) / np.sqrt(max(1, *(shape[i] for i in axes)))) / 1.0
    return x * rng.choice([-1, 1], size=shape) * (rng.random(size=shape) >= zeros)


@BOTH
@pytest.mark.parametrize("zeros", [0.0, 0.01])
@pytest.mark.parametrize("shape, axes", FACTORS)
def test_products(rng, shape, axes, zeros, dtype):
    x = factors(rng, shape, axes, zeros).astype(dtype)
    y = check("cumulative.prod_forward", x, axes=axes, keepdims=False, to=("float32",))
    check("cumulative.prod_dx", np.ones_like(y), x, axes=axes, to=("float32",))
    axis = axes[-1]
    check("cumulative.cumprod_forward", x, axis=axis, to=("float32",))
    dy = rng.normal(size=shape).astype(dtype)
    check("cumulative.cumprod_dx", dy, x, axis=axis, to=(dtype,))


@pytest.mark.parametrize("behind", [(), (3,)])
def test_no_partial_product_overflows(behind):
    x = np.ones((2, 600, *behind), "float32")
    x[0, :300], x[0, 300:], x[1, ::2], x[1, 1::2] = 1e20, 1e-20, 1e-30, 1e30
    y = check("cumulative.prod_forward", x, axes=(1,), keepdims=True, to=("float32",))
    assert np.allclose(y, 1, rtol=1e-4)
    check("cumulative.prod_dx", np.ones_like(y), x, axes=(1,), to=("float32",))
    found = results_of("cumulative.cumprod_forward", x, axis=1, to=("float32",))[0]
    assert np.allclose(found[:, -1:], 1, rtol=1e-4) and np.isinf(found[0, 300]).all()


def test_products_of_nothing_and_of_one_number():
    for shape, axes in (((3, 0), (1,)), ((0, 3), (1,)), ((), ())):
        x = np.full(shape, 2.5, "float16")
        check("cumulative.prod_forward", x, axes=axes, keepdims=False, to=("float16",))


def test_products_of_what_is_not_finite():
    x = np.array(
        [[2, np.inf, 3, 0, 5], [2, np.nan, 0, 3, 1], [0, 0, 2, 3, 4], [0, 2, 3, 0, 4],
         [np.inf, -1, 2, np.inf, 1], [65504, 65504, 6e-8, 6e-8, 1], [1, 2, 0, np.inf, 3]],
        "float16",
    )  # fmt: skip
    check("cumulative.prod_forward", x, axes=(1,), keepdims=False, to=("float32",))
    check("cumulative.prod_dx", np.ones(7, "float16"), x, axes=(1,), to=("float32",))
    check("cumulative.cumprod_forward", x, axis=1, to=("float32",))
    check("cumulative.cumprod_dx", np.ones_like(x), x, axis=1, to=("float32",))


# ---- in a graph ---------------------------------------------------------------------------------

PICTURES = [
    lambda x: F.fold(F.unfold(x, 3, padding=1, stride=2), (6, 6), 3, padding=1, stride=2),
    lambda x: F.pad(x, (2, 1, 0, 3), "reflect"),
    lambda x: F.pad(x, (2, 1, 0, 3), "replicate"),
    lambda x: F.interpolate(x, (9, 4), mode="bilinear"),
    lambda x: F.glu(x, 1),
    lambda x: x.repeat(2, 1, 1, 3),
    lambda x: fp.remainder(x, 0.7) + fp.floor_divide(x, 0.3),
    lambda x: fp.einsum("ncij,mcij->nm", x, x),
    lambda x: F.normalize(x, 3.0) + fp.norm(x, 4),
    lambda x: F.cosine_similarity(x, x.flip(0)) + F.pairwise_distance(x, x.flip(0)).sum(),
    lambda x: fp.prod(x, 1) + fp.cumprod(x, 1).sum(1),
    lambda x: F.cosine_embedding_loss(x[:, 0, 0], x[:, 1, 0], fp.ones(3, device="cuda")),
    lambda x: x * (fp.argmax(x, 1, keepdim=True) == fp.argmax(x, 1, keepdim=True).flip(0)),
]


@pytest.mark.usefixtures("on_device")
@pytest.mark.parametrize("number", range(len(PICTURES)))
def test_they_can_be_captured(rng, number):
    def step(x):
        leaf = Tensor(x.array, requires_grad=True)
        (PICTURES[number](leaf) ** 2).sum().backward()
        return leaf.grad

    captured = fp.capture(step, device="cuda")
    for _ in range(6):
        x = Tensor(to_device(rng.normal(size=(3, 4, 6, 6)).astype("float32")))
        assert np.array_equal(captured(x).numpy(), step(x).numpy(), equal_nan=True)
    assert captured.graphs == 1
