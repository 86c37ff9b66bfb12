"""Recurrent layers and cells, and sequences of different lengths."""

import warnings

import cases  # noqa: F401 (registers the kernels' bounds)
import numpy as np
import pytest
from beside_torch import with_weights_of
from bounds import Calls
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import check_refusals

import minifp as fp
from minifp import nn
from minifp.nn.utils import rnn as ours_rnn
from minifp.numerics.formats import float16, float64

KINDS = {"RNN": 1, "GRU": 3, "LSTM": 4}
each_kind = pytest.mark.parametrize("kind", KINDS)


def as_list(state):
    return list(state) if isinstance(state, (tuple, list)) else [state]


def assert_same(ours, theirs, close):
    for a, b in zip(ours, theirs, strict=True):
        b = b.detach().numpy()
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_allclose(a.array, b, rtol=close, atol=close)


def assert_layers_agree(torch, ours, theirs, results, inputs, close):
    """Values, and with random gradients of all results those of all inputs and weights."""
    random = np.random.default_rng(1)
    assert_same(results[0], results[1], close)
    dys = [random.normal(0, 1, y.shape).astype(y.dtype) for y in results[0]]
    sum((y * fp.Tensor(dy)).sum() for y, dy in zip(results[0], dys)).backward()
    torch.autograd.backward(results[1], [torch.tensor(dy) for dy in dys])
    for x, t in zip(*inputs, strict=True):
        assert_same([x.grad], [t.grad], close)
    for p, q in zip(ours.parameters(), theirs.parameters(), strict=True):
        assert_same([p.grad], [q.grad], close)


@st.composite
def layers(draw):
    kind, hidden = draw(st.sampled_from(sorted(KINDS))), draw(st.integers(1, 4))
    options = {
        "num_layers": draw(st.integers(1, 3)),
        **{n: draw(st.booleans()) for n in ("bias", "batch_first", "bidirectional")},
    }
    if kind == "RNN":
        options["nonlinearity"] = draw(st.sampled_from(["tanh", "relu"]))
    if kind == "LSTM":
        options["proj_size"] = draw(st.integers(0, hidden - 1))
    return kind, (draw(st.integers(1, 3)), hidden), options


FORMS = ["batch", "one", "lengths", "packed", "packed in any order"]


def run(module, layer, form, x, hx, lengths):
    """The outputs as one tensor, and the states, of a layer of ours (module fp) or of PyTorch's."""
    if form in ("batch", "one"):
        return layer(x, hx)
    if form == "lengths" and module is fp:
        return layer(x, hx, lengths=lengths)
    rnn, first = module.nn.utils.rnn, layer.batch_first
    packed = rnn.pack_padded_sequence(x, lengths, first, enforce_sorted=form == "packed")
    y, hx = layer(packed, hx)
    assert type(y) is type(packed)
    total = x.shape[1 if first else 0] if form == "lengths" else None
    return rnn.pad_packed_sequence(y, first, total_length=total)[0], hx


@settings(max_examples=120)
@given(
    layer=layers(), form=st.sampled_from(FORMS), lengths=st.lists(st.integers(1, 5), min_size=1,
    max_size=4), spare=st.integers(0, 2), with_state=st.booleans(), seed=st.integers(0, 2**32 - 1),
)  # fmt: skip
@pytest.mark.parametrize("dtype, close", [("float64", 1e-11), ("float32", 1e-4)])
def test_any_layer_is_pytorchs(torch, dtype, close, layer, form, lengths, spare, with_state, seed):
    """float32: the roundings of 5 steps of 3 layers, each at most doubled by the next."""
    random = np.random.default_rng(seed)
    kind, sizes, options = layer
    if form == "packed":
        lengths = sorted(lengths, reverse=True)
    steps, batch = max(lengths) + (spare if form == "lengths" else 0), len(lengths)
    shape = (batch, steps) if options["batch_first"] else (steps, batch)
    shape = (steps,) if form == "one" else shape
    theirs = getattr(torch.nn, kind)(*sizes, **options, dtype=getattr(torch, dtype))
    arrays = [random.normal(0, 1, (*shape, sizes[0]))]
    if with_state:
        many = options["num_layers"] * (1 + options["bidirectional"])
        wide = [options.get("proj_size") or sizes[1], sizes[1]][: 1 + (kind == "LSTM")]
        arrays += [random.normal(0, 1, (many, *([batch] * (form != "one")), n)) for n in wide]
    with fp.precision(dtype), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="LSTM with projections is not supported")
        ours = with_weights_of(theirs, getattr(nn, kind)(*sizes, **options))
        xs = [fp.tensor(a, requires_grad=True) for a in arrays]
        ts, results = [torch.tensor(a.astype(dtype), requires_grad=True) for a in arrays], []
        for module, made, (x, *hx) in ((fp, ours, xs), (torch, theirs, ts)):
            hx = (tuple(hx) if kind == "LSTM" else hx[0]) if hx else None
            y, states = run(module, made, form, x, hx, lengths)
            results.append([y, *as_list(states)])
        assert_layers_agree(torch, ours, theirs, results, (xs, ts), close)


@settings(max_examples=40)
@given(
    *(st.sampled_from(sorted(KINDS)), st.integers(1, 4), st.integers(1, 4), st.booleans()),
    *(st.sampled_from([None, 0, 1, 3]), st.booleans(), st.sampled_from(["tanh", "relu"])),
)
@pytest.mark.parametrize("dtype, close", [("float64", 1e-12), ("float32", 2e-5)])
def test_a_cell_is_pytorchs(torch, dtype, close, kind, inputs, hidden, bias, batch, with_state, f):
    """batch None: of one step of one sequence, without an axis for it."""
    random = np.random.default_rng(0)
    options = {"nonlinearity": f} if kind == "RNN" else {}
    theirs = getattr(torch.nn, f"{kind}Cell")(inputs, hidden, bias, **options)
    theirs = theirs.to(getattr(torch, dtype))
    lead, states = () if batch is None else (batch,), 1 + (kind == "LSTM")
    arrays = [random.normal(0, 1, (*lead, inputs))]
    arrays += [random.normal(0, 1, (*lead, hidden)) for _ in range(states if with_state else 0)]
    with fp.precision(dtype):
        ours = with_weights_of(theirs, getattr(nn, f"{kind}Cell")(inputs, hidden, bias, **options))
        xs = [fp.tensor(a, requires_grad=True) for a in arrays]
        ts, results = [torch.tensor(a.astype(dtype), requires_grad=True) for a in arrays], []
        for cell, (x, *hx) in ((ours, xs), (theirs, ts)):
            y = cell(x, (tuple(hx) if kind == "LSTM" else hx[0]) if hx else None)
            assert isinstance(y, tuple) == (kind == "LSTM")
            results.append(as_list(y))
        assert_layers_agree(torch, ours, theirs, results, (xs, ts), close)


@each_kind
@pytest.mark.parametrize("p, training", [(1.0, True), (0.7, False)])
def test_dropout_is_between_layers_and_only_in_training(torch, kind, p, training):
    theirs = getattr(torch.nn, kind)(3, 4, 2, dropout=p).train(training)
    ours = with_weights_of(theirs, getattr(nn, kind)(3, 4, 2, dropout=p).train(training))
    x = np.random.default_rng(0).normal(0, 1, (5, 2, 3)).astype("float32")
    y, z = ours(fp.tensor(x))[0], theirs(torch.tensor(x))[0]
    np.testing.assert_allclose(y.array, z.detach().numpy(), rtol=1e-5, atol=1e-6)


def test_layers_and_cells_show_themselves_as_pytorchs_do(torch):
    for make in (
        lambda m: m.LSTM(3, 4, 2, bias=False, batch_first=True, dropout=0.5, bidirectional=True),
        *(lambda m: m.LSTM(3, 4, proj_size=2), lambda m: m.GRU(3, 4), lambda m: m.RNN(3, 4, 3)),
        *(lambda m: m.GRUCell(3, 4, bias=False), lambda m: m.LSTMCell(3, 4)),
    ):
        assert repr(make(nn)) == repr(make(torch.nn))


@st.composite
def ragged(draw, least=1):
    """Arrays (L, ...) of different lengths, integers or floats."""
    lengths = draw(st.lists(st.integers(least, 5), min_size=1, max_size=5))
    more = tuple(draw(st.lists(st.integers(1, 3), max_size=2)))
    random, dtype = np.random.default_rng(0), draw(st.sampled_from(["int64", "float32"]))
    return [random.integers(-9, 9, (n, *more)).astype(dtype) for n in lengths]


@given(
    ragged(least=0), st.booleans(), st.sampled_from([0, -100]), st.sampled_from(["left", "right"])
)
def test_pad_sequence_is_pytorchs(torch, arrays, batch_first, value, side):
    y = ours_rnn.pad_sequence([fp.tensor(a) for a in arrays], batch_first, value, side)
    z = torch.nn.utils.rnn.pad_sequence([torch.tensor(a) for a in arrays], batch_first, value, side)
    assert (y.shape, y.dtype) == (z.shape, z.numpy().dtype)
    np.testing.assert_array_equal(y.array, z.numpy())


@given(ragged(), st.booleans(), st.booleans())
def test_packing_and_unpacking_are_pytorchs(torch, arrays, in_order, batch_first):
    if in_order:
        arrays.sort(key=len, reverse=True)
    results = []
    for make, rnn in ((fp.tensor, ours_rnn), (torch.tensor, torch.nn.utils.rnn)):
        packed = rnn.pack_sequence([make(a) for a in arrays], enforce_sorted=in_order)
        padded, lengths = rnn.pad_packed_sequence(packed, batch_first, -1, 7)
        copy = padded if rnn is ours_rnn else padded.clone()  # PyTorch's turns it in place
        parts, again = rnn.unpad_sequence(copy, lengths, batch_first), rnn.unpack_sequence(packed)
        results.append([packed.batch_sizes, padded, lengths, *parts, *again])
        assert (packed.sorted_indices is None) == in_order
        if in_order or len({len(a) for a in arrays}) == len(arrays):  # ties may come in any order
            results[-1] += [packed.data, *([] if in_order else packed[2:])]
    for a, b in zip(*results, strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.numpy().dtype)
        np.testing.assert_array_equal(a.array, b.numpy())


def test_padding_gets_no_gradient_and_rows_get_theirs():
    x = fp.tensor(np.arange(12.0).reshape(3, 2, 2), requires_grad=True)
    packed = ours_rnn.pack_padded_sequence(x, [1, 3], enforce_sorted=False)
    y, lengths = ours_rnn.pad_packed_sequence(packed, padding_value=9.0)
    assert lengths.tolist() == [1, 3] and y[1:, 0].tolist() == [[9, 9], [9, 9]]
    (y * y).sum().backward()
    expected = 2 * x.array
    expected[1:, 0] = 0
    np.testing.assert_array_equal(x.grad.array, expected)


def test_packed_sequences_can_be_moved_and_made_by_hand():
    packed = ours_rnn.pack_sequence([fp.ones(1, 2), fp.ones(3, 2)], enforce_sorted=False)
    assert packed.to(dtype="float16").data.dtype == float16
    made = ours_rnn.PackedSequence(packed.data, packed.batch_sizes, packed.sorted_indices)
    assert made.unsorted_indices.tolist() == packed.unsorted_indices.tolist() == [1, 0]
    with fp.precision("mixed"):
        layer = nn.GRU(2, 3)
    y, h = layer(made)
    assert (y.data.shape, y.data.dtype, h.shape) == ((4, 3), float16, (1, 2, 3))


LENGTHS = [2, 6, 1, 4]


def halves(*shape, seed=0):
    return np.random.default_rng(seed).normal(0, 1, shape).astype(float16).astype(float64)


def all_of(layer, x, lengths=None):
    """The bytes of outputs, states and gradients, for gradients of 1."""
    x = fp.tensor(x, requires_grad=True)
    y, states = layer(x, lengths=lengths)
    layer.zero_grad()
    sum(v.sum() for v in (y, *as_list(states))).backward()
    grads = [x.grad, *(p.grad for p in layer.parameters())]
    return [v.array.tobytes() for v in (y, *as_list(states), *grads)], x.grad.array, y.array


@each_kind
@pytest.mark.parametrize("precision", ["float32", "mixed", "float16"])
def test_what_stands_in_the_padding_changes_nothing(kind, precision):
    """Not even Inf and NaN, which 0 times would be NaN."""
    padding = np.arange(6)[:, None] >= np.array(LENGTHS)
    with fp.precision(precision):
        layer, results = getattr(nn, kind)(3, 4, 2, bidirectional=True), []
        for value in (0.0, 1e4, np.nan, -np.inf):
            x = halves(6, 4, 3)
            x[padding] = value
            results.append(all_of(layer, x, fp.tensor(LENGTHS)))
    assert all(r[0] == results[0][0] for r in results)
    for _, dx, y in results:
        assert (dx[padding] == 0).all() and (y[padding] == 0).all()
        assert (dx[~padding] != 0).any(-1).all()


@each_kind
@pytest.mark.parametrize("sums", ["float16", "mixed,accumulate=float16"])
def test_each_sequence_is_as_alone_where_the_order_of_sums_is_fixed(kind, sums):
    """In float16 sums are sequential. In float32 BLAS may add in another order for other shapes."""
    x = halves(6, 4, 3)
    with fp.precision(sums):
        layer = getattr(nn, kind)(3, 4, 2, bidirectional=True)
        y, states = layer(fp.tensor(x), lengths=LENGTHS)
        for b, n in enumerate(LENGTHS):
            alone, end = layer(fp.tensor(x[:n, b]))
            np.testing.assert_array_equal(y.array[:n, b], alone.array)
            for s, e in zip(as_list(states), as_list(end)):
                np.testing.assert_array_equal(s.array[:, b], e.array)


STEPS = 2000


def long_layer(kind):
    """A layer whose state forgets, in expectation of a long sequence."""
    fp.manual_seed(1)
    layer = getattr(nn, kind)(4, 6)
    layer.weight_hh_l0.data = layer.weight_hh_l0.array.astype("float32") * 0.05
    return layer


@each_kind
def test_over_2000_steps_no_step_leaves_its_bound(kind):
    """From the state that was stored before it: forward and backward, in mixed precision."""
    with fp.precision("mixed"), Calls() as calls:
        y, states = long_layer(kind)(fp.tensor(halves(STEPS, 2, 4), requires_grad=True))
        sum(v.sum() for v in (y, *as_list(states))).backward(seed=2.0**-4)
    of_layer = [c for c in calls if c.kernel.name.startswith(kind.lower())]
    assert len(of_layer) == 2
    assert max(call.excess() for call in of_layer) <= 1


def half(x):
    return np.asarray(x, "float32").astype(float16).astype("float32")


def fold(a, b):
    """a bT with every product and every partial sum rounded to float16."""
    y = np.zeros((len(a), len(b)), "float32")
    for k in range(a.shape[1]):
        y = half(y + half(half(a[:, k, None]) * half(b[None, :, k])))
    return y


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


def one_step(kind, x, h, c, w_ih, w_hh, b_ih, b_hh):
    """One step with every sum of the gates rounded to float16, biases included."""
    if kind == "GRU":
        size = h.shape[1]
        a, b = half(fold(x, w_ih) + b_ih), half(fold(h, w_hh) + b_hh)
        r, z = np.split(sigmoid(half(a + b))[:, : 2 * size], 2, axis=1)
        return (1 - z) * np.tanh(a[:, 2 * size :] + r * b[:, 2 * size :]) + z * h
    z = half(half(fold(x, w_ih) + half(b_ih + b_hh)) + fold(h, w_hh))
    if kind == "RNN":
        return np.tanh(z)
    i, f, g, o = np.split(z, 4, axis=1)
    return sigmoid(o) * np.tanh(sigmoid(f) * c + sigmoid(i) * np.tanh(g))


@each_kind
def test_with_accumulate_float16_every_sum_of_a_gate_is_rounded_to_it(kind):
    """Storage stays float32 here, so that nothing but the sums rounds to float16."""
    random, rows = np.random.default_rng(0), KINDS[kind] * 3
    shapes = (4, 5), (4, 3), (4, 3), (rows, 5), (rows, 3), (rows,), (rows,)
    x, h, c, *weights = (random.normal(0, 1, s).astype("float32") for s in shapes)
    states, found = {"LSTM": [h, c]}.get(kind, [h]), {}
    for precision in ("float32,accumulate=float16", "float32"):
        with fp.precision(precision):
            arguments = [fp.tensor(a) for a in (x[None], *states, *weights)]
            found[precision] = getattr(fp.ops, kind.lower())(*arguments)[1].array
    expected = one_step(kind, x, h, c, *weights)
    np.testing.assert_allclose(found["float32,accumulate=float16"], expected, rtol=0, atol=1e-6)
    assert np.abs(found["float32"] - expected).max() > 1e-4


@each_kind
def test_with_accumulate_float16_a_bias_below_half_an_ulp_of_the_sum_is_lost(kind):
    """b_hh = 2^-12 beside b_ih = 1; and both beside x w = 1 where they are 2^-13.

    The biases are added to each other first, so that x w = -1 does not bring b_hh back; but in a
    GRU each to its own product.
    """
    x, zero = fp.ones(1, 1, 1), fp.zeros(1, 1)
    rows = KINDS[kind]
    sums = [(0.0, 1.0, 2.0**-12, 1.0), (1.0, 2.0**-13, 2.0**-13, 0.0), (-1.0, 1.0, 2.0**-12, 1.0)]
    for w, b_ih, b_hh, lost in sums[: 2 if kind == "GRU" else 3]:
        for precision in ("float32,accumulate=float16", "float32"):
            with fp.precision(precision):
                weights = fp.full((rows, 1), w), fp.zeros(rows, 1)
                biases = [fp.full((rows,), b) for b in (b_ih, b_hh)]
                without = fp.full((rows,), lost), fp.zeros(rows)
                states = [zero] * (1 + (kind == "LSTM"))
                if kind == "GRU":  # q is a sum of its own: only r and z add both biases
                    biases[1].data = np.array([b_hh, b_hh, 0.0])
                fn = getattr(fp.ops, kind.lower())
                y, z = (fn(x, *states, *weights, *b)[1].item() for b in (biases, without))
            assert (y == z) == (precision != "float32")


def layer_of(kind="LSTM", *args, **options):
    return getattr(nn, kind)(3, 4, *args, **options)


X, STATE = (5, 2, 3), (1, 2, 4)
pair = lambda *shape: (fp.ones(*shape), fp.ones(*shape))  # noqa: E731


def test_what_does_not_fit_is_refused_by_name():
    check_refusals(r"""
    nn.RNN(3, 4, nonlinearity="sin") -> ArgumentError: RNN: nonlinearity='sin'
    nn.RNNCell(3, 4, nonlinearity=None) -> ArgumentError: RNNCell: nonlinearity=None
    nn.GRU(3, 0) -> ArgumentError: hidden_size=0
    nn.GRUCell(0, 4) -> ArgumentError: input_size=0
    nn.LSTM(3, 4, proj_size=4) -> ArgumentError: LSTM: proj_size=4.*hidden_size - 1
    nn.LSTM(3, 4, proj_size=-1) -> ArgumentError: proj_size=-1
    nn.LSTM(3, 4, dropout=2) -> ArgumentError: LSTM: dropout=2
    layer_of()([[1.0]]) -> DTypeError: LSTM\(3, 4\): input is a list
    layer_of()(fp.ones(3)) -> ArgumentError: shape \(3,\).*expected \(T, B, 3\)
    layer_of()(fp.ones(0, 2, 3)) -> ShapeError: lstm: x of shape.*at least one step
    layer_of()(fp.tensor(np.ones(X, int))) -> DTypeError: lstm: x of int64
    layer_of()(fp.ones(*X), fp.ones(*STATE)) -> ArgumentError: expected \(h, c\)
    layer_of()(fp.ones(*X), [1, 2]) -> DTypeError: hx with a int
    layer_of("GRU")(fp.ones(*X), pair(*STATE)) -> DTypeError: hx with a tuple
    layer_of()(fp.ones(*X), (fp.ones(*STATE), fp.ones(1, 2, 5)))
        -> ArgumentError: initial c of shape \(1, 2, 5\), expected \(1, 2, 4\)
    layer_of("RNN")(fp.ones(5, 3), fp.ones(*STATE)) -> ArgumentError: initial h of shape \(1, 2, 4\)
    layer_of("RNN")(fp.ones(*X), fp.ones(1, 4)) -> ArgumentError: initial h of shape \(1, 4\)
    layer_of("GRU")(ours_rnn.pack_sequence([fp.ones(2, 5)])) -> ArgumentError: packed rows \(2, 5\)
    layer_of("GRU")(ours_rnn.pack_sequence([fp.ones(2, 3)]), lengths=[2])
        -> ArgumentError: lengths= with a PackedSequence
    layer_of()(fp.ones(5, 3), lengths=[2]) -> ArgumentError: lengths= for one sequence
    layer_of()(fp.ones(*X), lengths=[2]) -> ShapeError: for 2 sequences
    layer_of()(fp.ones(*X), lengths=[0, 5]) -> ArgumentError: expected 1 to 5
    layer_of()(fp.ones(*X), lengths=[6, 5]) -> ArgumentError: expected 1 to 5
    layer_of()(fp.ones(*X), lengths=[2.0, 5.0]) -> DTypeError: expected integers
    layer_of()(fp.ones(*X), lengths=[[2], [5, 1]]) -> DTypeError: expected integers
    layer_of()(ours_rnn.PackedSequence(fp.ones(4, 3), fp.tensor([1, 3])))
        -> ArgumentError: lstm: batch_sizes=.*expected falling
    layer_of()(ours_rnn.PackedSequence(fp.ones(4, 3), fp.tensor([3, 2])))
        -> ShapeError: lstm: x of shape \(4, 3\) with batch_sizes that sum to 5
    nn.LSTMCell(3, 4)([1.0]) -> DTypeError: input is a list
    nn.LSTMCell(3, 4)(fp.ones(2, 4)) -> ArgumentError: input of shape \(2, 4\)
    nn.LSTMCell(3, 4)(fp.ones(2, 3), fp.ones(2, 4)) -> ArgumentError: \(h, c\)
    nn.GRUCell(3, 4)(fp.ones(2, 3), fp.ones(4)) -> ArgumentError: h of shape \(4,\)
    nn.GRUCell(3, 4)(fp.ones(2, 3), fp.ones(3, 4)) -> ShapeError: gru: h of shape
    nn.GRUCell(3, 4)(fp.ones(2, 3), 1.0) -> DTypeError: h is a float
    ours_rnn.pack_padded_sequence([1], [1]) -> DTypeError: sequence: list
    ours_rnn.pack_padded_sequence(fp.ones(3), [1]) -> ShapeError: shape \(3,\)
    ours_rnn.pack_padded_sequence(fp.ones(3, 0), []) -> ShapeError: one sequence
    ours_rnn.pack_padded_sequence(fp.ones(3, 2), [1, 2]) -> ArgumentError: not in falling
    ours_rnn.pack_padded_sequence(fp.ones(3, 2), "ab") -> DTypeError: lengths
    ours_rnn.pad_packed_sequence(fp.ones(3)) -> DTypeError: expected a PackedSequence
    ours_rnn.pad_packed_sequence(ours_rnn.pack_sequence([fp.ones(4, 1)]), total_length=3)
        -> ArgumentError: total_length=3
    ours_rnn.pad_sequence([]) -> ShapeError: pad_sequence
    ours_rnn.pad_sequence(3) -> DTypeError: pad_sequence: int
    ours_rnn.pad_sequence([[1.0]]) -> DTypeError: a list of list
    ours_rnn.pad_sequence([fp.ones(2, 3), fp.ones(2, 4)]) -> ShapeError: alike but
    ours_rnn.pad_sequence([fp.tensor(1.0)]) -> ShapeError: pad_sequence
    ours_rnn.pad_sequence([fp.ones(2)], padding_side="top") -> ArgumentError: padding_side='top'
    ours_rnn.pack_sequence([fp.ones(2), fp.ones(3)]) -> ArgumentError: not in falling
    ours_rnn.pack_sequence([fp.ones(0, 2)]) -> ShapeError: at least one step
    ours_rnn.PackedSequence([1], [1]) -> DTypeError: data is a list
    ours_rnn.PackedSequence(fp.ones(1), None) -> DTypeError: batch_sizes: None
    ours_rnn.PackedSequence(fp.ones(1), 3) -> ArgumentError: batch_sizes=3
    ours_rnn.PackedSequence(fp.ones(1), [1], "a") -> DTypeError: sorted_indices: 'a'
    ours_rnn.unpad_sequence([1.0], [1]) -> DTypeError: unpad_sequence: list
    ours_rnn.unpad_sequence(fp.ones(3, 2), [4, 1]) -> ArgumentError: expected 1 to 3
    """, names=globals())  # fmt: skip


OPS = {
    "rnn": {"x": (3, 2, 4), "h": (2, 5), "w_ih": (5, 4), "w_hh": (5, 5)},
    "gru": {"x": (3, 2, 4), "h": (2, 5), "w_ih": (15, 4), "w_hh": (15, 5)},
    "lstm": {"x": (3, 2, 4), "h": (2, 5), "c": (2, 5), "w_ih": (20, 4), "w_hh": (20, 5)},
}


@pytest.mark.parametrize("name", OPS)
@pytest.mark.parametrize("changed, error, words", [
    ({"x": (3, 2)}, fp.ShapeError, r"{0}: x of shape \(3, 2\)"),
    ({"h": (3, 5)}, fp.ShapeError, r"{0}: h of shape \(3, 5\), expected \(2, 5\)"),
    ({"w_ih": (7, 4)}, fp.ShapeError, r"{0}: w_ih of shape \(7, 4\)"),
    ({"w_hh": (5,)}, fp.ShapeError, r"{0}: w_hh of shape \(5,\)"),
    ({"b_ih": (1,), "b_hh": (1,)}, fp.ShapeError, r"{0}: b_ih of shape \(1,\)"),
    ({"b_ih": (5,)}, fp.ArgumentError, "{0}: b_ih without b_hh"),
    ({"x": None}, fp.DTypeError, "{0}: x is a NoneType"),
    ({"w_ih": None}, fp.DTypeError, "{0}: w_ih is a NoneType"),
])  # fmt: skip
def test_the_operations_name_the_argument_that_does_not_fit(name, changed, error, words):
    given = {n: s and fp.ones(*s) for n, s in {**OPS[name], **changed}.items()}
    with pytest.raises(error, match=words.format(name)):
        getattr(fp.ops, name)(**given)


def test_dropout_of_a_single_layer_is_warned_of():
    with pytest.warns(UserWarning, match="GRU: dropout=0.5 acts between layers"):
        nn.GRU(3, 4, dropout=0.5)
