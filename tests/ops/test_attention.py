"""Attention: what is stored, what is masked, and MultiheadAttention as PyTorch's."""

import math

import cases  # noqa: F401 (the bounds of kernels whose sums go through further arithmetic)
import numpy as np
import pytest
from beside_torch import with_weights_of
from bounds import Calls
from random_arrays import random_arrays
from refusals import check_refusals, refuses

import minifp as fp
import minifp.nn.functional as F
from minifp import nn
from minifp.numerics.formats import float16

attention = F.scaled_dot_product_attention


def leaves(*arrays):
    return [fp.tensor(a, requires_grad=True) for a in arrays]


def test_what_is_stored_is_in_half_and_a_byte_for_each_dropped_weight():
    with fp.precision("mixed"), Calls() as calls:
        q, k, v = leaves(*random_arrays((2, 3, 5, 4), (2, 3, 6, 4), (2, 3, 6, 4)))
        attention(q, k, v).sum().backward()
    stored = {c.kernel.name.partition(".")[2]: c.results[0] for c in calls}
    for name in ("attention_scores", "attention_probabilities", "attention_dp", "softmax_dx"):
        assert (stored[name].shape, stored[name].dtype) == ((2, 3, 5, 6), float16), name
    with fp.precision("mixed"):
        y = attention(q, k, v, dropout_p=0.5)
    kinds = [a.dtype for a in y.node.saved if isinstance(a, np.ndarray)]
    assert kinds == [float16] * 4 + [np.dtype(bool)]


def test_scores_are_scaled_before_they_can_overflow():
    """240 x 240 x 64 is beyond 65504; divided by 8 before it is summed, it is not."""
    with fp.precision("mixed"):
        q = fp.tensor(np.full((1, 64), 30.0))
        k = fp.tensor(np.stack([np.full(64, 240.0), np.full(64, 120.0)]))
        assert (q @ k.T).isinf().any()
        assert attention(q, k, fp.tensor([[1.0], [2.0]])).tolist() == [[1.0]]
    with fp.precision("mixed,accumulate=float16"):
        assert attention(q, k, fp.tensor([[1.0], [2.0]])).tolist() == [[1.0]]


def test_a_query_that_sees_no_key_has_the_result_0_and_gives_no_gradient():
    mask = np.array([[True, True], [False, False]])
    for m in (mask, np.where(mask, 0, -np.inf)):
        q, k, v = leaves(*random_arrays((2, 3), (2, 3), (2, 3)))
        y = attention(q, k, v, fp.tensor(m))
        y.backward(gradient=np.ones((2, 3)))
        assert y.tolist()[1] == [0, 0, 0] and q.grad.tolist()[1] == [0, 0, 0]
        for x in (y, q.grad, k.grad, v.grad):
            assert np.isfinite(x.array).all()


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_a_masked_score_is_never_nan(value):
    q, k, v = random_arrays((1, 3), (2, 3), (2, 3))
    k[1] = value
    y = attention(*map(fp.tensor, (q, k, v)), fp.tensor([[True, False]]))
    np.testing.assert_allclose(y.array, v[:1], rtol=1e-6)


def test_causal_is_the_mask_below_the_diagonal_also_of_unequal_lengths():
    for L, S in ((4, 4), (3, 5), (5, 3)):
        q, k, v = map(fp.tensor, random_arrays((L, 2), (S, 2), (S, 2)))
        expected = attention(q, k, v, fp.tensor(np.tri(L, S, dtype=bool))).array
        np.testing.assert_array_equal(attention(q, k, v, is_causal=True).array, expected)


def test_dropout_drops_the_same_weights_in_every_precision():
    arrays, found = random_arrays((2, 3), (6, 3)), []
    for precision in ("float32", "mixed"):
        with fp.precision(precision):
            fp.manual_seed(1)
            q, k = map(fp.tensor, arrays)
            found.append(attention(q, k, fp.tensor(np.eye(6)), dropout_p=0.5).array == 0)
    np.testing.assert_array_equal(*found)
    assert 0 < found[0].sum() < 12


def test_with_dropout_gradients_are_the_slopes_and_with_certainty_everything_is_dropped():
    def dropped(*xs):
        fp.manual_seed(3)
        return attention(*xs, dropout_p=0.4)

    with fp.precision("float64"):
        xs = leaves(*random_arrays((2, 3, 4), (2, 5, 4), (2, 5, 2)))
        assert fp.gradcheck(dropped, xs)
    xs = leaves(*random_arrays((2, 3), (4, 3), (4, 2)))
    y = attention(*xs, dropout_p=1.0)
    y.sum().backward()
    assert not y.array.any() and not any(x.grad.array.any() for x in xs)


X, KEYS = np.ones((2, 3, 4)), np.ones((2, 5, 4))


@pytest.mark.parametrize("arguments, error, message", [
    ((X, KEYS[..., :3], KEYS), fp.ShapeError, r"query of shape \(2, 3, 4\), key of shape"),
    ((X, KEYS, KEYS[:, :4]), fp.ShapeError, r"value of shape \(2, 4, 4\): expected"),
    ((X, KEYS[0, 0], KEYS), fp.ShapeError, r"expected \(\.\.\., L, E\)"),
    ((X, np.ones((3, 5, 4)), np.ones((3, 5, 4))), fp.ShapeError, r"first axes that broadcast"),
    ((X, KEYS, KEYS, np.ones((3, 4))), fp.ShapeError, r"attn_mask of shape \(3, 4\) does not"),
    ((X, KEYS, KEYS, np.ones((1, 2, 3, 5))), fp.ShapeError, r"attn_mask of shape \(1, 2, 3, 5"),
    ((X, KEYS, KEYS, np.ones((3, 5), int)), fp.DTypeError, r"attn_mask of int64: expected"),
    ((X, KEYS, KEYS, None, 1.5), fp.ArgumentError, r"dropout_p=1.5: expected"),
    ((X, KEYS, KEYS, None, 0.0, 1), fp.ArgumentError, r"is_causal=1: expected True or False"),
    ((X, KEYS, KEYS, np.ones((3, 5), bool), 0.0, True), fp.ArgumentError, r"is_causal=True wi"),
    ((X, KEYS, KEYS, None, 0.0, False, "2"), fp.DTypeError, r"scale='2': expected a number"),
    ((X.astype(int), KEYS, KEYS), fp.DTypeError, r"query of int64: expected floating"),
])  # fmt: skip
def test_what_does_not_fit_is_refused_by_name(arguments, error, message):
    tensors = [fp.tensor(a) if isinstance(a, np.ndarray) else a for a in arguments]
    refuses(error, "scaled_dot_product_attention: .*" + message, attention, *tensors)


def test_a_list_is_refused_by_the_name_of_the_argument():
    q = fp.ones(2, 3)
    for i, name in enumerate(("query", "key", "value", "attn_mask")):
        arguments = [q, q, q, fp.ones(2, 2)]
        arguments[i] = [[1.0]]
        refuses(fp.DTypeError, f"attention: {name} is a list: expected a", attention, *arguments)


def same_layers(torch, precision="float64", **settings):
    with fp.precision(precision):
        ours = nn.MultiheadAttention(8, 2, **settings)
    theirs = torch.nn.MultiheadAttention(8, 2, **settings).double()
    return with_weights_of(theirs, ours), theirs


def called(module, layer, arrays, settings):
    xs = [module.tensor(a, requires_grad=True) for a in arrays]
    given = {k: module.tensor(v) if hasattr(v, "shape") else v for k, v in settings.items()}
    return xs, layer(*xs, **given)


HALF_SEEN = np.array([[False, True, False, False, True], [False] * 5])  # of keys, by example
FUTURE = ~np.tri(3, 5, dtype=bool)
EACH_HEAD = np.random.default_rng(5).random((4, 3, 5)) < 0.3


@pytest.mark.parametrize("settings, call", [
    ({}, {}), ({"bias": False}, {"need_weights": False}),
    ({"kdim": 5, "vdim": 3}, {"average_attn_weights": False}), ({"kdim": 5, "bias": False}, {}),
    ({"batch_first": True}, {"attn_mask": FUTURE}),
    ({}, {"attn_mask": FUTURE, "is_causal": True, "need_weights": False}),
    ({}, {"attn_mask": EACH_HEAD, "average_attn_weights": False}),
    ({}, {"key_padding_mask": HALF_SEEN}),
    ({"batch_first": True}, {"key_padding_mask": HALF_SEEN, "attn_mask": FUTURE}),
    ({}, {"key_padding_mask": np.where(HALF_SEEN, -9.0, 0), "attn_mask": FUTURE * -2.0}),
    ({}, {"attn_mask": np.where(EACH_HEAD, -1.5, 0.5), "need_weights": False}),
], ids=str)  # fmt: skip
def test_results_weights_and_gradients_are_pytorchs(torch, settings, call):
    ours, theirs = same_layers(torch, **settings)
    sizes = [(3, 2, 8), (5, 2, settings.get("kdim", 8)), (5, 2, settings.get("vdim", 8))]
    if settings.get("batch_first"):
        sizes = [(n, t, c) for t, n, c in sizes]
    arrays = random_arrays(*sizes)
    with fp.precision("float64"):
        xs, (y, w) = called(fp, ours, arrays, call)
    ts, (z, u) = called(torch, theirs, arrays, call)
    close = {"rtol": 1e-10, "atol": 1e-12}
    np.testing.assert_allclose(y.array, z.detach().numpy(), **close)
    loss, other = (y * y).sum(), (z * z).sum()
    assert (w is None) == (u is None)
    if w is not None:
        np.testing.assert_allclose(w.array, u.detach().numpy(), **close)
        loss, other = loss + (w**3).sum(), other + (u**3).sum()
    loss.backward()
    other.backward()
    for x, t in zip(xs, ts):
        np.testing.assert_allclose(x.grad.array, t.grad.numpy(), **close)
    for (name, p), q in zip(ours.named_parameters(), theirs.parameters(), strict=True):
        np.testing.assert_allclose(p.grad.array, q.grad.numpy(), err_msg=name, **close)


@pytest.mark.parametrize("batch_first", [False, True])
def test_attention_to_itself_with_and_without_a_batch_is_pytorchs(torch, batch_first):
    ours, theirs = same_layers(torch, batch_first=batch_first)
    for shape in ((4, 2, 8), (4, 8)):
        (array,) = random_arrays(shape)
        x = fp.tensor(array, dtype="float64", requires_grad=True)
        t = torch.tensor(array, requires_grad=True)
        (y, w), (z, u) = ours(x, x, x), theirs(t, t, t)
        y.sum().backward()
        z.sum().backward()
        for a, b in ((y.array, z), (w.array, u), (x.grad.array, t.grad)):
            np.testing.assert_allclose(a, b.detach().numpy(), rtol=1e-10, atol=1e-12)


def test_keys_are_left_out_without_a_batch_too_and_a_query_without_keys_has_weights_0():
    layer = nn.MultiheadAttention(4, 2)
    query, keys = map(fp.tensor, random_arrays((3, 4), (5, 4)))
    _, weights = layer(query, keys, keys, key_padding_mask=fp.tensor(HALF_SEEN[0]))
    assert (weights.array == 0).all(0).tolist() == HALF_SEEN[0].tolist()
    with pytest.raises(fp.ShapeError, match=r"key_padding_mask of shape \(5,\): expected \(1, 5\)"):
        x = keys.unsqueeze(1)
        layer(x, x, x, key_padding_mask=fp.tensor(HALF_SEEN[0]))
    layer, x = nn.MultiheadAttention(4, 2), fp.tensor(random_arrays((3, 1, 4))[0])
    mask = fp.tensor(np.array([[False] * 3, [True] * 3, [False] * 3]))
    y, weights = layer(x, x, x, attn_mask=mask)
    assert weights.tolist()[0][1] == [0, 0, 0]
    np.testing.assert_array_equal(y.array[1, 0], layer.out_proj.bias.array)


def test_masks_of_booleans_and_of_numbers_mix():
    layer = nn.MultiheadAttention(4, 2)
    query, keys = map(fp.tensor, random_arrays((3, 2, 4), (5, 2, 4)))
    found = [
        layer(query, keys, keys, key_padding_mask=fp.tensor(p), attn_mask=fp.tensor(a))[1].array
        for p in (HALF_SEEN, np.where(HALF_SEEN, -np.inf, 0))
        for a in (FUTURE, np.where(FUTURE, -np.inf, 0))
    ]
    for other in found[1:]:
        np.testing.assert_array_equal(found[0], other)


def test_dropout_is_of_weights_and_in_training_only():
    layer, x = nn.MultiheadAttention(4, 2, dropout=0.5), fp.tensor(random_arrays((6, 1, 4))[0])
    _, weights = layer(x, x, x, average_attn_weights=False)
    assert 0.2 < (weights.array == 0).mean() < 0.8
    _, weights = layer.eval()(x, x, x, average_attn_weights=False)
    np.testing.assert_allclose(weights.array.sum(-1), 1, rtol=1e-6)


def test_initial_values_are_distributed_as_pytorchs():
    for kdim, names in ((None, ["in_proj_weight"]), (40, ["k_proj_weight", "v_proj_weight"])):
        layer = nn.MultiheadAttention(64, 4, kdim=kdim)
        for name in names:
            rows, columns = getattr(layer, name).shape
            bound = math.sqrt(6 / (rows + columns))
            largest = np.abs(getattr(layer, name).array).max()
            assert (1 - 20 / (rows * columns)) * bound <= largest <= bound, name
        assert np.abs(layer.out_proj.weight.array).max() <= 1 / 8
        assert not layer.in_proj_bias.array.any() and not layer.out_proj.bias.array.any()


def test_a_layer_that_cannot_be_and_what_does_not_fit_it_are_refused():
    check_refusals(r"""
    nn.MultiheadAttention(6, 4) -> ArgumentError: num_heads=4 must divide embed_dim=6
    nn.MultiheadAttention(0, 1) -> ArgumentError: embed_dim=0: expected a positive integer
    nn.MultiheadAttention(4, 2, dropout=2) -> ArgumentError: dropout=2: expected a probability
    nn.MultiheadAttention(4, 2, add_bias_kv=True) -> ArgumentError: add_bias_kv=True is not suppo
    nn.MultiheadAttention(4, 2, add_zero_attn=True) -> ArgumentError: add_zero_attn=True is not
    nn.MultiheadAttention(4, 2, bias=None) -> ArgumentError: bias=None: expected True or False
    """)
    check_refusals(
        r"""
    m(x, x, x[..., :3]) -> ShapeError: query, key and value of shapes
    m(x, x[:, :1], x[:, :1]) -> ShapeError: expected \(L, N, 4\)
    m(x, x[:, 0], x[:, 0]) -> ShapeError: query, key and value
    m(x, x, x.array) -> DTypeError: value is a ndarray: expected a tensor
    m(x, x, x, is_causal=True) -> ArgumentError: is_causal=True needs
    m(x, x, x, attn_mask=fp.ones(2, 2)) -> ShapeError: attn_mask of shape \(2, 2\): expected \(3, 3
    m(x, x, x, key_padding_mask=fp.tensor([[1, 0, 1], [0, 0, 0]])) -> DTypeError: key_padding_mask
        """,
        prefix="MultiheadAttention: .*",
        names={"m": nn.MultiheadAttention(4, 2)},
        x=np.ones((3, 2, 4)),
    )
