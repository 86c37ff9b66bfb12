"""Layers of sequences of different lengths that are not recurrent, and Deep Speech 2."""

import numpy as np
import pytest
from refusals import refuses

import minifp as fp
from minifp import nn, optim
from minifp.errors import ArgumentError, ShapeError
from minifp.models import DeepSpeech2, DeepSpeech2Mandarin
from minifp.nn import functional as F
from minifp.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

LENGTHS = np.array([3, 5, 2])


def batch(*rest):
    """A padded batch (T, B, ...) of these lengths, with something large in the padding."""
    x = np.random.default_rng(0).normal(size=(5, 3, *rest))
    x[np.arange(5)[:, None] >= LENGTHS] = 1e4
    return fp.tensor(x)


def inside(x):
    return np.concatenate([x.array[:n, b] for b, n in enumerate(LENGTHS)])


def packed(x):
    return pack_padded_sequence(x, LENGTHS, enforce_sorted=False)


@pytest.mark.parametrize("rest", [(4,), (4, 6)])
def test_statistics_are_those_of_all_steps_that_there_are(rest):
    x, layer, plain = batch(*rest), nn.SequenceBatchNorm(4), nn.BatchNorm1d(4)
    y, expected = layer(x, LENGTHS), plain(fp.tensor(inside(x)))
    np.testing.assert_allclose(inside(y), expected.array, atol=1e-6)
    assert not y.array[np.arange(5)[:, None] >= LENGTHS].any()
    for name in ("running_mean", "running_var"):
        ours, theirs = getattr(layer, name).array, getattr(plain, name).array
        np.testing.assert_allclose(ours, theirs, rtol=1e-5)
    layer.eval(), plain.eval()
    expected = plain(fp.tensor(inside(x))).array
    np.testing.assert_allclose(inside(layer(x, LENGTHS)), expected, rtol=1e-5, atol=1e-6)


def test_a_packed_and_a_padded_batch_are_normalised_alike_and_without_lengths_all_steps():
    x = batch(4)
    padded, lengths = pad_packed_sequence(nn.SequenceBatchNorm(4)(packed(x)))
    np.testing.assert_array_equal(lengths.array, LENGTHS)
    np.testing.assert_array_equal(padded.array, nn.SequenceBatchNorm(4)(x, LENGTHS).array)
    x = fp.randn(5, 3, 4)
    expected = nn.BatchNorm1d(4)(x.reshape(15, 4)).array.reshape(5, 3, 4)
    np.testing.assert_allclose(nn.SequenceBatchNorm(4)(x).array, expected, atol=1e-6)


@pytest.mark.parametrize("layer", [nn.SequenceBatchNorm(4), nn.RowConv(4, 1)])
def test_lengths_that_do_not_fit_are_refused(layer):
    refuses(ShapeError, "lengths of shape", layer, batch(4), [1, 2])
    refuses(ArgumentError, "expected 1 to 5", layer, batch(4), [6, 1, 1])
    refuses(ArgumentError, "of a PackedSequence, which has its", layer, packed(batch(4)), LENGTHS)


def test_features_a_context_and_sizes_that_cannot_be_are_refused():
    with pytest.raises(ArgumentError, match="SequenceBatchNorm.3. on a tensor .*3 channels"):
        nn.SequenceBatchNorm(3)(batch(4), LENGTHS)
    refuses(ShapeError, "row_conv: input of shape", nn.RowConv(3, 1), batch(4), LENGTHS)
    refuses(ArgumentError, "RowConv: context=-1", nn.RowConv, 2, -1)
    refuses(ArgumentError, "2 channels, 1 kernels, 2 strides", DeepSpeech2, kernels=((11, 41),))
    with pytest.raises(ShapeError, match=r"DeepSpeech2 on a tensor .*expected \(N, T, 12\)"):
        DeepSpeech2(**SMALL)(fp.randn(2, 30, 13))


def test_a_row_convolution_looks_ahead_and_not_beyond_the_end():
    layer, x = nn.RowConv(2, 2), batch(2)
    y, w = layer(x, LENGTHS), layer.weight.array
    for b, n in enumerate(LENGTHS.tolist()):
        for t in range(n):
            expected = sum(w[:, j] * x.array[t + j, b] for j in range(3) if t + j < n)
            np.testing.assert_allclose(y.array[t, b], expected, rtol=1e-5, atol=1e-6)
    assert not y.array[np.arange(5)[:, None] >= LENGTHS].any()
    again, _ = pad_packed_sequence(layer(packed(x)))
    np.testing.assert_array_equal(again.array, y.array)
    assert repr(layer) == "RowConv(2, context=2)"


def test_gradients_of_both_are_the_slopes():
    with fp.precision("float64"):
        x, norm, conv = batch(3), nn.SequenceBatchNorm(3), nn.RowConv(3, 2)
        x = fp.tensor(np.where(np.abs(x.array) > 100, 0.0, x.array), requires_grad=True)
        w = fp.randn(3, 3, requires_grad=True)
        conv(norm(x, LENGTHS), LENGTHS).sum().backward()
        assert not x.grad.array[np.arange(5)[:, None] >= LENGTHS].any()
        assert fp.gradcheck(lambda x, w: F.row_conv(norm(x, LENGTHS), w), (x, w))


SMALL = {
    "classes": 5, "features": 12, "hidden": 8, "layers": 2, "context": 2, "channels": (2, 3),
    "kernels": ((5, 5), (3, 3)), "strides": ((2, 2), (1, 2)),
}  # fmt: skip


@pytest.mark.parametrize("network, millions", [(DeepSpeech2, 115.5), (DeepSpeech2Mandarin, 215.6)])
def test_deep_speech_is_as_large_as_published(network, millions):
    found = fp.summary(network, (10, 161), precisions=["mixed"])
    assert found.parameters / 1e6 == pytest.approx(millions, abs=0.05)
    if network is DeepSpeech2:
        convs = 5 * (81 * 32 * 451 + 41 * 32 * 32 * 231)
        grus = 5 * 3 * 2560 * (1312 + 5 * 2560)
        rest = 5 * (2560 * 81 + 2560 * 2560 + 2560 * 29)
        assert found.multiply_adds == convs + grus + rest


@pytest.mark.parametrize("bidirectional", [False, True])
def test_an_utterance_is_understood_alike_alone_and_in_a_batch(bidirectional):
    model = DeepSpeech2(**SMALL, bidirectional=bidirectional).eval()
    x, lengths = np.random.default_rng(0).normal(size=(3, 21, 12)), np.array([21, 9, 14])
    y, steps = model(fp.tensor(x), fp.tensor(lengths))
    np.testing.assert_array_equal(steps.array, [11, 5, 7])
    assert y.shape == (11, 3, 5)
    for n, count in enumerate(lengths.tolist()):
        alone, _ = model(fp.tensor(x[n : n + 1, :count]))
        np.testing.assert_allclose(y.array[: len(alone), n], alone.array[:, 0], atol=1e-5)
        assert not y.array[len(alone) :, n].any()
    assert (model.row_conv is None) == bidirectional


def test_padding_does_not_count_in_training():
    """Neither in logits nor in gradients nor in running statistics, though the first convolution
    reaches behind an utterance's end."""
    outcomes = []
    for filler in (0.0, 7.0):
        fp.manual_seed(0)
        model, x = DeepSpeech2(**SMALL), np.random.default_rng(0).normal(size=(2, 21, 12))
        x[1, 12:] = filler
        y, steps = model(fp.tensor(x), [21, 12])
        targets = np.array([[1, 2, 3], [4, 1, 0]])
        F.ctc_loss(F.log_softmax(y, -1), targets, steps, [3, 2]).backward()
        held = [p.grad.array for p in model.parameters()] + [b.array for b in model.buffers()]
        outcomes.append([y.array, *held])
    for zero, seven in zip(*outcomes):
        np.testing.assert_array_equal(zero, seven)


@pytest.mark.parametrize("precision", ["float32", "mixed"])
def test_a_small_one_learns_an_utterance(precision):
    with fp.precision(precision):
        fp.manual_seed(0)
        model = DeepSpeech2(**SMALL)
        optimizer = fp.MixedOptimizer(optim.Adam(model.parameters(), lr=1e-2))
        x, lengths = fp.randn(2, 30, 12), [30, 24]
        targets, losses = np.array([[1, 2, 3], [4, 1, 0]]), []
        for _ in range(30):
            y, steps = model(x, lengths)
            loss = F.ctc_loss(F.log_softmax(y, -1, dtype="float32"), targets, steps, [3, 2])
            optimizer.minimize(loss)
            losses.append(loss.item())
        assert losses[-1] < 0.5 * losses[0]
