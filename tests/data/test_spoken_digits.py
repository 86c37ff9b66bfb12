"""WAV files, the spoken digits where they are found, and strings of them."""

import hashlib
import io
import zipfile

import numpy as np
import pytest
import recordings
from recordings import RATE, SPEAKERS, as_wav, tone
from refusals import refuses

from minifp import data
from minifp.data import downloads, fsdd
from minifp.data.whereabouts import whereabouts
from minifp.errors import ArgumentError, DataError


@pytest.mark.parametrize(("width", "content", "expected"), [
    (1, bytes([128, 0, 255, 192]), [0, -1, 127 / 128, 0.5]),
    (2, np.array([0, -(2**15), 2**15 - 1, 1], "<i2").tobytes(), [0, -1, 1 - 2**-15, 2**-15]),
    (3, bytes([0, 0, 128, 1, 0, 0, 255, 255, 255]), [-1, 2**-23, -(2**-23)]),
    (4, np.array([-(2**31), 2**30, 3], "<i4").tobytes(), [-1, 0.5, 3 * 2**-31]),
])  # fmt: skip
def test_samples_are_divided_by_what_their_bits_can_hold(tmp_path, width, content, expected):
    (tmp_path / "a.wav").write_bytes(as_wav(content, width=width))
    for file in (tmp_path / "a.wav", str(tmp_path / "a.wav"), as_wav(content, width=width)):
        samples, rate = data.read_wav(file)
        np.testing.assert_array_equal(samples, np.array([expected], np.float32))
        assert (samples.dtype, rate) == (np.float32, RATE)


@pytest.mark.parametrize(
    "content",
    [b"", b"RIFF", as_wav(tone(1, "anna", 0))[:60], as_wav(b"\0" * 8, width=4)[:20] + b"\3"],
)
def test_what_is_no_wav_file_of_plain_samples_is_refused(tmp_path, content):
    refuses(DataError, "the WAV file .*[dD]ownload it again", data.read_wav, content)
    refuses(DataError, r"nowhere\.wav cannot be read", data.read_wav, tmp_path / "nowhere.wav")


def check(parts, indices=((5, 6), (0, 4))):
    for part, tested in zip(parts, indices):
        assert len(part) == 10 * len(SPEAKERS) * len(tested)
        rows = [(d, s, i) for d in range(10) for s in SPEAKERS for i in tested]
        for k, (digit, speaker, index) in enumerate(rows):
            samples, label = part[k]
            np.testing.assert_array_equal(samples, tone(digit, speaker, index) / np.float32(2**15))
            assert (samples.dtype, label, part.speakers[k]) == (np.float32, digit, speaker)
        assert part.rate == RATE and part.classes == [*"0123456789"]


@pytest.mark.parametrize("inside", ["", "fsdd", "recordings", "fsdd/recordings"])
def test_files_are_found_in_a_folder_or_its_own_inside_it(tmp_path, monkeypatch, inside):
    folder = recordings.write_folder(tmp_path / inside)
    (folder / "notes_of_mine.wav").write_bytes(b"something else")
    monkeypatch.setenv("MINIFP_DATA", str(tmp_path))
    check(data.spoken_digits())
    assert whereabouts("fsdd") == f"in {folder}"


def test_an_archive_is_read_as_it_lies_and_a_damaged_one_is_refused(tmp_path, monkeypatch):
    recordings.write_archive(tmp_path / "fsdd" / "recordings.tar.xz")
    monkeypatch.setenv("MINIFP_DATA", str(tmp_path))
    check(data.spoken_digits())
    assert [path.name for path in tmp_path.rglob("*")] == ["fsdd", "recordings.tar.xz"]
    path = recordings.write_archive(tmp_path / "recordings.tar.xz")
    path.write_bytes(path.read_bytes()[:200])
    monkeypatch.setenv("MINIFP_DATA", str(tmp_path))
    refuses(DataError, "recordings.tar.xz cannot be read: .*Get it again", data.spoken_digits)


def test_all_of_one_speaker_may_be_held_out(tmp_path, monkeypatch):
    monkeypatch.setenv("MINIFP_DATA", str(recordings.write_folder(tmp_path)))
    train, test = data.spoken_digits(held_out="bert")
    assert {*train.speakers} == {"anna"} and {*test.speakers} == {"bert"}
    assert len(train) == len(test) == 40 and "bert apart" in train.name
    refuses(ArgumentError, "held_out='carl': expected one of", data.spoken_digits, held_out="carl")
    refuses(
        ArgumentError,
        r"spoken_digits\('bert'\): expected only held_out",
        data.spoken_digits,
        "bert",
    )


@pytest.mark.parametrize(("held", "message"), [
    ({}, "it holds no file called as"),
    ({"0_anna_5.wav": b"RIFF"}, "0_anna_5.wav: the WAV file cannot be read"),
    ({"0_anna_5.wav": as_wav(b"\0" * 8, 16000)}, "16000 a second: expected one channel, 8000"),
    ({"0_anna_0.wav": as_wav(tone(0, "anna", 0))}, "no recording to train with"),
    ({"0_anna_0.wav": b"\0" * (2**20 + 1)}, "expected at most 1048576"),
])  # fmt: skip
def test_an_archive_of_anything_else_is_refused(tmp_path, monkeypatch, held, message):
    recordings.write_archive(tmp_path / "recordings.tar.xz", held)
    monkeypatch.setenv("MINIFP_DATA", str(tmp_path))
    refuses(DataError, f"spoken_digits: .*{message}", data.spoken_digits)


def release(held):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("free-spoken-digit-dataset-1.0.10/README.md", "about")
        for name, content in held.items():
            archive.writestr(f"free-spoken-digit-dataset-1.0.10/recordings/{name}", content)
    return file.getvalue()


def test_else_the_release_is_downloaded_and_its_recordings_are_checked(tmp_path, monkeypatch):
    held, asked = recordings.files(), []

    def download(dataset, name, checksum, mirrors, instead):
        asked.append((dataset, name, mirrors, instead))
        (tmp_path / name).write_bytes(release(held))
        return tmp_path / name

    monkeypatch.delenv("MINIFP_DATA", raising=False)
    monkeypatch.setattr(downloads, "archive", download)
    content = b"".join(held[name] for name in sorted(held))
    monkeypatch.setattr(fsdd, "CONTENT", hashlib.sha256(content).hexdigest())
    check(data.spoken_digits())
    assert asked[0][:2] == ("fsdd", "v1.0.10.zip") and asked[0][2][0].startswith("https://github")
    held["0_anna_0.wav"] = held["1_anna_0.wav"]
    refuses(DataError, r"other recordings than release 1\.0\.10: remove it", data.spoken_digits)


@pytest.fixture
def parts(tmp_path, monkeypatch):
    monkeypatch.setenv("MINIFP_DATA", str(recordings.write_folder(tmp_path)))
    return data.spoken_digits()


def pieces(samples):
    """What is between the silences of at least 0.05 seconds: a tone is never 0 for so long."""
    loud = np.flatnonzero(samples)
    ends = np.flatnonzero(np.diff(loud) > 0.04 * RATE)
    return np.concatenate([[loud[0]], loud[ends + 1]]), np.concatenate([loud[ends], [loud[-1]]])


def test_a_string_is_recordings_of_one_speaker_with_silence_between(parts):
    train, _ = parts
    strings = data.digit_strings(train, 200, seed=3)
    counts, pauses = [], []
    for (samples, labels), speaker in zip((strings[i] for i in range(200)), strings.speakers):
        firsts, lasts = pieces(samples)
        pauses += (firsts[1:] - lasts[:-1]).tolist()
        counts.append(len(labels))
        assert len(firsts) == len(labels)
        for first, last, label in zip(firsts, lasts, labels.tolist()):
            known = [tone(label - 1, speaker, index) for index in (5, 6)]
            heard = samples[first : last + 1] * 2**15
            assert any(np.array_equal(heard, np.trim_zeros(t.astype(np.float32))) for t in known)
    assert {*counts} == {3, 4, 5} and {*strings.speakers} == {*SPEAKERS}
    assert 0.05 * RATE <= min(pauses) < 0.06 * RATE and 0.19 * RATE < max(pauses) <= 0.2 * RATE + 3
    assert strings.text(strings.labels[0]) == "".join(str(c - 1) for c in strings.labels[0])


def test_a_string_depends_on_its_seed_its_recordings_and_its_index_alone(parts):
    few, many = (data.digit_strings(parts[0], n, seed=1) for n in (5, 40))
    for i in range(5):
        np.testing.assert_array_equal(few.inputs[i], many.inputs[i])
    for other in (
        data.digit_strings(parts[0], 40, seed=2),
        data.digit_strings(parts[1], 40, seed=1),
    ):
        assert sum([np.array_equal(a, b) for a, b in zip(many.labels, other.labels)]) < 5
    train, test = data.spoken_digit_strings(3, 2, seed=1, held_out="bert")
    assert (len(train), len(test)) == (3, 2) and {*test.speakers} == {"bert"}


@pytest.mark.parametrize(("settings", "message"), [
    ({"count": 0}, "count=0"), ({"length": (5, 3)}, "length=.5, 3.: expected the least first"),
    ({"length": 3}, "length=3: expected a pair"), ({"length": (0, 3)}, "length=0"),
    ({"silence": (-0.1, 0.2)}, "silence=-0.1"),
])  # fmt: skip
def test_strings_that_cannot_be_are_refused(parts, settings, message):
    with pytest.raises(ArgumentError, match=f"digit_strings: {message}"):
        data.digit_strings(parts[0], **{"count": 2, **settings})


def test_recordings_that_lack_something_are_refused(parts):
    train, _ = parts
    some = train.take([i for i in range(len(train)) if train.labels[i] != 7])
    refuses(ArgumentError, "no recording of 7 by anna", data.digit_strings, some, 2)
    for others in (
        data.Utterances(train.inputs, train.labels, rate=RATE),
        data.Utterances(train.inputs, train.labels, speakers=train.speakers),
        data.digit_strings(train, 3),
        "digits",
    ):
        refuses(ArgumentError, "digit_strings: recordings=", data.digit_strings, others, 2)
    wrong = data.Utterances([np.ones(3)], [11], rate=RATE, speakers=["anna"])
    refuses(ArgumentError, "recording 0 has label 11: expected a", data.digit_strings, wrong, 2)
