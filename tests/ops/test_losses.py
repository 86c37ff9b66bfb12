"""Claims about losses: what overflows elsewhere, what targets are, layers, and bad input."""

import math
from itertools import groupby, product

import numpy as np
import pytest
from refusals import check_refusals, refuses
from watching import Kernels

import minifp as fp
import minifp.nn.functional as F
from minifp import nn
from minifp.runtime import callers


def value_and_gradients(loss, *tensors):
    loss = loss(*tensors)
    loss.backward()
    return loss.item(), [t.grad.array for t in tensors]


LOSSES = {
    "cross_entropy": lambda x, y, **s: F.cross_entropy(x, np.array([0, 2]), **s),
    "cross_entropy of probabilities": lambda x, y, **s: F.cross_entropy(x, y, **s),
    **{"nll_loss": lambda x, y, **s: F.nll_loss(x, np.array([0, 2]), **s), "mse_loss": F.mse_loss},
    **{"l1_loss": F.l1_loss, "smooth_l1_loss": F.smooth_l1_loss, "huber_loss": F.huber_loss},
    "binary_cross_entropy": F.binary_cross_entropy,
    **{"binary_cross_entropy_with_logits": F.binary_cross_entropy_with_logits, "kl_div": F.kl_div},
    "cosine_embedding_loss": lambda x, y, **s: F.cosine_embedding_loss(
        x, y, np.array([1, -1]), **s
    ),
    "ctc_loss": lambda x, y, **s: F.ctc_loss(x, np.array([1]), (2,), (1,), **s),
}
every_loss = pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)


@every_loss
@pytest.mark.filterwarnings("ignore:binary_cross_entropy computes")
def test_a_loss_is_float32_and_losses_and_gradients_are_stored(loss, in_mixed):
    x, y = (fp.tensor(np.full((2, 3), 0.25), requires_grad=True) for _ in range(2))
    for reduction in ("mean", "sum"):
        result = loss(x, y, reduction=reduction)
        assert (result.dtype, result.shape) == (np.float32, ())
    result.backward()
    assert x.grad.dtype == np.float16
    if result.node.parents[1][0] is not None:
        assert y.grad.dtype == np.float16
    assert loss(x, y, reduction="none").dtype == np.float16


@pytest.mark.parametrize(
    "name", sorted({*LOSSES} - {"binary_cross_entropy", "cosine_embedding_loss", "ctc_loss"})
)
def test_a_sum_of_losses_does_not_overflow_at_65504(name, in_mixed):
    x, y = fp.tensor([[-60000.0, 60000, -60000]] * 2), fp.tensor([[1.0, 2, 3]] * 2)
    total = LOSSES[name](x, y, reduction="sum").item()
    assert math.isfinite(total) and abs(total) > 65504


@every_loss
def test_a_reduction_that_is_none_is_refused(loss):
    x = fp.full((2, 3), 0.5)
    for reduction in ("avg", None, 1, ["mean"]):
        refuses(fp.ArgumentError, "reduction=", loss, x, x, reduction=reduction)


@every_loss
@pytest.mark.filterwarnings("ignore:binary_cross_entropy computes")
def test_each_loss_is_one_kernel_forward_and_one_for_each_gradient(loss, in_mixed):
    x, y = (fp.tensor(np.full((2, 3), 0.25), requires_grad=True) for _ in range(2))
    with Kernels() as calls:
        result = loss(x, y)
        assert len(calls) == 1
        result.backward()
    assert {kernel.rule.role for kernel, *_ in calls} == {"loss"} and len(calls) <= 3


def test_a_mask_of_minus_a_billion_has_probability_0_and_gradient_0(in_mixed):
    x = fp.tensor([[1.0, 2.0, 3.0]], requires_grad=True)
    with pytest.warns(fp.PrecisionWarning):
        mask = fp.tensor([[0.0, -1e9, 0.0]])
    loss = F.cross_entropy(x + mask, np.array([2]))
    loss.backward()
    p = 1 / (1 + math.exp(2))
    assert loss.item() == pytest.approx(-math.log(1 - p), rel=1e-6)
    np.testing.assert_allclose(x.grad.array, [[p, 0, -p]], rtol=1e-3)
    assert F.cross_entropy(x + mask, np.array([1])).item() == np.inf


def test_cross_entropy_of_32_thousand_classes_over_a_large_batch(in_mixed):
    z = fp.tensor(np.full((16, 2**15), 40.0), requires_grad=True)
    loss, (dz,) = value_and_gradients(lambda z: F.cross_entropy(z, np.arange(16)), z)
    assert loss == pytest.approx(math.log(2**15), rel=1e-6)
    assert dz[0, 0] == np.float16((2.0**-15 - 1) / 16)
    z = fp.tensor(np.zeros((2**16, 3)))
    loss = F.cross_entropy(z, np.zeros(2**16, int), reduction="sum").item()
    assert loss == pytest.approx(2**16 * math.log(3), rel=1e-6)


EXTREME = np.array([[60000.0, -60000.0, 0.0], [-60000.0, 60000.0, 1.0], [0, 0, 60000.0]])


def test_small_losses_of_sure_logits_are_not_lost():
    """Where logits are right, PyTorch gives sigmoid(20) - 1 = 0 as the gradient."""
    x = fp.tensor([20.0, -20.0], requires_grad=True)
    y = F.binary_cross_entropy_with_logits(x, np.array([1.0, 0.0], "float32"), reduction="sum")
    y.backward()
    assert y.item() == pytest.approx(2 * math.log1p(math.exp(-20)), rel=1e-6)
    small = 1 / (1 + math.exp(20))
    np.testing.assert_allclose(x.grad.array, [-small, small], rtol=1e-6)


MOVES = [lambda p: p, lambda p: p.view(-1), lambda p: p.float()[:, 0]]


@pytest.mark.parametrize("precision", ["mixed", "autocast", "bfloat16"])
@pytest.mark.parametrize("move", MOVES)
def test_binary_cross_entropy_takes_what_a_sigmoid_rounded_and_says_so(precision, move):
    with fp.precision(precision):
        w = nn.Parameter(np.ones((1, 1), "float32"))
        for logit, target, slope in ((9.0, 0.0, 1.0), (9.0, 1.0, -1 / (1 + math.exp(9)))):
            p = move(F.sigmoid(F.linear(fp.full((2, 1), logit), w)))
            with pytest.warns(fp.MisuseWarning, match="the input of the sigmoid"):
                callers.told.clear()
                loss = F.binary_cross_entropy(p, fp.full(p.shape, target))
            loss.backward()
            assert loss.item() == pytest.approx(9.0 * (1 - target) - slope * target, rel=2e-3)
            assert w.grad.float().item() == pytest.approx(9 * slope, rel=5e-3)
            w.grad = None


def test_other_probabilities_were_rounded_before_binary_cross_entropy_sees_them(in_mixed):
    p = fp.tensor([1.0], requires_grad=True)
    with pytest.warns(fp.MisuseWarning, match="but from rounded probabilities"):
        callers.told.clear()
        loss = F.binary_cross_entropy(p, fp.tensor([0.0]))
    loss.backward()
    assert (loss.item(), p.grad.array[0]) == (100, np.inf)  # 1e12


@pytest.mark.parametrize("function", [F.cross_entropy, F.nll_loss])
def test_the_mean_of_no_rows_is_nan_and_has_gradient_0_as_in_pytorch(torch, function):
    z, t = np.ones((2, 3), "float32"), np.array([-100, -100])
    x, y = fp.tensor(z, requires_grad=True), torch.tensor(z, requires_grad=True)
    loss = function(x, t)
    other = getattr(torch.nn.functional, function.__name__)(y, torch.tensor(t))
    loss.backward()
    other.backward()
    assert math.isnan(loss.item()) and math.isnan(other.item())
    np.testing.assert_array_equal(x.grad.array, y.grad.numpy())
    assert not x.grad.array.any()


def test_class_numbers_may_have_any_integer_format():
    z = fp.tensor(np.arange(6.0).reshape(2, 3))
    expected = F.cross_entropy(z, np.array([2, 0])).item()
    for dtype in ("uint8", "int8", "int32", "uint64"):
        assert F.cross_entropy(z, np.array([2, 0], dtype)).item() == expected
        assert F.cross_entropy(z, fp.tensor(np.array([2, 0], dtype))).item() == expected


def test_cross_entropy_is_that_of_one_hot_probabilities_and_log_softmax_then_nll():
    z, t = fp.tensor(EXTREME / 10000), np.array([0, 0, 2])
    hot = fp.tensor(np.eye(3)[t])
    for settings in ({}, {"label_smoothing": 0.25}):
        a, b = F.cross_entropy(z, t, **settings), F.cross_entropy(z, hot, **settings)
        assert a.item() == pytest.approx(b.item(), rel=1e-6)
    apart = F.nll_loss(F.log_softmax(z, 1), t)
    assert apart.item() == pytest.approx(F.cross_entropy(z, t).item(), rel=1e-6)


def test_batchmean_is_the_divergence_and_mean_is_not():
    p, q = np.array([[0.25, 0.75], [0.5, 0.5]]), np.array([[0.5, 0.5], [0.125, 0.875]])
    divergence = (p * np.log(p / q)).sum(1).mean()
    x, t = fp.tensor(np.log(q)), fp.tensor(p)
    assert F.kl_div(x, t, reduction="batchmean").item() == pytest.approx(divergence, rel=1e-6)
    assert F.kl_div(x, t).item() == pytest.approx(divergence / 2, rel=1e-6)
    hot = fp.tensor([[0.0, 1.0]])  # 0 log 0 is 0
    assert F.kl_div(fp.tensor([[-1.0, -2.0]]), hot, reduction="sum").item() == 2


def collapse(path, blank):
    return tuple(c for c, _ in groupby(path) if c != blank)


@pytest.mark.parametrize("labels", [(), (1,), (1, 1), (2, 1), (1, 2, 1)])
@pytest.mark.parametrize("blank", [0, 3])
def test_ctc_sums_the_probabilities_of_all_paths(labels, blank):
    labels = tuple((c + blank + 1) % 4 if c == blank else c for c in labels)
    random = np.random.default_rng(0)
    with fp.precision("float64"):
        x = F.log_softmax(fp.tensor(random.normal(0, 1, (4, 4))), 1)
        loss = F.ctc_loss(x, np.array(labels, int), (4,), (len(labels),), blank, "sum").item()
    p = np.exp(x.array)
    paths = (s for s in product(range(4), repeat=4) if collapse(s, blank) == labels)
    expected = sum(math.prod(p[t, c] for t, c in enumerate(s)) for s in paths)
    assert loss == pytest.approx(-math.log(expected), rel=1e-12)


def log_probs(*shape, **options):
    return fp.tensor(np.random.default_rng(0).normal(0, 1, shape), **options)


def test_what_lies_beyond_a_sequence_or_its_labels_does_not_matter():
    x = log_probs(6, 2, 4)
    settings = (6, 3), (2, 1), 0, "none"
    expected = F.ctc_loss(F.log_softmax(x, -1), np.array([[1, 2], [3, 0]]), *settings).array
    other = x.array.copy()
    other[3:, 1] = np.nan
    y = F.ctc_loss(
        F.log_softmax(fp.tensor(other), -1), np.array([[1, 2, 99], [3, -1, 7]]), *settings
    )
    np.testing.assert_array_equal(y.array, expected)
    joined = F.ctc_loss(F.log_softmax(x, -1), np.array([1, 2, 3]), *settings)
    np.testing.assert_array_equal(joined.array, expected)


NO_ROOM = (2, 2, 2), (2, 1, 0)  # for the first of the labels, in two steps
NO_STEPS = (0, 2, 3), (0, 1, 0)  # nor labels


@pytest.mark.parametrize(("lengths", "settings"), [
    *((NO_ROOM, {"reduction": "none", "zero_infinity": z}) for z in (False, True)),
    *((NO_STEPS, {"reduction": reduction}) for reduction in ("mean", "sum", "none")),
])  # fmt: skip
def test_labels_that_do_not_fit_and_sequences_of_no_steps_are_pytorchs(torch, lengths, settings):
    z = np.random.default_rng(0).normal(0, 1, (3, 3, 3))
    targets = np.array([[1, 1], [1, 2], [0, 0]])
    x, y = fp.tensor(z, "float64", requires_grad=True), torch.tensor(z, requires_grad=True)
    ours = F.ctc_loss(x, targets, *lengths, **settings)
    theirs = torch.nn.functional.ctc_loss(y, torch.tensor(targets), *lengths, **settings)
    ours.sum().backward()
    theirs.sum().backward()
    np.testing.assert_allclose(ours.array, theirs.detach().numpy(), rtol=1e-6)
    np.testing.assert_allclose(x.grad.array, y.grad.numpy(), rtol=1e-10, atol=1e-12)
    if lengths is NO_ROOM:
        zero_infinity = settings["zero_infinity"]
        assert ours.array[0] == (0 if zero_infinity else np.inf)
        assert np.isnan(x.grad.array[:2, 0]).all() != zero_infinity


def test_a_class_of_probability_0_spoils_no_gradient_and_long_sequences_do_not_underflow(in_mixed):
    """In float16 log-probabilities end at -65504; in PyTorch's gradient -Inf gives NaN."""
    mask = np.zeros((4, 1, 3))
    mask[:2, 0, 2] = -np.inf
    x = log_probs(4, 1, 3, requires_grad=True)
    loss = F.ctc_loss(F.log_softmax(x + fp.tensor(mask), -1), np.array([[1, 2]]), (4,), (2,))
    loss.backward()
    assert math.isfinite(loss.item())
    assert np.isfinite(x.grad.array).all() and not x.grad.array[:2, 0, 2].any()
    # The probability of one path over 2000 steps, 4^-2000, is no float64 either
    x = F.log_softmax(fp.zeros(2000, 1, 4, requires_grad=True), -1)
    loss = F.ctc_loss(x, np.array([[1, 2, 3]]), (2000,), (3,), reduction="sum")
    loss.backward()
    assert 2000 < loss.item() < 2000 * math.log(4)


def test_lengths_may_be_tensors_arrays_tuples_or_numbers():
    x, t = F.log_softmax(log_probs(5, 2, 3), -1), fp.tensor([[1, 2], [2, 1]])
    expected = F.ctc_loss(x, t, (5, 4), (2, 1)).item()
    for form in (list, np.array, lambda v: fp.tensor(list(v))):
        assert F.ctc_loss(x, t, form((5, 4)), form((2, 1))).item() == expected
    one = F.ctc_loss(x[:, 0], t[0], 5, 2).item()
    assert one == F.ctc_loss(x[:, :1], t[:1], (5,), (2,)).item()


W, ROWS = np.array([0.5, 1.0, 2.0], "float32"), np.array([0, 2])
LAYERS = [
    ("CrossEntropyLoss", (W,), {"label_smoothing": 0.25, "ignore_index": 2}, (ROWS,)),
    ("CrossEntropyLoss", (), {"reduction": "sum"}, (ROWS,)),
    ("NLLLoss", (W,), {"reduction": "none"}, (ROWS,)),
    *(("MSELoss", (), {"reduction": "sum"}, ("y",)), ("L1Loss", (), {}, ("y",))),
    *(("SmoothL1Loss", (), {"beta": 0.25}, ("y",)), ("HuberLoss", ("sum", 0.25), {}, ("y",))),
    ("BCEWithLogitsLoss", (W,), {"pos_weight": W + 1}, ("y",)),
    ("BCELoss", (W,), {"reduction": "sum"}, ("y",)),
    ("KLDivLoss", (), {"reduction": "batchmean", "log_target": True}, ("y",)),
    ("CosineEmbeddingLoss", (0.25,), {}, ("y", np.array([1, -1]))),
    ("CTCLoss", (1, "sum", True), {}, (np.array([[0], [2]]), (2, 2), (1, 1))),
    ("CosineSimilarity", (0, 0.5), {}, ("y",)),
    ("PairwiseDistance", (1.0, 0.5, True), {}, ("y",)),
]


@pytest.mark.parametrize(("name", "args", "settings", "inputs"), LAYERS)
def test_loss_layers_and_their_buffers_are_pytorchs(torch, name, args, settings, inputs):
    random = np.random.default_rng(0)
    shape = (2, 2, 3) if name == "CTCLoss" else (2, 3)
    x, y = (random.uniform(0.25, 0.75, shape).astype("float32") for _ in range(2))

    def make(tensor, module):
        given = [tensor(a) if isinstance(a, np.ndarray) else a for a in args]
        named = {n: tensor(a) if isinstance(a, np.ndarray) else a for n, a in settings.items()}
        layer = getattr(module, name)(*given, **named)
        others = [y if type(a) is str else a for a in inputs]
        return layer, layer(*(tensor(a) if type(a) is not tuple else a for a in (x, *others)))

    ours, result = make(fp.tensor, nn)
    theirs, expected = make(torch.tensor, torch.nn)
    np.testing.assert_allclose(result.array, expected.numpy(), rtol=1e-5)
    state, other = ours.state_dict(), theirs.state_dict()
    assert {n: (t.shape, t.dtype) for n, t in state.items()} == {
        n: (tuple(t.shape), t.numpy().dtype) for n, t in other.items()
    }
    assert not ours.parameters()


def test_weights_of_a_layer_are_its_own_and_saved_with_a_model():
    given = fp.tensor(W)
    model = nn.Sequential(nn.Linear(2, 3), nn.CrossEntropyLoss(given))
    given.fill_(0)
    assert model.state_dict()["1.weight"].tolist() == W.tolist()
    assert [p.shape for p in model.parameters()] == [(3, 2), (3,)]


def test_a_loss_layer_that_cannot_work_is_not_made():
    check_refusals(r"""
    nn.CrossEntropyLoss([1.0, 2.0]) -> MinifpError: CrossEntropyLoss: weight is a list
    nn.BCEWithLogitsLoss(pos_weight=2.0) -> MinifpError: BCEWithLogitsLoss: pos_weight is a float
    nn.MSELoss(reduction="avg") -> MinifpError: MSELoss: reduction='avg'
    nn.L1Loss(reduction="batchmean") -> MinifpError: L1Loss: reduction='batchmean'
    """)


Z, T = np.full((2, 3), 0.5, "float32"), np.array([0, 2])
P, TWO = np.full((4, 2, 3), -1.0, "float32"), (2, 2)

PAIRS = (F.mse_loss, F.l1_loss, F.smooth_l1_loss, F.huber_loss, F.binary_cross_entropy,
         F.binary_cross_entropy_with_logits)  # fmt: skip


@pytest.mark.parametrize("function", [*PAIRS, F.kl_div])
def test_what_is_no_floating_tensor_is_refused_on_either_side(function):
    z, name = fp.tensor(Z), function.__name__
    for bad, kind in ((Z.tolist(), "is a list"), (1.0, "is a float"), (None, "is a NoneType")):
        refuses(fp.DTypeError, f"{name}: input {kind}", function, bad, z)
        refuses(fp.DTypeError, f"{name}: target {kind}", function, z, bad)
    of_integers = function in PAIRS[:4]  # as PyTorch's are
    for bad in () if of_integers else (fp.tensor([[1, 0, 1]] * 2), np.ones((2, 3), bool)):
        refuses(fp.DTypeError, f"{name}: target of (int64|bool): expected float", function, z, bad)


@pytest.mark.parametrize("function", PAIRS)
def test_two_shapes_are_refused_even_where_they_would_broadcast(function):
    for shape in ((3,), (2, 1), (2, 3, 1), (3, 2)):
        message = rf"{function.__name__}: input of shape \(2, 3\), target of shape"
        refuses(fp.ShapeError, message, function, fp.tensor(Z), fp.ones(*shape))


def test_what_does_not_fit_is_refused_by_name():
    check_refusals(r"""
    F.smooth_l1_loss(z, z, beta=-1) -> ArgumentError: smooth_l1_loss: beta=-1
    F.huber_loss(z, z, delta=0) -> ArgumentError: huber_loss: delta=0
    F.huber_loss(z, z, delta="1") -> ArgumentError: huber_loss: delta='1'
    F.binary_cross_entropy(z * 4, z) -> ArgumentError: input 2\.0 at \(0, 0\)
    F.binary_cross_entropy(z, -z) -> ArgumentError: target -0\.5 at \(0, 0\)
    F.binary_cross_entropy(z, z, [1.0]) -> DTypeError: weight is a list
    F.binary_cross_entropy(z, z, fp.ones(2)) -> ShapeError: weight of shape \(2,
    F.binary_cross_entropy_with_logits(z, z, fp.ones(4, 2, 3)) -> ShapeError: weight of shape \(4, 2
    F.binary_cross_entropy_with_logits(z, z, pos_weight=fp.ones(2)) -> ShapeError: pos_weight of
    F.binary_cross_entropy_with_logits(z, z, fp.ones(3, requires_grad=True))
        -> ArgumentError: weight requires a gradient
    F.kl_div(z, fp.ones(2)) -> ShapeError: kl_div: .* do not broadcast
    F.kl_div(z, z, log_target=None) -> ArgumentError: log_target=None
    F.cross_entropy(z, Z.tolist()) -> DTypeError: targets of float64: expected int
    F.cross_entropy(z, [[0], [1, 2]]) -> DTypeError: cross_entropy: target
    F.cross_entropy(z, fp.ones(2)) -> ShapeError: expected probabilities of its
    F.cross_entropy(z, z, ignore_index=0) -> ArgumentError: ignore_index=0 with
    F.cross_entropy(z, T, ignore_index=None) -> DTypeError: ignore_index=None
    F.cross_entropy(z, z, ignore_index="a") -> DTypeError: ignore_index='a'
    F.cross_entropy(z, T, label_smoothing=2) -> ArgumentError: label_smoothing=2
    F.cross_entropy(z, T, fp.ones(2)) -> ShapeError: weight of shape \(2,\), exp
    F.cross_entropy(z, T, [1.0] * 3) -> DTypeError: weight is a list
    F.cross_entropy(z, T, fp.ones(3, requires_grad=True)) -> ArgumentError: cross_entropy: weight
    F.cross_entropy(fp.ones(2, 0), T) -> ShapeError: with C > 0
    F.cross_entropy(fp.tensor(1.0), T) -> ShapeError: input of shape \(\)
    F.nll_loss(z, [0, 2]) -> DTypeError: nll_loss: target is a list
    F.nll_loss(z, z) -> DTypeError: nll_loss: targets of float32
    F.nll_loss(z, T + 1) -> ArgumentError: nll_loss: target 3 at \(1,\)
    F.nll_loss(z, T[:1]) -> ShapeError: nll_loss: input of shape \(2, 3\) with
    F.nll_loss(z, T, fp.ones(2)) -> ShapeError: nll_loss: weight of shape
    F.cosine_embedding_loss(z, z, [1, 1]) -> DTypeError: target is a list
    F.cosine_embedding_loss(z, [1.0], T) -> DTypeError: input2 is a list
    F.cosine_embedding_loss(z, z, T) -> ArgumentError: expected only 1 and -1
    F.cosine_embedding_loss(z, z, Z) -> ShapeError: cosine_embedding_loss: inputs
    F.cosine_embedding_loss(z, z, T, 2) -> ArgumentError: margin=2
    """, names={"Z": Z, "T": T}, z=Z)  # fmt: skip


@pytest.mark.parametrize(("args", "error", "message"), [
    ((P.tolist(), T, TWO, (1, 1)), fp.DTypeError, "log_probs is a list"),
    ((P[0, 0], T, TWO, (1, 1)), fp.ShapeError, r"log_probs of shape \(3,\)"),
    ((P[:0], T, TWO, (1, 1)), fp.ShapeError, r"log_probs of shape \(0, 2, 3\)"),
    ((P, [1, 2], TWO, (1, 1)), fp.DTypeError, "targets is a list"),
    ((P, T * 1.0, TWO, (1, 1)), fp.DTypeError, "targets of float64"),
    ((P, T[None, None], TWO, (1, 1)), fp.ShapeError, r"targets of shape \(1, 1, 2\)"),
    ((P, T[None], TWO, (1, 1)), fp.ShapeError, r"targets of shape \(1, 2\)"),
    ((P[:, 0], T[None], (4,), (2,)), fp.ShapeError, r"targets of shape \(1, 2\)"),
    ((P, T + 1, TWO, (1, 2)), fp.ShapeError, "expected 3 targets"),
    ((P, T + 1, TWO, (1, 1)), fp.ArgumentError, "label 3 at 0 of target 1"),
    ((P, T, TWO, (1, 1)), fp.ArgumentError, "label 0 at 0 of target 0"),
    ((P, T, (2, 5), (1, 1)), fp.ArgumentError, r"input_lengths \[2, 5\]: expected 0 to 4"),
    ((P, T, (2, -1), (1, 1)), fp.ArgumentError, "input_lengths"),
    ((P, T, (2,), (1, 1)), fp.ShapeError, r"input_lengths of shape \(1,\): expected \(2,\)"),
    ((P, T, (2.0, 2.0), (1, 1)), fp.DTypeError, "input_lengths of float64"),
    ((P, T, TWO, (1, 3)), fp.ArgumentError, "target_lengths"),
    ((P, T, TWO, ((1,), (1, 2))), fp.DTypeError, "target_lengths"),
    ((P, T, TWO, None), fp.DTypeError, "target_lengths"),
    ((P, T, TWO, (1, 1), 3), fp.ArgumentError, "blank=3"),
    ((P, T, TWO, (1, 1), -1), fp.ArgumentError, "blank=-1"),
    ((P, T, TWO, (1, 1), 1.0), fp.ArgumentError, r"blank=1\.0"),
    ((P, T, TWO, (1, 1), 1, "sum", None), fp.ArgumentError, "zero_infinity=None"),
])  # fmt: skip
def test_sequences_that_do_not_fit_are_refused_by_name(args, error, message):
    refuses(error, f"ctc_loss: .*{message}", F.ctc_loss, *args)
