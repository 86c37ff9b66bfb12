"""Autocast: float32 weights, and a table of operations that says who works in what, and why.

In bfloat16 it is held against PyTorch's in test_autocast_parity.py.
"""

from contextlib import nullcontext

import numpy as np
import pytest
from refusals import refuses

import minifp as fp
import minifp.nn.functional as F
from minifp import nn, optim
from minifp.numerics import autocast
from minifp.numerics.formats import as_dtype, bfloat16, float16, float32, float64
from minifp.numerics.rules import largest_gradient_of

IN = {"float16": "autocast", "bfloat16": "autocast-bfloat16"}


@pytest.fixture(params=IN.values())
def in_autocast(request):
    with fp.precision(request.param):
        yield


def numbers(*shape, dtype="float32"):
    random = np.random.default_rng(0)
    return fp.tensor(random.uniform(0.25, 1, shape), dtype=dtype, requires_grad=True)


# One call of an operation of each kind that autocast casts.
CALLS = {
    "matmul": lambda x: x @ x, "linear": lambda x: F.linear(x, x),
    "conv2d": lambda x: F.conv2d(x.reshape(1, 1, 4, 4), x.reshape(1, 1, 4, 4)),
    "exp": lambda x: fp.exp(x), "log": lambda x: fp.log(x), "pow": lambda x: x**2.5,
    "sum": lambda x: x.sum(0), "mean": lambda x: x.mean(0), "softmax": lambda x: F.softmax(x, 1),
    "log_softmax": lambda x: F.log_softmax(x, 1), "layer_norm": lambda x: F.layer_norm(x, (4,)),
    "mse_loss": lambda x: F.mse_loss(x, x.detach() * 2, reduction="none"),
    "cross_entropy": lambda x: F.cross_entropy(x, np.arange(4), reduction="none"),
}  # fmt: skip


@pytest.mark.parametrize("given", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("name", CALLS)
def test_each_operation_works_in_the_format_of_its_row(in_autocast, name, given):
    x = numbers(4, 4, dtype=given)
    y = CALLS[name](x)
    assert y.dtype == fp.op_list()[name].format
    y.sum().backward()
    assert x.grad.dtype == given  # cast back


@pytest.mark.parametrize("given", ["float16", "bfloat16", "float32"])
def test_the_others_work_in_the_format_they_are_given(in_autocast, given):
    x = numbers(4, 4, dtype=given)
    results = x + x, x * 2, fp.relu(x), fp.tanh(x), x.T, x[1], fp.cat([x, x]), x.amax(0)
    assert {y.array.dtype for y in results} == {as_dtype(given)}
    half, brain, single = (numbers(2, dtype=d) for d in ("float16", "bfloat16", "float32"))
    assert (half + single).dtype == (brain + single).dtype == (half + brain).dtype == float32


@pytest.mark.parametrize("name", CALLS)
def test_float64_is_left_alone(in_autocast, name):
    assert CALLS[name](numbers(4, 4, dtype="float64")).dtype == float64


def test_values_are_those_of_the_same_casts_by_hand(in_autocast):
    x, w = numbers(5, 7), numbers(3, 7)
    low, y = fp.get_precision().autocast_low, F.softmax(F.linear(x, w), 1)
    y.square().sum().backward()
    with fp.precision("float32"):
        a, b = (fp.tensor(v.array, requires_grad=True) for v in (x, w))
        z = F.softmax(F.linear(a.to(low), b.to(low)).float(), 1)
        z.square().sum().backward()
    assert (y.array == z.array).all()
    assert (x.grad.array == a.grad.array).all() and (w.grad.array == b.grad.array).all()


@pytest.mark.parametrize("low", IN)
def test_a_model_keeps_float32_weights_and_narrow_products(low):
    fp.manual_seed(0)
    with fp.precision(IN[low]):
        model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 2))
    optimizer = fp.MixedOptimizer(optim.SGD(model.parameters()))
    assert {p.dtype for p in model.parameters()} == {float32}
    logits = model(fp.tensor(np.ones((5, 3), "float32")))  # outside of the block
    assert logits.dtype == low
    loss = F.cross_entropy(logits, np.zeros(5, int))
    optimizer.backward(loss)
    assert (loss.dtype, optimizer.scale) == (float32, {"float16": 2.0**16, "bfloat16": 1.0}[low])
    assert {p.grad.dtype for p in model.parameters()} == {float32}
    assert optimizer.step().stepped
    assert optimizer.memory()["masters"] == 0


def test_the_table_has_a_row_and_a_reason_for_every_operation_of_minifp():
    """Operations of one's own, as tests make them, need none."""
    listed = set(autocast.KIND_OF)
    made = {name for name in autocast.operations if hasattr(fp.ops, name) or hasattr(F, name)}
    assert not made - listed, "`public(..., autocast=)` says of which kind each is"
    never = listed - autocast.operations
    assert not never, "`public(..., autocast=)`: no recorded operation is called so"
    names = " ".join(autocast.OPERATIONS.values()).split()
    assert len(names) == len(set(names))


def test_the_list_prints_each_row_with_a_reason_that_is_true_for_the_format():
    lines = str(fp.op_list()).splitlines()
    assert len(lines) == 1 + len(fp.op_list()) >= 60
    assert lines[0].split() == ["operation", "format", "reason"]
    assert next(line for line in lines if line.startswith("softmax ")).split()[1] == "float32"
    assert [row.operation for row in fp.op_list()] == sorted(row.operation for row in fp.op_list())
    refuses(fp.PrecisionError, "no operation 'sofmax'", lambda: fp.op_list()["sofmax"])
    refuses(fp.PrecisionError, '"mixed" has no table', fp.op_list, "mixed")
    # What is said of float16's range is not said of bfloat16, which has float32's.
    half, brain = fp.op_list("autocast"), fp.op_list("autocast-bfloat16")
    for a, b in zip(half, brain, strict=True):
        assert (b.operation, b.format) == (a.operation, a.format.replace("float16", "bfloat16"))
        assert not {"65504", "float16", "2049"} & {*b.reason.replace("*", " ").split()}
        assert "{" not in a.reason + b.reason and "bfloat16" not in a.reason
    with fp.precision("autocast-bfloat16"):
        assert fp.op_list()["linear"] == brain["linear"]
        with pytest.raises(fp.PrecisionError, match="a bfloat16 p .* use with_logits"):
            F.binary_cross_entropy(numbers(4), fp.ones(4))
    assert fp.tensor(257.0, dtype="bfloat16").item() == 256  # "has no pixel 257"
    assert fp.tensor(1 - 2.0**-9, dtype="bfloat16").item() == 1  # "within 2^-9 of 1 is 1"


@pytest.mark.parametrize("low", IN)
def test_rows_are_changed_by_text_or_by_a_dict(low):
    name, scale = IN[low], "dynamic" if low == "float16" else None
    texts, edits = f"{name},softmax={low},matmul=float32", {"softmax": low, "matmul": "float32"}
    built = fp.Precision(operations=(low, edits), loss_scale=scale)
    if low == "float16":
        assert fp.Precision(operations=edits, loss_scale=scale) == built
    assert (fp.Precision.parse(texts), fp.Precision.parse(str(built))) == (built, built)
    assert fp.op_list(built)["softmax"].reason == "changed by you"
    x = numbers(4, 4)
    with fp.precision(built):
        assert ((x @ x).dtype, F.softmax(x, 1).dtype) == (float32, low)
        assert F.linear(x, x).dtype == low
        assert fp.op_list()["matmul"].format == "float32"  # of the active precision


def test_changing_a_row_to_what_it_is_changes_nothing():
    for low, name in IN.items():
        p = fp.Precision.parse(name)
        assert fp.Precision.parse(f"{name},softmax=float32,linear={low}") == p
        assert fp.Precision.parse(f"float32,operations={low}").operations == p.operations
    for brain in ("bfloat16", fp.bfloat16, (fp.bfloat16, {"linear": fp.bfloat16})):
        assert str(fp.Precision(operations=brain)) == "autocast-bfloat16"
    edited = fp.Precision(operations=("bfloat16", {"exp": fp.float16}))
    assert edited == fp.Precision.parse("autocast-bfloat16,exp=float16")
    assert edited.autocast_formats == {"float16", "bfloat16"}
    assert fp.Precision.parse("autocast,operations=on") == fp.Precision.parse("autocast")


def test_both_narrow_formats_may_be_in_one_table_and_a_row_given_or_refused():
    """They meet in float32, and the narrower range decides what is flushed to 0."""
    x, p = numbers(4, 4), fp.Precision.parse("autocast-bfloat16,linear=float16")
    with fp.precision(p):
        assert (x @ x).dtype == bfloat16 and F.linear(x, x).dtype == float16
        assert ((x @ x) + F.linear(x, x)).dtype == float32
    assert (p.autocast_formats, largest_gradient_of(p)) == ({"float16", "bfloat16"}, 65504)
    assert largest_gradient_of(fp.Precision(operations="bfloat16")) > 3e38
    x = numbers(4, 4, dtype="float16")
    with fp.precision("autocast,softmax=given"):
        assert F.softmax(x, 1).dtype == float16
    with fp.precision("autocast,softmax=refused"):
        refuses(fp.PrecisionError, "softmax under autocast", F.softmax, x, 1)


@pytest.mark.parametrize("operations, problem", [
    ({"sofmax": "float16"}, "no operation 'sofmax'"),
    ({"softmax": "float8"}, "softmax='float8': expected float16"),
    (3, "operations=3: expected a dict"),
    ("softmax", "operations='softmax': expected a dict .*, 'float16' or 'bfloat16', both"),
    (("bfloat16", {"softmax": "float8"}), "softmax='float8': expected float16, bfloat16"),
    (("float8", {}), r"operations=\('float8', {}\): expected a dict"),
    ({3: "float16"}, "no operation 3"), ({"cast": "float32"}, "this operation casts"),
    ({"softmax": []}, "expected float16"),
])  # fmt: skip
def test_wrong_changes_are_refused(operations, problem):
    refuses(fp.PrecisionError, problem, fp.Precision, operations=operations)


def test_an_operation_of_ones_own_is_left_alone_until_it_has_a_row():
    def doubled_backward(dy, to):
        return (fp.ops.pointwise.arithmetic.copy(dy, to=to[0]),)

    @fp.op
    def doubled_for_autocast(x):
        return x + x, (), doubled_backward

    x = numbers(2, dtype="float16")
    with fp.precision("autocast"):
        assert doubled_for_autocast(x).dtype == float16
        assert fp.op_list()["doubled_for_autocast"].reason == autocast.UNLISTED
    with fp.precision("autocast,doubled_for_autocast=float32"):
        assert doubled_for_autocast(x).dtype == float32
    autocast.operations.discard("doubled_for_autocast")


@pytest.mark.parametrize("pair", [("mixed", "autocast"), ("bfloat16", "autocast-bfloat16")])
def test_a_convolutional_network_trains_as_in_storage_bit_for_bit(pair):
    """The masters that `mixed` rounds into its weights are the weights that autocast casts at each
    use, and every product, activation and gradient is then stored alike."""
    found = {}
    for precision in pair:
        fp.manual_seed(0)
        with fp.precision(precision):
            model = nn.Sequential(
                *(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2)),
                *(nn.Flatten(), nn.Linear(36, 10)),
            )
            optimizer, losses = fp.MixedOptimizer(optim.Adam(model.parameters(), lr=1e-2)), []
            for x, t in fp.data.DataLoader(fp.data.digits()[0], batch_size=64):
                loss = F.cross_entropy(model(x), t)
                optimizer.minimize(loss)
                losses.append(loss.item())
            weights = {n: t.array.tobytes() for n, t in model.state_dict().items()}
        found[precision] = losses, weights, optimizer.scale
    assert found[pair[0]] == found[pair[1]]


def test_widest_lets_formats_meet_and_numbers_without_dimensions_turn_no_row_off():
    """As everywhere, they decide no format: 300^2 is not Inf."""
    h = fp.tensor([300.0], dtype="float16")
    with fp.precision("autocast"):
        for two in (2, np.float64(2), np.array(2.0), fp.tensor(2.0, dtype="float64")):
            y = h**two
            assert (y.dtype, y.tolist()) == ("float32", [90000])
    i, wide = fp.tensor([0, 0]), fp.zeros(2)
    with fp.precision("autocast"):
        half = fp.ones(2, dtype="float16")
        assert wide.scatter_add(0, i, half).dtype == "float32"
        assert half.scatter_add(0, i, half).dtype == "float16"


@pytest.mark.parametrize("dial, told", [(0, ""), (20, r"\d\d% of the grad"), (40, r"\d\d% of")])
def test_gradients_that_are_lost_without_a_loss_scale_are_told_of(dial, told):
    fp.manual_seed(0)
    model, (x, t) = fp.models.LeNet(size=8), (fp.randn(32, 1, 8, 8), fp.randint(0, 10, (32,)))
    with pytest.warns(fp.MisuseWarning, match=told) if told else nullcontext():
        for _ in range(20):
            model.zero_grad()
            with fp.autocast("cpu", dtype="float16"):
                loss = F.cross_entropy(model(x), t)
            (loss * 2.0**-dial).backward()
