"""Utterances of different lengths, their spectrograms beside PyTorch's, and SpecAugment."""

import numpy as np
import pytest
from refusals import each_refused, refuses

import minifp as fp
from minifp import data
from minifp.data import transforms
from minifp.data.transforms import Draws, LogMelSpectrogram, LogSpectrogram, SpecAugment

RANDOM = np.random.default_rng(0)
INPUTS = [RANDOM.normal(size=(n, 2)).astype("float32") for n in (3, 5, 1)]
LABELS = [[1, 2], [3], [2, 2, 1]]


def utterances(**more):
    return data.Utterances(INPUTS, LABELS, alphabet="abc", speakers=["x", "y", "z"], **more)


def test_a_batch_is_padded_and_has_its_lengths_and_classes_are_not_padded():
    held = utterances(name="u")
    x, lengths, labels = held[np.array([2, 0])]
    assert (x.shape, x.dtype, lengths.dtype, labels.dtype) == ((2, 3, 2), "f4", "i8", "i8")
    np.testing.assert_array_equal(lengths, [1, 3])
    np.testing.assert_array_equal(labels, [[2, 2, 1], [1, 2, 0]])
    np.testing.assert_array_equal(x[1], INPUTS[0])
    np.testing.assert_array_equal(x[0, :1], INPUTS[2])
    assert not x[0, 1:].any()
    item = held[1]
    np.testing.assert_array_equal(item[0], INPUTS[1])
    np.testing.assert_array_equal(item[1], [3])
    assert held.text(labels[0]) == "bba" and held.text([1, 0, 3]) == "ac"
    assert repr(held) == "Utterances(3 of [T, 2], name='u')" and len(held[:2][1]) == 2
    held = data.Utterances([x[:, 0] for x in INPUTS], [7, 0, 9])
    x, lengths, labels = held[np.arange(3)]
    assert x.shape == (3, 5) and labels.tolist() == [7, 0, 9]
    held = utterances()
    np.testing.assert_array_equal(held.map(lambda x: 2 * x).inputs[1], 2 * INPUTS[1])
    some = held.take([2, 0], "some")
    assert some.speakers == ["z", "x"] and some.name == "some" and some.alphabet == "abc"
    np.testing.assert_array_equal(some.labels[0], LABELS[2])
    assert held.fingerprint() == utterances().fingerprint() != some.fingerprint()


def test_a_loader_gives_the_same_by_array_and_by_item():
    held = utterances()
    by_array = data.DataLoader(held, 2, shuffle=True, seed=1)
    by_item = data.DataLoader(held, 2, shuffle=True, seed=1, collate_fn=data.collate_utterances)
    for ours, theirs in zip(by_array, by_item):
        for a, b in zip(ours, theirs):
            np.testing.assert_array_equal(a.array, b.array)


@pytest.mark.parametrize(("inputs", "labels", "error", "message"), [
    ([np.array([1, 2])], [1], fp.DTypeError, "input 0 is of int64"),
    ([np.ones(2), np.ones((2, 1))], [1, 1], fp.ShapeError, r"input 1 of shape \(2, 1\)"),
    ([np.ones(0)], [1], fp.ShapeError, r"input 0 of shape \(0,\): .* at least 1"),
    (INPUTS, [1, 2], fp.ShapeError, "2 labels for 3 inputs"),
    (INPUTS, [[1], [2], [0.5]], fp.DTypeError, "labels 2 are of float64"),
    (INPUTS, [[1], [2], 3], fp.ShapeError, r"labels 2 of shape \(\)"),
    (INPUTS, [[1], [0], [3]], fp.ArgumentError, r"labels 1 are \[0\]: expected labels from 1"),
])  # fmt: skip
def test_what_are_no_utterances_is_refused(inputs, labels, error, message):
    refuses(error, f"Utterances: {message}", data.Utterances, inputs, labels)


def test_labels_without_a_character_are_refused():
    with pytest.raises(fp.ArgumentError, match=r"labels 1 are \[3\]: expected labels from 1 to 2"):
        data.Utterances(INPUTS, LABELS, alphabet="ab")
    refuses(fp.ArgumentError, "the label 4 has no character", utterances().text, [4])
    refuses(fp.ArgumentError, "needs an alphabet", data.Utterances(INPUTS, LABELS).text, [1])
    refuses(fp.DataError, "no items", data.collate_utterances, [])
    with pytest.raises(fp.DataError, match="inputs of .* in one batch"):
        data.collate_utterances([(np.ones(3), 1), (np.ones((3, 2)), 1)])


@pytest.mark.filterwarnings("ignore:A window was not provided")
@pytest.mark.parametrize(("n_fft", "how"), [
    (64, {}), (64, {"hop_length": 7, "win_length": 50}),
    (33, {"hop_length": 5, "win_length": 20, "normalized": True}),
    (64, {"center": False, "win_length": 64}), (32, {"pad_mode": "constant", "win_length": 31}),
])  # fmt: skip
def test_the_fourier_transform_is_pytorchs(torch, n_fft, how):
    x = RANDOM.normal(size=(2, 3, 200))
    window = None if "win_length" not in how else transforms.hann_window(how["win_length"])
    y = transforms.stft(x, n_fft, window=window, **how)
    w = None if window is None else torch.hann_window(how["win_length"], dtype=torch.float64)
    rows = torch.tensor(x).reshape(6, 200)
    theirs = torch.stft(rows, n_fft, window=w, return_complex=True, **how)
    theirs = theirs.reshape(2, 3, *theirs.shape[1:]).numpy()
    assert y.shape == theirs.shape and y.dtype == np.complex128
    np.testing.assert_allclose(y, theirs, atol=1e-12 * np.abs(theirs).max())
    single = transforms.stft(x.astype("float32"), n_fft, window=window, **how)
    assert single.dtype == np.complex64


def test_a_tone_is_strongest_in_its_own_band():
    for hertz in (500, 1000, 2500):
        x = np.sin(2 * np.pi * hertz * np.arange(4000) / 8000)
        lines = LogSpectrogram(256, win_length=200, hop_length=80).features(x)
        assert lines.shape == (51, 129) and lines.dtype == np.float32
        assert (np.abs(lines[5:-5].argmax(1) * 8000 / 256 - hertz) <= 8000 / 512).all()
        mel = LogMelSpectrogram(8000, 256, n_mels=20, hop_length=80, win_length=200)
        centres = np.linspace(0, transforms.spectrogram.mel_of(4000, "htk"), 22)[1:-1]
        nearest = np.abs(centres - transforms.spectrogram.mel_of(hertz, "htk")).argmin()
        assert (np.abs(mel.features(x)[5:-5].argmax(1) - nearest) <= 1).all()


def test_features_are_the_logarithm_of_the_power_under_filters_that_hold_something():
    x = RANDOM.normal(size=700).astype("float32")
    mel = LogMelSpectrogram(8000, 128, n_mels=10, f_min=100, f_max=3000, offset=1e-3)
    window = transforms.hann_window(128)
    power = np.abs(transforms.stft(x.astype("float64"), 128, 64, window=window)) ** 2
    expected = np.log(power.T @ transforms.mel_filters(65, 100, 3000, 10, 8000) + 1e-3)
    np.testing.assert_allclose(mel.features(x), expected, rtol=1e-6, atol=1e-6)
    flat = LogMelSpectrogram(8000, 128, n_mels=10, normalize=True).features(x)
    assert abs(flat.mean()) < 1e-6 and abs(flat.std() - 1) < 1e-6
    # Also those of the defaults, which are torchaudio's.
    with pytest.warns(fp.MisuseWarning, match="of 128 filters, .* contain none of the 201"):
        transform = LogMelSpectrogram()
    assert np.isfinite(transform.features(np.ones(800, np.float32))).all()


@pytest.mark.parametrize("scale", ["htk", "slaney"])
def test_mel_filters_are_triangles_that_meet_at_their_neighbours(scale):
    """The scales are each other's inverse; of Slaney's norm all have one area."""
    hertz = np.array([0.0, 300.0, 1000.0, 3999.0])
    spectrogram = transforms.spectrogram
    back = spectrogram.hertz_of(spectrogram.mel_of(hertz, scale), scale)
    np.testing.assert_allclose(back, hertz, atol=1e-9)
    assert spectrogram.mel_of(1000, "htk") == pytest.approx(1000, abs=0.1)
    assert spectrogram.mel_of(1000, "slaney") == pytest.approx(15)
    filters = transforms.mel_filters(4001, 0, 4000, 12, 8000, mel_scale=scale)
    inner = slice(int(filters[:, 0].argmax()) + 1, int(filters[:, -1].argmax()))
    np.testing.assert_allclose(filters[inner].sum(1), 1, atol=1e-12)
    areas = transforms.mel_filters(4001, 0, 4000, 12, 8000, "slaney", scale).sum(0)
    np.testing.assert_allclose(areas, 1, rtol=1e-2)  # sums of lines 1 hertz apart


def test_in_a_loader_each_sound_is_as_if_alone():
    sounds = data.Utterances([RANDOM.normal(size=n).astype("f4") for n in (300, 500)], [0, 1])
    mel = LogMelSpectrogram(8000, 64, n_mels=5)
    x, lengths, labels = next(iter(data.DataLoader(sounds, 2, transform=mel)))
    assert x.shape == (2, 16, 5) and lengths.array.tolist() == [10, 16]
    alone = sounds.map(mel.features)
    for i, n in enumerate(lengths.array.tolist()):
        np.testing.assert_array_equal(x.array[i, :n], alone.inputs[i])
    assert not x.array[0, 10:].any() and labels.array.tolist() == [0, 1]


test_settings_and_sounds_that_cannot_be_are_refused = each_refused(
    (lambda: transforms.stft(np.ones(9), 0), fp.ArgumentError, "stft: n_fft=0"),
    (lambda: transforms.stft(np.ones(9), 4, 0), fp.ArgumentError, "stft: hop_length=0"),
    (lambda: transforms.stft(np.ones(9), 4, 1, 5), fp.ArgumentError, "win_length=5: expected at"),
    (lambda: transforms.stft(np.ones(9), 4, window=np.ones(3)), fp.ShapeError, "window of shape"),
    (lambda: transforms.stft(np.ones(9), 4, pad_mode="edge"), fp.ArgumentError, "pad_mode='edge'"),
    (lambda: transforms.stft(np.ones(2), 4), fp.ShapeError, "2 samples: expected at least 3"),
    (lambda: transforms.stft([1, 2, 3], 2), fp.DTypeError, "stft: input is int64"),
    (lambda: LogSpectrogram(64, power=0), fp.ArgumentError, "LogSpectrogram: power=0"),
    (lambda: LogSpectrogram(64).features(np.ones((2, 9))), fp.DTypeError, "expected floats .T."),
    (lambda: LogSpectrogram(64).features(np.ones(9)), fp.ShapeError, "LogSpectrogram: 9 samples"),
    (lambda: LogMelSpectrogram(8000, n_mels=9, f_max=5000), fp.ArgumentError, "f_max=5000"),
    (lambda: LogMelSpectrogram(8000, n_mels=9, norm="l2"), fp.ArgumentError, "norm='l2'"),
    (lambda: LogMelSpectrogram(8000, n_mels=9, f_min=90, f_max=90), fp.ArgumentError, "f_max=90"),
)
N, T, F = 400, 60, 20
LONG = np.where(np.arange(N) % 2, T, 40)


def masked(**how):
    x = np.ones((N, T, F), np.float32)
    x[np.arange(T) >= LONG[:, None]] = 5
    (y, lengths, rest) = SpecAugment(**how)((x, LONG, "rest"), np.arange(N), Draws(0, 0, N))
    assert lengths is LONG and rest == "rest" and (y[np.arange(T) >= LONG[:, None]] == 5).all()
    return y == 0


def test_masks_are_stripes_of_every_size_inside_each_utterance():
    hidden = masked(freq_mask=6, time_masks=0)
    bands = hidden[:, 0]
    np.testing.assert_array_equal(hidden[:, :40], np.repeat(bands[:, None], 40, 1))
    assert {*bands.sum(1).tolist()} == {*range(7)} and bands.any(0).all()
    assert (np.abs(np.diff(bands, axis=1)).sum(1) <= 2).all()  # one stripe
    hidden = masked(freq_masks=0, time_mask=15, time_share=0.25)
    frames = hidden[:, :, 0]
    assert {*frames.sum(1)[LONG == T].tolist()} == {*range(16)}
    assert {*frames.sum(1)[LONG == 40].tolist()} == {*range(11)}
    assert frames[:, 0].any() and frames[LONG == T, -1].any()
    assert masked(freq_mask=6, freq_masks=3, time_masks=2)[:, 0].sum(1).max() > 6


def test_what_is_drawn_depends_on_the_item_alone_and_other_settings_are_refused():
    x = np.ones((3, T, F), np.float32)
    augment, draws = SpecAugment(time_warp=5), Draws(1, 2, 50)
    whole, *_ = augment((x, np.full(3, T)), np.array([7, 9, 11]), draws)
    part, *_ = augment((x[:1], np.full(1, T)), np.array([9]), draws)
    np.testing.assert_array_equal(whole[1], part[0])
    for settings in ({"freq_mask": -1}, {"time_share": 2.0}, {"time_warp": 0.5}):
        refuses(fp.ArgumentError, f"SpecAugment: {next(iter(settings))}=", SpecAugment, **settings)
    with pytest.raises(fp.DTypeError, match="put LogMelSpectrogram before it"):
        SpecAugment()((np.ones((2, 30)), np.array([30, 30])), np.arange(2), Draws(0, 0, 2))
    assert fp.data.transforms.SpecAugment is SpecAugment


def test_time_is_warped_inside_and_its_ends_stay():
    ramp = np.broadcast_to(np.arange(T, dtype=np.float32)[:, None], (N, T, F)).copy()
    augment = SpecAugment(freq_masks=0, time_masks=0, time_warp=8)
    y, *_ = augment((ramp, LONG), np.arange(N), Draws(0, 0, N))
    moved = np.abs(y - ramp).max((1, 2))
    assert 6 < moved.max() <= 8 and moved.min() < 1
    for i, n in enumerate(LONG.tolist()):
        assert y[i, 0, 0] == 0 and y[i, n - 1, 0] == pytest.approx(n - 1, abs=1e-4)
        assert (np.diff(y[i, :n, 0]) > 0).all()
        np.testing.assert_array_equal(y[i, n:], ramp[i, n:])
    short, *_ = augment((ramp[:1, :2], np.array([2])), np.array([0]), Draws(0, 0, 1))
    np.testing.assert_array_equal(short, ramp[:1, :2])
