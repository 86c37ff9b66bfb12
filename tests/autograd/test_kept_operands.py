"""saved=operands: the numbers of saved=activations, of fewer bytes where nobody else keeps them."""

import warnings

import numpy as np
import pytest
from cases import CASES, CORE, first_of
from refusals import refuses
from watching import Flow

import minifp as fp
import minifp.nn.functional as F
from minifp import nn, optim
from minifp.autograd.op import op
from minifp.lab.memory import arrays_in, buffer, measure_bytes
from minifp.numerics import autocast, policy
from minifp.numerics.formats import as_dtype, downcast, float32, float64, format_of, upcast
from minifp.numerics.kernels import KERNELS, kernel
from minifp.numerics.operand_codes import OperandCodes, coded
from minifp.numerics.operands import CURRENT, Rounding, amax_of, rounded
from minifp.scope.tracing.reference_run import reference_run

MULTIPLY = {"dot", *" ".join(map(autocast.OPERATIONS.get, ("product", "recurrence"))).split()}
PRODUCTS = [c for c in CASES if c.operation in MULTIPLY - {"prelu"}]
FULL = [c for c in first_of(PRODUCTS, lambda c: c.operation) if all(map(np.prod, c.shapes))]
FORMATS = ["float8_e4m3fn", "float8_e5m2", "e3m3", "e4m3+subnormals=off"]
FLOAT8, DELAYED = "float8,saved=operands", "operand_scale=delayed:2+factor=exact"


def in_codes(node):
    return [i for i, a in enumerate(node.saved) if isinstance(a, OperandCodes)]


def bytes_of(*nodes):
    arrays = [buffer(a) for node in nodes for a in arrays_in(node.saved) if a.ndim]
    return sum({id(a): a.nbytes for a in arrays}.values())


def made(*shape, seed=0):
    """A tensor that an operation made of a leaf, which other operations let go, and the leaf."""
    leaf = fp.tensor(np.random.default_rng(seed).normal(size=shape), requires_grad=True)
    return leaf * 1.0, leaf


@pytest.fixture
def in_float8():
    with fp.precision(FLOAT8):
        fp.manual_seed(0)
        yield


@pytest.mark.parametrize("stored", ["float32", "float16", "bfloat16", "float64"])
@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("compiled", [True, False])
def test_codes_say_what_enters_the_product_bit_for_bit(stored, name, compiled, monkeypatch):
    if not compiled:
        monkeypatch.setattr("minifp.numerics.operands.worth_compiling", lambda *_: False)
    wide = np.random.default_rng(1).normal(size=(40, 50)) * 2.0 ** np.arange(-25, 25)
    wide[1] = np.arange(50) * 2.0**-12  # ties
    wide[0, :3] = 65504.0, -1e-7, 0
    x = downcast(np.clip(wide, -65504, 65504), as_dtype(stored))
    for view in (x, x.T, x.reshape(4, 10, 50).transpose(1, 0, 2), x[:, ::3], x[0, 2:3]):
        for scale, amax, *exact in ((CURRENT, amax_of(view)), (None, None), ("delayed", 3.0, 1)):
            to = Rounding(format_of(name), scale, is_exact=bool(exact))
            codes = coded(view, to, amax, amax_of(view))
            ours, theirs = codes.decoded(), rounded(view, to, (), amax=amax)
            assert (codes.codes.dtype, codes.codes.nbytes) == (to.format.stored, view.size)
            assert (ours.dtype, ours.strides) == (theirs.dtype, theirs.strides)
            np.testing.assert_array_equal(*(upcast(a, float64) for a in (ours, theirs)))
            assert codes.largest_before == amax_of(view)


def test_numbers_beyond_every_code_are_kept_whole_and_inf_where_it_has_a_code():
    x = np.array([1.0, np.inf, np.nan, -np.inf], float32)
    e4m3, e5m2 = (Rounding(format_of(n), CURRENT) for n in ("float8_e4m3fn", "float8_e5m2"))
    assert coded(x, e4m3, amax_of(x), amax_of(x)) is None
    np.testing.assert_array_equal(coded(x, e5m2, amax_of(x), amax_of(x)).decoded(), x)
    images = np.random.default_rng(0).normal(size=(8, 1, 8, 8)) * 1e4
    images[0, 0, 0] = 6e4
    text = "mixed,operands=float8_e4m3fn,operand_scale=current,loss_scale=off"
    ours, theirs = (trained(f"{text}{more}", 3, 1e3, images) for more in ("", ",saved=operands"))
    assert repr(ours) == repr(theirs) and not np.isfinite(ours[0]).all()


def gradients(text, case, variant):
    """Of all arguments, each made by an operation; and the operations that kept codes."""
    with fp.precision(variant(fp.Precision.parse(text))), Flow() as flow:
        leaves = [fp.tensor(a, requires_grad=True) for a in case.arrays()]
        y = case.fn(*[leaf * 1.0 for leaf in leaves])
        kept = {op for _, op, ys in flow if in_codes(ys[0].node)}
        sum((t * t).sum() for t in (y if isinstance(y, tuple) else (y,))).backward()
        return [leaf.grad.float().numpy() for leaf in leaves if leaf.grad is not None], kept


@pytest.mark.filterwarnings("ignore:.*(under saved=operands|under operand_scale=delayed)")
@pytest.mark.parametrize("case", PRODUCTS, ids=str)
@pytest.mark.parametrize("text", ["float8", f"mixed,operands=e3m3,{DELAYED}"])
@pytest.mark.parametrize("variant", [lambda p: p, policy.by_references], ids=["compiled", "numpy"])
@pytest.mark.sampled(20, core=lambda case, text, **_: case in CORE and text == "float8")
def test_gradients_are_those_of_saved_activations_bit_for_bit(case, text, variant):
    ours, kept = gradients(f"{text},saved=operands", case, variant)
    theirs, none = gradients(text, case, variant)
    assert not none and (kept or case not in FULL)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(a, b)


def trained(text, steps=4, lr=1e-2, images=None):
    random = np.random.default_rng(0)
    images = random.normal(size=(8, 1, 8, 8)) if images is None else images
    with fp.precision(text):
        fp.manual_seed(0)
        model = fp.assign_precision(fp.models.LeNet(size=8))
        optimizer, losses = fp.MixedOptimizer(optim.Adam(model.parameters(), lr=lr)), []
        for _ in range(steps):
            loss = F.cross_entropy(model(fp.tensor(images)), random.integers(0, 10, 8))
            losses.append(optimizer.minimize(loss).grad_norm)
    weights = [p.float().numpy().tolist() for p in model.parameters()]
    return losses, fp.operand_histories(model), weights


@pytest.mark.parametrize("text", [
    "float8", f"float8,{DELAYED}", "mixed,operands=float8_e5m2,operand_scale=off",
    "mixed;conv2=float8;fc1=float8,operand_scale=delayed",
])  # fmt: skip
def test_a_training_is_the_same_to_the_last_bit(text):
    whole, *parts = text.split(";")
    ours = ";".join([whole, *(f"{p},saved=operands" for p in parts)])
    ours = ours if parts else f"{whole},saved=operands"
    assert trained(ours) == trained(text)


def test_a_graph_serves_twice_and_a_weight_that_is_written_to_is_refused_as_ever(in_float8):
    (x, _), layer = made(6, 5), nn.Linear(5, 4)
    y = layer(x).sum()
    y.backward(retain_graph=True)
    first = layer.weight.grad.tolist()
    layer.weight.grad = None
    y.backward()
    assert layer.weight.grad.tolist() == first
    (x, _), layer = made(6, 5), nn.Linear(5, 4)
    y = layer(x).sum()
    with fp.no_grad():
        layer.weight.zero_()
    refuses(fp.TapeError, "changed in place", y.backward)


def test_errors_and_skipped_steps_are_found_where_they_were():
    def backward(text, factor):
        fp.manual_seed(0)
        with fp.precision(text):
            model = nn.Sequential(nn.Linear(5, 6), nn.LayerNorm(6), nn.Linear(6, 4))
            optimizer = fp.MixedOptimizer(optim.SGD(model.parameters(), lr=0.1))
            optimizer.backward((model(fp.tensor(np.ones((3, 5)))) * factor).sum() * factor)
        return optimizer

    def rows(text):
        return reference_run(backward(text, 1.0).backwards[-1], 1.0).rows

    def place(text):
        diagnosis = backward(text, 60000.0).step().diagnosis
        return diagnosis.phase, diagnosis.operation, diagnosis.module

    assert repr(rows(FLOAT8)) == repr(rows("float8"))
    text = "mixed,operands=float8_e4m3fn,operand_scale=current"
    assert place(f"{text},saved=operands") == place(text)


def test_operations_that_multiply_one_array_share_its_codes(in_float8):
    x, _ = made(2, 32, 50)
    layers = [nn.Linear(50, 10) for _ in range(3)]
    with Flow() as flow:
        for layer in layers:
            layer(x)
    linear = [ys[0].node for _, op, ys in flow if op == "linear"]
    weights = sum(layer.weight.array.nbytes for layer in layers)
    assert ([in_codes(node) for node in linear], bytes_of(*linear)) == ([[0]] * 3, 3200 + weights)
    x.data = x.data * 2.0  # whose codes are others, though they lie in the same place
    with Flow() as flow:
        layers[0](x)
    codes = next(ys[0].node.saved[0] for _, op, ys in flow if op == "linear")
    expected = rounded(x.array, codes.to, ()).reshape(64, 50)
    np.testing.assert_array_equal(*(upcast(a, float32) for a in (codes.decoded(), expected)))


OF_VIEWS = (  # products of views of h, and of weights
    *("m @ m.T", "F.linear(m, w)", "w @ m.T", "fp.bmm(m[None], m.T[None])", "F.conv2d(q, k)"),
    *("h @ h.mT", "F.scaled_dot_product_attention(q, q.transpose(1, 2), q)"),
)


def program(draw):
    """What some of these give in an order and in shapes that a seed draws, and the gradient."""
    (h, x), total = made(2, 4, 2), 0.0
    for product in draw.choice(OF_VIEWS, 4):
        m = h.reshape(int(draw.choice([1, 2, 4, 8, 16])), -1)
        m = m.T if draw.integers(3) == 0 else m
        w, k = (fp.tensor(draw.normal(size=s)) for s in ((3, m.shape[1]), (3, 2, 2, 1)))
        y = eval(product, globals(), {"h": h, "m": m, "q": h.reshape(2, 2, 2, 2), "w": w, "k": k})
        total = total + (y * fp.tensor(draw.normal(size=y.shape))).sum()
        h = h if draw.integers(4) else h * 1.5
    total.backward()
    return total.item(), x.grad.float().tolist()


@pytest.mark.parametrize("text", ["float8", "mixed,operands=float8_e4m3fn,loss_scale=off"])
def test_a_program_gives_the_same_bits_whatever_it_keeps(text):
    for seed in range(30):
        runs = []
        for precision in (text, f"{text},saved=operands"):
            with fp.precision(precision):
                runs.append(program(np.random.default_rng(seed)))
        assert runs[0] == runs[1], seed


def test_what_another_operation_keeps_is_not_kept_again(in_float8):
    (x, leaf), layer = made(64, 100), nn.Linear(100, 10)
    kept = F.relu(x)  # keeps its result
    for y in (kept, kept.reshape(64, 100), kept.reshape(1, 64, 100)[0]):
        assert not in_codes(layer(y).node)
    alone = F.gelu(x)  # keeps what it is given
    assert in_codes(layer(alone).node)
    leaf_of_data, w = fp.tensor(x.numpy()), nn.Parameter(np.ones((100, 10)))
    assert not in_codes(layer(leaf_of_data).node)
    assert not in_codes((leaf @ w).node) and not in_codes((leaf @ w.T.T).node)
    kept.sum().backward()  # which lets go of it
    assert in_codes(layer(kept).node)


def test_the_ledger_and_the_summary_count_codes():
    """At the peak of this step, at its first gradient, all that was saved is there."""

    def make():
        layers = [part for _ in range(4) for part in (nn.Linear(8, 8), nn.LayerNorm(8))]
        return nn.Sequential(*layers, nn.Linear(8, 8))

    def held(text):
        with fp.precision(text):
            model = make()
            optimizer = fp.MixedOptimizer(optim.SGD(model.parameters(), lr=0.1))
            x = fp.Tensor(np.ones((256, 8), np.float32))
            with measure_bytes(model, optimizer) as found:
                optimizer.backward(model(x).sum())
                optimizer.step()
        said = fp.summary(make, 8, 256, optimizer="sgd", precisions=[text]).bytes[text]
        assert said == found
        return found["activations"]

    eight = held("float8") - held(FLOAT8)
    scales = 4 * 8  # the amax of each, in float64
    assert eight == 4 * 256 * 8 - scales


def test_codes_are_a_copy_that_no_write_reaches():
    def gradient(text, change):
        with fp.precision(text):
            fp.manual_seed(0)
            (x, _), layer = made(6, 5), nn.Linear(5, 4)
            y = layer(x).sum()
            with fp.no_grad():
                change(x)
            y.backward()
        return layer.weight.grad.tolist()

    def write(x):
        x.data.copy_(fp.zeros(6, 5, dtype=x.dtype))

    refuses(fp.TapeError, "changed in place", gradient, "float8", write)
    assert gradient(FLOAT8, write) == gradient("float8", lambda x: None)


def test_a_function_keeps_what_its_backward_may_read(in_float8):
    class Gate(fp.autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            ctx.save_for_backward(x, w)
            return x @ w

        @staticmethod
        def backward(ctx, dy):
            x, w = ctx.saved_tensors
            return (dy @ w.T) * (x > 0), x.T @ dy

    (x, leaf), (w, _) = made(6, 5), made(5, 4, seed=1)
    y = Gate.apply(x, w)
    assert not in_codes(y.node)
    y.sum().backward()
    assert np.isfinite(leaf.grad.numpy()).all()


def operation(forward, backward):
    before = list(KERNELS)
    multiply = kernel("dot", "x", operands={"x": (-1,), "w": (0,)})(lambda x, w, *, dot: dot(x, w))
    double = kernel("map", "x")(lambda x: x + x)
    KERNELS[:] = before
    autocast.operations.discard("ours")

    def ours(x, w):
        return forward(x, w, multiply, double), (x, w), backward(multiply, double)

    made = op(ours)
    autocast.operations.discard("ours")
    return made


@pytest.fixture
def in_half():
    with fp.precision("mixed,operands=float8_e4m3fn,operand_scale=current,saved=operands"):
        yield


def test_what_is_read_otherwise_is_kept_as_it_is_or_in_backward_refused(in_half):
    (x, _), (w, _) = made(5, 5), made(5, 5, seed=1)
    none = lambda *_: lambda dy, x, w, to: ()  # noqa: E731
    ours = operation(lambda x, w, multiply, double: multiply(double(x), w), none)
    assert in_codes(ours(x, w).node) == [1]

    def backward(multiply, double):
        return lambda dy, x, w, to: (double(x, to=to[0]), double(w, to=to[1]))

    y = operation(lambda x, w, multiply, double: multiply(x, w), backward)(x, w)
    assert in_codes(y.node) == [0, 1]
    words = "backward of ours under saved=operands: .*reads it"
    refuses(fp.PrecisionError, words, y.sum().backward)


def test_of_a_sequence_the_input_alone_is_in_codes_which_is_said_once(in_float8):
    (x, _), layer = made(5, 3, 4), nn.LSTM(4, 6)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with Flow() as flow:
            layer(x), layer(x)
    assert [in_codes(ys[0].node) for _, op, ys in flow if op == "lstm"] == [[0], [0]]
    said = [str(w.message) for w in told if "saved=operands" in str(w.message)]
    assert len(said) == 1 and "only its input is saved as operands" in said[0]


@pytest.mark.parametrize("text, problem", [
    ("float32,saved=operands", "saved=operands without operands to save: expected saved=act"),
    ("float8,saved=codes", "saved='codes' in precision .*: expected activations or operands"),
    ("float8,operand_scale=row,saved=operands", "other scales: expected operand_scale=cur"),
    ("float8,operands=e5m7,saved=operands", "saves nothing: an operand in e5m7 .*in bfloat16"),
    ("float32,operands=tf32,saved=operands", "saves nothing: an operand in tf32 .*in float32"),
    ("float8,saved=operands,wgrad:operands=off", "wgrad:operands=off with saved=operands: .*"),
    ("float8,saved=operands,fprop:operand_scale=row", "all products read the same saved operand"),
    ("float8,saved=operands;fc.wgrad:operands=e4m2", "fc.wgrad:operands=e4m2: .*one setting for"),
])  # fmt: skip
def test_what_would_do_nothing_or_other_things_is_refused(text, problem):
    refuses(fp.PrecisionError, problem, lambda: fp.Precision.parse(text).of_module("fc"))


def test_the_switch_is_text_and_a_field():
    p = fp.Precision.parse(FLOAT8)
    assert str(p) == FLOAT8 and fp.Precision.parse(str(p)) == p != fp.Precision.parse("float8")
    refuses(fp.PrecisionError, "saved=None: expected activations or", fp.Precision, saved=None)
    parts = fp.Precision.parse("mixed;head=float8,saved=operands")
    assert parts.of_module("head").saved == "operands" != parts.of_module("body").saved
    fp.Precision.parse("float8,saved=operands,wgrad:gradient_operands=off")  # no operand is saved
