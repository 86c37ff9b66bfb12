"""Autocast and storage in bfloat16 are PyTorch's: its list of formats, and its numbers.

The list is that for GPUs, and is asked without one: a fake tensor has a device and a dtype, and no
numbers, and passes PyTorch's own dispatcher. Numbers are those of PyTorch on the CPU, whose list is
shorter: it knows products and losses, and has softmax, norms and sums work in what they are given.

Where all sums are exact in float32, products that are rounded once are equal bit for bit, in
whatever order either adds. So the inputs here are multiples of 1/8: a product of two numbers is a
multiple of the product of their grids, and a sum of such multiples is exact below 2^24 of them.
"""

from types import SimpleNamespace

import numpy as np
import pytest
from beside_torch import as_tuple, one_thread_of_torch  # noqa: F401
from bounds import Calls, excess
from cases import CASES

import minifp as fp
import minifp.nn.functional as F
from minifp import nn
from minifp.numerics import autocast
from minifp.numerics.formats import bfloat16, downcast, float64, upcast

torch = pytest.importorskip("torch", reason="parity is with PyTorch: pip install 'minifp[parity]'")
pytestmark = pytest.mark.nightly
BRAIN = bfloat16.codes
OF_TORCH = [case for case in CASES if case.torch]


def numbers(t):
    return t.float().detach().numpy()


def assert_same(ours, theirs, what=""):
    assert f"torch.{ours.dtype}" == str(theirs.dtype), what
    np.testing.assert_array_equal(numbers(ours), numbers(theirs), err_msg=str(what))


# What cannot be asked without a GPU, or without numbers.
UNKNOWN = {
    *("batch_norm", "instance_norm", "contiguous", "getitem", "unfold", "row_conv"),
    *("rnn", "lstm", "gru", "masked_select", "pack_padded_sequence", "unpack"),
}
OTHERS = {
    "mean": "not in the list, so rounded to bfloat16; here it is a sum of many",
    "local_response_norm": "its parts are in the list; here it is one operation, which rounds once",
}


def formats_here(case, dtype):
    """Those of its results that have dimensions: one number is not rounded here."""
    with fp.precision("autocast-bfloat16"):
        ys = as_tuple(case.fn(*[fp.tensor(a, dtype=dtype) for a in case.arrays()]))
    return [f"torch.{y.dtype}" for y in ys if y.ndim]


def formats_on_a_gpu(case, dtype):
    """The same of PyTorch's, by tensors without numbers."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    def empty(data, dtype=None):
        a = np.asarray(data)
        return torch.empty(a.shape, dtype=dtype or getattr(torch, a.dtype.name))

    makers = dict.fromkeys(("tensor", "as_tensor", "from_numpy"), empty)
    module = SimpleNamespace(**{**vars(torch), "nn": torch.nn, **makers})
    torch.set_autocast_enabled("cuda", True)
    torch.set_autocast_dtype("cuda", torch.bfloat16)
    try:
        with FakeTensorMode(), torch.device("cuda"):
            tensors = [empty(a, getattr(torch, dtype)) for a in case.arrays()]
            return [str(y.dtype) for y in as_tuple(case.torch(module, *tensors)) if y.ndim]
    finally:
        torch.set_autocast_enabled("cuda", False)
        torch.set_autocast_dtype("cuda", torch.float16)
        torch.clear_autocast_cache()


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_every_operation_works_in_the_format_of_pytorchs_list(dtype):
    cases = {}
    for case in OF_TORCH:
        if case.operation not in {*UNKNOWN, *cases} and (formats := formats_here(case, dtype)):
            cases[case.operation] = case, formats
    assert len(cases) > 150
    differ = {name for name, (c, found) in cases.items() if found != formats_on_a_gpu(c, dtype)}
    assert differ == (set() if dtype == "float32" else set(OTHERS))


# Without oneDNN's kernels for bfloat16 (a CPU with AVX-512 has them) PyTorch's convolutions sum in
# bfloat16: it rounds at every step of a sum, and there is nothing exact to compare with.
SUMS_WIDE = torch.ops.mkldnn._is_mkldnn_bf16_supported()
COMPARED = [case for case in OF_TORCH if SUMS_WIDE or "conv" not in case.operation]

# Not compared: attention, which stores scores and probabilities here and keeps them in float32
# there; and what is not in PyTorch's list for the CPU, so that it gives float32: mv, and products
# without a sum, which einsum multiplies element by element.
PRODUCTS = [
    case
    for case in COMPARED
    if autocast.KIND_OF.get(case.operation) == "product" and "attention" not in case.operation
]


def on_a_grid(random, shape, steps=8):
    """Multiples of 1 / steps from -1 to 1."""
    return (random.integers(-steps, steps + 1, shape) / steps).astype("float32")


def test_products_and_their_gradients_are_pytorchs_bit_for_bit():
    compared = 0
    for case in PRODUCTS:
        arrays = [np.round(a * 8).astype("float32") / 8 for a in case.arrays()]
        xs = [fp.tensor(a, requires_grad=True) for a in arrays]
        ts = [torch.tensor(a, requires_grad=True) for a in arrays]
        with fp.precision("autocast-bfloat16"), torch.autocast("cpu", torch.bfloat16):
            y, z = case.fn(*xs), case.torch(torch, *ts)
        if z.dtype != torch.bfloat16:
            continue
        if y.ndim == 0:  # which is not rounded here
            y = y.bfloat16()
        assert_same(y, z, case)
        dy = on_a_grid(np.random.default_rng(0), y.shape)
        y.backward(gradient=fp.tensor(dy, dtype="bfloat16"))
        z.backward(torch.tensor(dy).bfloat16())
        for x, t in zip(xs, ts, strict=True):
            assert_same(x.grad, t.grad, case)
        compared += 1
    assert compared > (70 if SUMS_WIDE else 30)


def mlp(nn):
    layers = nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 8)
    return nn.Sequential(*layers)


def cnn(nn):
    return nn.Sequential(
        *(nn.Conv2d(2, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(8, 8, 3, stride=2, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(32, 8)),
    )


def grid(a):
    """The largest power of two of which all numbers are multiples."""
    a = upcast(a, float64)
    m, e = np.frexp(a[a != 0])
    k = np.abs(m * 2.0**53).astype("int64")
    return float(((k & -k) * 2.0 ** (e - 53.0)).min(initial=np.inf))


def is_exact(call):
    """Whether no sum of a call of a kernel is rounded in float32, in whatever order it is added."""
    grids = [grid(a) for a in call.args if isinstance(a, np.ndarray)]
    factors = 2 if call.kernel.rule.role == "dot" else 1
    unit = min([np.prod(grids[:factors]), *grids[factors:]])  # a bias is added to the products
    exact, _ = call.exact()
    return max(float(m.max()) for m in call.magnitudes(exact)) < 2**24 * unit


MODELS = [(mlp, (8, 32)), *([(cnn, (8, 2, 8, 8))] if SUMS_WIDE else [])]


@pytest.mark.parametrize("make, shape", MODELS)
@pytest.mark.parametrize("stored", [False, True], ids=["autocast", "storage"])
def test_loss_and_gradients_of_a_model_are_pytorchs_bit_for_bit(make, shape, stored):
    """Its loss is l1_loss, whose gradients are signs: those of a softmax are no multiples."""
    random = np.random.default_rng(0)
    x, t = on_a_grid(random, shape), on_a_grid(random, (shape[0], 8), 4)
    theirs = make(torch.nn)
    state = {name: on_a_grid(random, p.shape) for name, p in theirs.state_dict().items()}
    theirs.load_state_dict({name: torch.tensor(a) for name, a in state.items()})
    b, target = torch.tensor(x, requires_grad=True), torch.tensor(t)
    if stored:
        theirs = theirs.bfloat16()
        z = theirs(b.bfloat16())
        theirs_loss = torch.nn.functional.l1_loss(z.float(), target)
    else:
        with torch.autocast("cpu", torch.bfloat16):
            z = theirs(b)
            theirs_loss = torch.nn.functional.l1_loss(z, target)
    theirs_loss.backward()
    with fp.precision("bfloat16" if stored else "autocast-bfloat16"), Calls() as calls:
        ours = make(nn)
        ours.load_state_dict(state)
        a = fp.tensor(x, dtype="float32", requires_grad=True)
        y = ours(a)
        loss = F.l1_loss(y, fp.tensor(t, dtype="float32"))
        loss.backward()
    sums = [call for call in calls if call.kernel.rule.role in ("dot", "reduce")]
    assert len(sums) >= 11 and all(map(is_exact, sums))
    assert sum([(upcast(c.results[0], float64) != c.exact()[0][0]).any() for c in sums]) >= 8
    pairs = [(y, z), (loss, theirs_loss), (a.grad, b.grad)]
    pairs += [(p.grad, q.grad) for p, q in zip(ours.parameters(), theirs.parameters(), strict=True)]
    for p, q in pairs:
        assert_same(p, q)


# What PyTorch's kernels for the CPU round in between, parts of a formula or of a sum; as they do
# with losses.
ROUND_IN_BETWEEN = set(
    """
    batch_norm instance_norm cosine_similarity fold gru lstm rnn hardsigmoid index_add interpolate
    local_response_norm log_softmax logsumexp normalize pairwise_distance prod rsqrt
    scaled_dot_product_attention softmax softmin softsign gelu row_conv
    """.split()
)


def test_what_is_stored_in_bfloat16_is_within_the_bound_of_one_rounding():
    """PyTorch's result lies where that of our kernel must lie: see bounds.py."""
    compared, wrong = set(), set()
    for case in COMPARED:
        is_loss = autocast.KIND_OF.get(case.operation) == "loss"
        if is_loss or case.operation in ROUND_IN_BETWEEN | compared:
            continue
        arrays = [upcast(downcast(a, BRAIN), float64) for a in case.arrays()]
        with fp.precision("bfloat16"), Calls() as calls:
            y = as_tuple(case.fn(*[fp.tensor(a, dtype="bfloat16") for a in arrays]))[0]
        made = [c for c in calls if np.may_share_memory(c.results[0], y.array)]
        z = as_tuple(case.torch(torch, *[torch.tensor(a).bfloat16() for a in arrays]))[0]
        if y.dtype != "bfloat16" or z.dtype != torch.bfloat16 or len(made) != 1:
            continue  # one number is not rounded here; or there are several kernels
        exact, addends = made[0].exact()
        magnitudes = made[0].magnitudes(exact)
        stored = downcast(numbers(z).reshape(exact[0].shape), BRAIN)
        compared.add(case.operation)
        if excess(stored, exact[0], magnitudes[0], addends) > 1:
            wrong.add(case.operation)
    assert not wrong and len(compared) > 80
