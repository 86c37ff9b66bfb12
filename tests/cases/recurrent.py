"""Recurrent layers over whole sequences."""

import warnings

import numpy as np
from hypothesis import strategies as st

import minifp as fp
from cases.case import Case, drawn
from minifp.nn.utils import rnn as packing

GATES = {"rnn": 1, "gru": 3, "lstm": 4}


def layer(kind, steps, batch, inputs, hidden, proj=0, bias=True, sizes=None, reverse=False, **more):
    """A case of one layer in one direction; sizes: the batch sizes of packed rows."""
    rows, wide, states = GATES[kind] * hidden, proj or hidden, 1 + (kind == "lstm")
    x = (steps, batch, inputs) if sizes is None else (sum(sizes), inputs)
    shapes = [x, (batch, wide), (batch, hidden)][: 1 + states]
    shapes += [(rows, inputs), (rows, wide), (rows,), (rows,)][: 4 if bias else 2]
    shapes += [(proj, hidden)] if proj else []

    def ours(x, *rest):
        state, (w_ih, w_hh, *others) = rest[:states], rest[states:]
        others = others if bias else [None, None, *others]
        given = {"batch_sizes": sizes, "reverse": reverse, **more}
        return getattr(fp.ops, kind)(x, *state, w_ih, w_hh, *others, **given)

    def theirs(t, x, *rest):
        """PyTorch has no layer that only runs backwards: turn the sequences round for it."""
        fn = getattr(t, f"rnn_{more.get('nonlinearity', 'tanh')}" if kind == "rnn" else kind)
        state, weights = [s[None] for s in rest[:states]], list(rest[states:])
        options = bias, 1, 0.0, False, False  # layers, dropout, training, bidirectional
        state = tuple(state) if states > 1 else state[0]
        turned = t.tensor(turned_round(sizes or (1,) * steps)) if reverse else slice(None)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="LSTM with projections is not supported")
            if sizes is None:
                y, *last = fn(x[turned], state, weights, *options, False)
            else:
                y, *last = fn(x[turned], t.tensor(sizes), state, weights, *options)
        return y[turned], *(s[0] for s in last)

    settings = {"packed": sizes is not None, "reverse": reverse, "projected": proj, **more}
    special = [n if v is True else str(v) for n, v in settings.items() if v]
    return Case(" ".join([kind, *special]), ours, tuple(shapes), -1.0, 1.0, theirs)


def turned_round(sizes):
    """For each packed row the one with which it changes places when sequences run backwards."""
    t, b = np.nonzero(np.arange(sizes[0]) < np.array(sizes)[:, None])
    lengths = np.sum(np.array(sizes)[:, None] > np.arange(sizes[0]), axis=0)
    return np.cumsum([0, *sizes])[lengths[b] - 1 - t] + b


LENGTHS = [2, 4, 1]


def packed(x):
    return packing.pack_padded_sequence(x, LENGTHS, enforce_sorted=False).data


def padded(x):
    sequence = packing.PackedSequence(x, fp.tensor([3, 2, 1, 1]), fp.tensor([1, 0, 2]))
    return packing.pad_packed_sequence(sequence, padding_value=0.5, total_length=5)[0]


def packed_by_torch(t, x):
    return t.nn.utils.rnn.pack_padded_sequence(x, LENGTHS, enforce_sorted=False).data


def padded_by_torch(t, x):
    made = t.nn.utils.rnn.PackedSequence(x, t.tensor([3, 2, 1, 1]), t.tensor([1, 0, 2]))
    return t.nn.utils.rnn.pad_packed_sequence(made, padding_value=0.5, total_length=5)[0]


CASES = [
    *(layer("lstm", *s) for s in [(5, 2, 3, 4), (2, 2, 3, 1), (1, 1, 1, 2), (3, 0, 2, 2)]),
    *(layer("gru", *s) for s in [(5, 2, 3, 4), (1, 1, 1, 2), (3, 0, 2, 2)]),
    *(layer("rnn", *s) for s in [(5, 2, 3, 4), (1, 1, 1, 2), (3, 0, 2, 2)]),
    *(layer(k, 3, 3, 2, 3, sizes=(3, 2, 2), reverse=True, bias=False) for k in GATES),
    *(layer(k, 4, 3, 2, 3, sizes=(3, 2, 1, 1)) for k in GATES),
    layer("rnn", 3, 2, 3, 2, reverse=True, nonlinearity="relu"),
    layer("lstm", 4, 3, 3, 4, proj=2),
    layer("lstm", 4, 3, 3, 4, proj=1, sizes=(3, 1, 1, 1), reverse=True),
    Case("pack_padded_sequence", packed, ((4, 3, 2),), torch=packed_by_torch),
    Case("unpack", padded, ((7, 2),), torch=padded_by_torch),
]


@drawn("lstm", "gru", "rnn")
def draw_layer(draw, kind):
    steps, batch, inputs, hidden = (draw(st.integers(1, 4)) for _ in range(4))
    sizes = None
    if draw(st.booleans()):
        rest = st.lists(st.integers(1, batch), min_size=steps - 1, max_size=steps - 1)
        sizes = (batch, *sorted(draw(rest), reverse=True))
    options = {"bias": draw(st.booleans()), "reverse": draw(st.booleans())}
    if kind == "lstm":
        options["proj"] = draw(st.integers(0, hidden - 1))
    if kind == "rnn":
        options["nonlinearity"] = draw(st.sampled_from(["tanh", "relu"]))
    return layer(kind, steps, batch, inputs, hidden, sizes=sizes, **options)


@drawn("pack_padded_sequence", "unpack")
def draw_packing(draw, name):
    lengths = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    if sorted_ := draw(st.booleans()):
        lengths.sort(reverse=True)
    more, first = tuple(draw(st.lists(st.integers(1, 3), max_size=2))), draw(st.booleans())
    axes = (len(lengths), max(lengths) + draw(st.integers(0, 2)))
    shape = (*(axes if first else axes[::-1]), *more)
    value, total = draw(st.sampled_from([0.0, -1.5])), max(lengths) + draw(st.integers(0, 2))

    def run(rnn, x):
        sequence = rnn.pack_padded_sequence(x, lengths, first, enforce_sorted=sorted_)
        if name == "pack_padded_sequence":
            return rnn.pad_packed_sequence(sequence)[0]
        return rnn.pad_packed_sequence(sequence, not first, value, total)[0]

    return Case(
        name, lambda x: run(packing, x), (shape,), torch=lambda t, x: run(t.nn.utils.rnn, x)
    )
