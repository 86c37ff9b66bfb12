"""Attention to what was read, the network that translates by it, and beam search."""

import itertools

import numpy as np
import pytest
from minifp.models.beam_search import Settings, beam_search
from refusals import each_refused, refuses

import minifp as fp
from minifp import nn, optim
from minifp.errors import ArgumentError, DTypeError, ShapeError
from minifp.models import Seq2Seq
from minifp.nn import functional as F

LAYERS = {
    "luong": lambda: nn.LuongAttention(3, 5),
    "luong, dot": lambda: nn.LuongAttention(5, 5, score="dot"),
    "bahdanau": lambda: nn.BahdanauAttention(3, 5, 4),
}
SEEN = np.array([[True, True, False, True], [False, True, True, False]])


def softmax(scores):
    e = np.exp(scores - scores.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def by_formula(layer, query, keys):
    """(context, weights) of one query (Q) and the keys (S, K) that it sees."""
    w = {name: p.numpy() for name, p in layer.named_parameters()}
    if isinstance(layer, nn.BahdanauAttention):
        q = w["query_projection.weight"] @ query
        scores = np.array([w["weight"] @ np.tanh(q + w["key_projection.weight"] @ k) for k in keys])
    else:
        matrix = w.get("key_projection.weight", np.eye(5))
        scores = np.array([query @ (matrix @ k) for k in keys])
    weights = softmax(scores)
    return weights @ keys, weights


@pytest.mark.parametrize("make", LAYERS.values(), ids=LAYERS)
def test_attention_is_its_formula_and_masked_positions_are_not_seen(make):
    with fp.precision("float64"):
        layer = make()
        query, keys = fp.randn(2, 3, layer.query_size), fp.randn(2, 4, 5)
        context, weights = layer(query, keys, fp.tensor(SEEN))
        for b, t in itertools.product(range(2), range(3)):
            expected = by_formula(layer, query.numpy()[b, t], keys.numpy()[b, SEEN[b]])
            np.testing.assert_allclose(context.numpy()[b, t], expected[0], rtol=1e-12, atol=1e-14)
            np.testing.assert_allclose(weights.numpy()[b, t, SEEN[b]], expected[1], rtol=1e-12)
        assert (weights.numpy()[:, 0][~SEEN] == 0).all()
        alone = layer(query[:, 1], keys, SEEN, layer.projected(keys))
        for one, of_all in zip(alone, (context, weights)):
            np.testing.assert_allclose(one.numpy(), of_all.numpy()[:, 1], rtol=1e-12, atol=1e-14)
        assert layer(query, keys)[1].numpy().min() > 0


@pytest.mark.parametrize("make", LAYERS.values(), ids=LAYERS)
def test_gradients_of_attention_are_the_slopes(make):
    with fp.precision("float64"):
        layer = make()
        inputs = [fp.randn(2, 3, layer.query_size), fp.randn(2, 4, 5)]
        for x in (parts := [*inputs, *layer.parameters()]):
            x.requires_grad_()
    assert fp.gradcheck(lambda query, keys, *_: layer(query, keys, SEEN), parts)


test_what_attention_cannot_look_at_is_refused = each_refused(
    (lambda: nn.LuongAttention(3, 5, "dot"), ArgumentError, "expected the same size"),
    (lambda: nn.LuongAttention(3, 5, "sum"), ArgumentError, "'dot', 'general'"),
    (lambda: nn.BahdanauAttention(3, 5, 0), ArgumentError, "hidden_size=0"),
    (lambda: _called(fp.randn(2, 4), fp.randn(2, 4, 5)), ShapeError, r"\(B, T, 3\)"),
    (lambda: _called(fp.randn(1, 3), fp.randn(2, 4, 5)), ShapeError, r"\(1, 3\)"),
    (lambda: _called(np.ones((2, 3)), fp.randn(2, 4, 5)), DTypeError, "query is a ndarray"),
    (lambda: _called(mask=np.ones((2, 4))), DTypeError, "expected booleans"),
    (lambda: _called(mask=SEEN[:1]), ShapeError, r"expected \(2, 4\)"),
    (lambda: _called(mask=SEEN & [[True], [False]]), ArgumentError, "row 1 allows no position"),
)


def _called(query=None, keys=None, mask=None):
    query = fp.randn(2, 3) if query is None else query
    return nn.LuongAttention(3, 5)(query, fp.randn(2, 4, 5) if keys is None else keys, mask)


SOURCE = np.array([[3, 4, 5, 6, 2], [7, 3, 2, 0, 0]])
LENGTHS = [5, 3]
TARGET = np.array([[1, 5, 6, 7], [1, 4, 4, 0]])


def padded_more(model, extra):
    """The scores of a batch whose padding is other codes, and longer."""
    source = np.concatenate([SOURCE, np.full((2, extra), 7)], 1)
    source[1, 3:5] = 6
    return model(fp.tensor(source), LENGTHS, fp.tensor(TARGET))


@pytest.mark.parametrize("attention", ["luong", "bahdanau"])
@pytest.mark.parametrize("input_feeding", [True, False])
def test_padding_is_not_seen_and_a_step_does_not_see_those_after_it(attention, input_feeding):
    with fp.precision("float64"):
        model = Seq2Seq(8, 9, 6, 2, attention=attention, input_feeding=input_feeding)
        scores = model(fp.tensor(SOURCE), LENGTHS, fp.tensor(TARGET))
        assert scores.shape == (2, 4, 9)
        again = padded_more(model, 2)
        np.testing.assert_allclose(again.numpy(), scores.numpy(), rtol=1e-12, atol=1e-14)
        later = TARGET.copy()
        later[:, 2:] = 8
        other = model(fp.tensor(SOURCE), LENGTHS, fp.tensor(later)).numpy() == scores.numpy()
        assert other[:, :2].all() and not other[:, 2:].any()


def test_scores_and_gradients_are_those_of_pytorchs_parts(torch):
    with fp.precision("float64"):
        model = Seq2Seq(8, 9, 6, 2, embedding=5)
    w = {n: torch.tensor(p.numpy(), requires_grad=True) for n, p in model.named_parameters()}
    labels = np.array([[5, 6, 7, 2], [4, 4, 2, -100]])
    with fp.precision("float64"):
        scores = model(fp.tensor(SOURCE), LENGTHS, fp.tensor(TARGET))
        F.cross_entropy(scores.reshape(-1, 9), fp.tensor(labels.reshape(-1))).backward()
    expected = theirs(torch, w)
    torch.nn.functional.cross_entropy(
        expected.reshape(-1, 9), torch.tensor(labels.ravel())
    ).backward()
    np.testing.assert_allclose(scores.numpy(), expected.detach().numpy(), rtol=1e-10, atol=1e-12)
    for name, p in model.named_parameters():
        grad = w[name].grad.numpy()
        np.testing.assert_allclose(p.grad.numpy(), grad, rtol=1e-9, atol=1e-12, err_msg=name)


def theirs(torch, w):
    """The same network by PyTorch's LSTM, LSTM cells and products, on the weights w by name."""
    nn, of = torch.nn, torch.nn.functional
    lstm = nn.LSTM(5, 6, 2, batch_first=True).double()
    cells = [nn.LSTMCell(11, 6).double(), nn.LSTMCell(6, 6).double()]
    parts = {"encoder.lstm.": lstm, "decoder.cells.0.": cells[0], "decoder.cells.1.": cells[1]}
    own = {p: {n.removeprefix(p): v for n, v in w.items() if n.startswith(p)} for p in parts}

    def call(prefix, *args):
        return torch.func.functional_call(parts[prefix], own[prefix], args)

    embedded = of.embedding(torch.tensor(SOURCE), w["encoder.embedding.weight"])
    pack = nn.utils.rnn.pack_padded_sequence(embedded, torch.tensor(LENGTHS), True, False)
    packed, (h, c) = call("encoder.lstm.", pack)
    keys, _ = nn.utils.rnn.pad_packed_sequence(packed, batch_first=True)
    hidden = torch.tensor(np.arange(5) >= np.array(LENGTHS)[:, None])
    x = of.embedding(torch.tensor(TARGET), w["decoder.embedding.weight"])
    states, fed, outputs = list(zip(h, c)), torch.zeros(2, 6).double(), []
    for t in range(4):
        y = torch.cat([x[:, t], fed], -1)
        for i in range(2):
            states[i] = call(f"decoder.cells.{i}.", y, states[i])
            y = states[i][0]
        scores = (keys @ w["decoder.attention.key_projection.weight"].T @ y[:, :, None])[..., 0]
        context = (scores.masked_fill(hidden, -torch.inf).softmax(-1)[:, None] @ keys)[:, 0]
        fed = torch.tanh(torch.cat([context, y], -1) @ w["decoder.combination.weight"].T)
        outputs.append(fed)
    return torch.stack(outputs, 1) @ w["decoder.head.weight"].T + w["decoder.head.bias"]


def test_it_learns_to_write_backward():
    draw = np.random.default_rng(1)
    with fp.precision("mixed,loss_scale=64"):
        model = Seq2Seq(8, 8, 32, 1, embedding=16)
        optimizer = fp.MixedOptimizer(optim.Adam(model.parameters(), lr=0.02))
        source = draw.integers(3, 8, (40, 3))
        labels = np.concatenate([source[:, ::-1], np.full((40, 1), 2)], 1)
        target = np.concatenate([np.full((40, 1), 1), labels[:, :-1]], 1)
        for _ in range(60):
            scores = model(fp.tensor(source), [3] * 40, fp.tensor(target))
            optimizer.minimize(F.cross_entropy(scores.reshape(-1, 8), fp.tensor(labels.flatten())))
        found = model.translate(fp.tensor(source), [3] * 40, width=3)
    right = [h.codes.tolist() == s[::-1].tolist() for h, s in zip(found, source)]
    assert np.mean(right) > 0.9 and model.training
    assert found[0].attention.shape == (4, 3)
    np.testing.assert_allclose(found[0].attention.sum(1), 1, atol=3 * 2**-11)


def test_a_network_that_is_no_number_still_ends():
    model = Seq2Seq(8, 9, 4, 1)
    model.decoder.head.bias.data = np.full(9, np.nan, np.float32)
    assert len(model.translate(fp.tensor(SOURCE), LENGTHS, longest=3)) == 2
    refuses(ArgumentError, "width=0", model.translate, fp.tensor(SOURCE), LENGTHS, width=0)
    refuses(ArgumentError, "'luong', 'bahdanau'", Seq2Seq, 8, 9, attention="none")


def chain(batch, seed):
    """Scores (batch, V, V) of what follows each code, and a step that reads them."""
    scores = np.random.default_rng(seed).normal(0, 2, (batch, 4, 4)).astype(np.float32)

    def step(codes, state, memory):
        rows = np.repeat(memory[0], len(codes) // len(memory[0]))
        assert (state[0] == np.repeat(memory[0], len(codes) // len(memory[0]))).all()
        return scores[rows, codes], state, np.eye(4)[codes]

    return scores, step


def best_of_all(scores, settings):
    """The best of all rows of codes, of which none but the last is `end`, by trying them."""
    log_p = scores - np.log(np.exp(scores.astype(np.float64)).sum(-1, keepdims=True))
    others, found = [c for c in range(4) if c != settings.end], []
    for n in range(settings.longest + 1):
        for codes in itertools.product(others, repeat=n):
            row = [settings.begin, *codes, settings.end]
            total = sum(log_p[a, b] for a, b in itertools.pairwise(row))
            found.append((settings.score(total, n + 1), list(codes)))
    return max(found)


@pytest.mark.parametrize("penalty", [0.0, 0.6, 2.0])
def test_a_wide_beam_finds_the_best_of_all(penalty):
    """As wide as there are hypotheses: 3^3 of them at the last step. Of those that do not end by
    themselves the last code is not counted, so they are left out here: they cannot be the best."""
    scores, step = chain(6, seed=int(10 * penalty))
    scores[:, :, 3] += 3  # ends are likely
    settings = Settings(begin=0, end=3, width=40, longest=3, length_penalty=penalty)
    found = beam_search(step, [np.arange(6)], [np.arange(6)], 6, settings)
    for one, table in zip(found, scores):
        score, codes = best_of_all(table, settings)
        assert one.codes.tolist() == codes
        assert abs(one.score - score) < 4 * 3 * 2**-20  # 4 codes, 3 float32 roundings below 16 each
        assert one.attention.argmax(1).tolist() == [0, *codes]


def test_a_narrow_beam_takes_the_best_code_and_a_longer_one_with_a_penalty():
    scores, step = chain(5, seed=3)
    for width in (1, 2):
        settings = Settings(begin=0, end=3, width=width, longest=6, length_penalty=0.0)
        found, greedy = beam_search(step, [np.arange(5)], [np.arange(5)], 5, settings), []
        for table in scores:
            codes = [0]
            while codes[-1] != 3 and len(codes) < 8:
                codes.append(int(table[codes[-1]].argmax()))
            greedy.append(codes[1:-1] if codes[-1] == 3 else codes[1:7])
        same = [h.codes.tolist() == g for h, g in zip(found, greedy)]
        assert all(same) if width == 1 else not all(same)
    lengths = []
    for penalty in (0.0, 1.0, 3.0):
        settings = Settings(begin=0, end=3, width=3, longest=6, length_penalty=penalty)
        found = beam_search(step, [np.arange(5)], [np.arange(5)], 5, settings)
        lengths.append(np.mean([len(h.codes) for h in found]))
    assert lengths[0] < lengths[2] and lengths == sorted(lengths)
