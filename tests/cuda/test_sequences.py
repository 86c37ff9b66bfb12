"""Recurrent layers on a GPU: sizes beyond a block, packed and reversed sequences."""

import numpy as np
import pytest
from checked import check

import minifp as fp
import minifp.nn.functional as F
from minifp import nn, optim
from minifp.autograd.tape import Tensor
from minifp.numerics.kernels import ran_on_host
from minifp.ops.recurrent.sequence import states_before, steps_of
from minifp.runtime.cuda.arrays import to_device

SIZES = [None, (70, 70, 33, 2, 1)]  # of a batch of 70 in 5 steps
ROOM = 5, 70, 6, 11  # steps, sequences, inputs, units


def drawn(*shapes, dtype):
    rng = np.random.default_rng(len(shapes))
    return [(rng.normal(size=s) * 0.7).astype(dtype) for s in shapes]


@pytest.fixture(params=[(s, r) for s in SIZES for r in (False, True)], ids=str)
def steps(request):
    sizes, reverse = request.param
    return steps_of(ROOM[:3], sizes, reverse)


def rows(steps):
    return max(stop for _, stop in steps)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("biased", [True, False])
def test_lstm(steps, biased, dtype):
    _, B, I, H = ROOM
    N, shape = rows(steps), [(B, H), (B, H), (4 * H, I), (4 * H, H), (4 * H,), (4 * H,)]
    x, h, c, *w = drawn((N, I), *shape, dtype=dtype)
    w = w if biased else [*w[:2], None, None]
    hs, cs, gates, *last = check("lstm.lstm_forward", x, h, c, *w, to=(dtype,) * 5, steps=steps)
    dy, dh, dc = drawn((N, H), (B, H), (B, H), dtype=dtype)
    before = states_before(cs, c, steps)
    check("lstm.lstm_dz", dy, dh, dc, before, cs, gates, w[1], to=(dtype,) * 3, steps=steps)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_lstm_projected(steps, dtype):
    _, B, I, H = ROOM
    N, P = rows(steps), 5
    shape = [(B, P), (B, H), (4 * H, I), (4 * H, P), (4 * H,), (4 * H,), (P, H)]
    x, h, c, *w = drawn((N, I), *shape, dtype=dtype)
    found = check("lstm.lstm_projected", x, h, c, *w, to=(dtype,) * 6, steps=steps)
    dy, dh, dc = drawn((N, P), (B, P), (B, H), dtype=dtype)
    given = dy, dh, dc, states_before(found[1], c, steps), found[1], found[3], w[1], w[4]
    check("lstm.lstm_projected_dz", *given, to=(dtype,) * 4, steps=steps)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("biased", [True, False])
def test_gru(steps, biased, dtype):
    _, B, I, H = ROOM
    N, shape = rows(steps), [(B, H), (3 * H, I), (3 * H, H), (3 * H,), (3 * H,)]
    x, h, *w = drawn((N, I), *shape, dtype=dtype)
    w = w if biased else [*w[:2], None, None]
    hs, gates, last = check("gru.gru_forward", x, h, *w, to=(dtype,) * 3, steps=steps)
    dy, dh = drawn((N, H), (B, H), dtype=dtype)
    before = states_before(hs, h, steps)
    check("gru.gru_da", dy, dh, before, gates, w[1], to=(dtype,) * 3, steps=steps)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("kind", ["tanh", "relu"])
def test_rnn(steps, kind, dtype):
    _, B, I, H = ROOM
    N, shape = rows(steps), [(B, H), (H, I), (H, H), (H,), (H,)]
    x, h, *w = drawn((N, I), *shape, dtype=dtype)
    given = {"steps": steps, "nonlinearity": kind, "to": (dtype,) * 2}
    hs, last = check("rnn.rnn_forward", x, h, *w, **given)
    dy, dh = drawn((N, H), (B, H), dtype=dtype)
    check("rnn.rnn_dz", dy, dh, hs, w[1], **given)


@pytest.mark.parametrize("mode", ["LSTM", "GRU", "RNN"])
def test_what_is_not_finite_and_what_saturates(mode):
    steps = steps_of((2, 4, 3), None, False)
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[mode]
    x = np.ones((8, 3), "float16")
    x[0], x[1, 1], x[2], x[3] = 6e4, np.nan, -6e4, np.inf
    h, w_ih, w_hh = drawn((4, 5), (gates * 5, 3), (gates * 5, 5), dtype="float16")
    more = {"nonlinearity": "relu"} if mode == "RNN" else {}
    states = (h, h) if mode == "LSTM" else (h,)
    results = {"LSTM": 5, "GRU": 3, "RNN": 2}[mode]
    name = f"{mode.lower()}.{mode.lower()}_forward"
    given = {"steps": steps, "to": ("float16",) * results, **more}
    check(name, x, *states, w_ih, w_hh, None, None, **given)


def test_states_before_are_those_that_each_step_read(steps):
    states, first = drawn((rows(steps), 3), (70, 3), dtype="float32")
    state, expected = first.copy(), np.empty_like(states)
    for start, stop in steps:
        expected[start:stop] = state[: stop - start]
        state[: stop - start] = states[start:stop]
    assert np.array_equal(states_before(states, first, steps), expected)


@pytest.mark.parametrize("mode", ["LSTM", "GRU", "RNN"])
def test_a_layer_is_that_of_the_cpu(mode):
    with fp.precision("mixed"):
        fp.manual_seed(0)
        layer = getattr(fp.nn, mode)(6, 11, num_layers=2)
        x = np.random.default_rng(0).normal(size=(5, 3, 6)).astype("float16")
        found = []
        for place in (lambda a: a, to_device):
            for p in layer.parameters():
                p.array, p.grad = place(p.array), None
            leaf = Tensor(place(x.copy()), requires_grad=True)
            y = layer(leaf)[0]
            (y * y).sum().backward()
            found.append(
                [y.numpy(), leaf.grad.numpy(), *(p.grad.numpy() for p in layer.parameters())]
            )
    for a, b in zip(*found):
        np.testing.assert_allclose(a.astype(float), b.astype(float), rtol=0.01, atol=0.01)


class Reader(nn.Module):
    """A model of text, of what this folder tests: embedding, recurrence, attention, and a loss."""

    def __init__(self):
        self.embed, self.lstm, self.gru = nn.Embedding(30, 12), nn.LSTM(12, 16, 2), nn.GRU(16, 16)
        self.attend, self.out = nn.MultiheadAttention(16, 2), nn.Linear(16, 30)

    def forward(self, i):
        h = self.gru(self.lstm(self.embed(i))[0])[0]
        return self.out(h + self.attend(h, h, h)[0])


def losses_of(device, captured):
    """Losses of a short training."""
    fp.manual_seed(0)
    with fp.precision("mixed,loss_scale=1024"):
        model = Reader().to(device)
        optimizer = fp.MixedOptimizer(optim.Adam(model.parameters(), lr=1e-2))

        def step(i, t):
            loss = F.cross_entropy(model(i).reshape(-1, 30), t.reshape(-1))
            optimizer.minimize(loss)
            return loss

        run = fp.capture(step, device="cuda") if captured else step
        texts = [np.random.default_rng(k).integers(0, 30, size=(7, 4)) for k in range(8)]
        found = [run(*(fp.tensor(a, device=device) for a in (i, np.roll(i, -1)))) for i in texts]
        return [loss.item() for loss in found]


def test_a_reader_trains_on_a_gpu_as_on_the_cpu_and_in_a_graph():
    before = set(ran_on_host)
    alone, captured = losses_of("cuda", False), losses_of("cuda", True)
    assert set(ran_on_host) == before
    assert alone == captured
    np.testing.assert_allclose(alone, losses_of("cpu", False), rtol=1e-3)
