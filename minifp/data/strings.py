"""Strings of spoken digits: recordings of one speaker one after the other, with silence between."""

from collections.abc import Sequence

import numpy as np

from minifp.checks import check_count, check_range
from minifp.data.fsdd import spoken_digits
from minifp.data.utterances import Utterances
from minifp.errors import ArgumentError
from minifp.runtime import random

DIGITS = "0123456789"  # label k + 1 is the digit k: 0 is the blank


def digit_strings(
    recordings: Utterances,
    count: int,
    *,
    length: Sequence[int] = (3, 5),
    silence: Sequence[float] = (0.05, 0.2),
    seed: int = 0,
) -> Utterances:
    """Return `count` strings of recordings, each of one speaker.

    recordings: sounds of the digits with their speakers, as `spoken_digits` returns them: strings
        for training are drawn from those to train with alone, strings to test on from the others.
    length: the least and the largest number of digits. silence: the least and the longest pause
        between two, in seconds, of samples that are 0.

    Speaker, length, digits, recordings and pauses are drawn independently, each equally likely, and
    depend on the seed, the name of the recordings and the string's index alone: not on how many
    strings are drawn, and those of a training and a test set are others under the same seed. The
    labels are digits + 1, and `.alphabet` has what they stand for.
    Raises ArgumentError for other numbers than these, and where a speaker lacks a digit.
    """
    check_count("digit_strings: count", count)
    least, most = ends("length", length, whole=True)
    shortest, longest = ends("silence", silence, whole=False)
    of_speaker = by_speaker_and_digit(recordings)
    draw = Draw(seed, recordings.name, (count, most))
    speakers = [*of_speaker]
    spoken, labels, names = [], [], []
    for i in range(count):
        name = speakers[draw.choice("speaker", i, 0, len(speakers))]
        digits = [
            draw.choice("digit", i, k, len(DIGITS))
            for k in range(least + draw.choice("length", i, 0, most - least + 1))
        ]
        parts = []
        for k, digit in enumerate(digits):
            known = of_speaker[name][digit]
            parts.append(recordings.inputs[known[draw.choice("recording", i, k, len(known))]])
            pause = shortest + (longest - shortest) * draw.share("silence", i, k)
            parts.append(np.zeros(round(pause * (recordings.rate or 0)), parts[-1].dtype))
        spoken.append(np.concatenate(parts[:-1]))
        labels.append(np.array(digits) + 1)
        names.append(name)
    name, rate = f"{count} strings of {recordings.name}", recordings.rate
    return Utterances(spoken, labels, name=name, alphabet=DIGITS, rate=rate, speakers=names)


def spoken_digit_strings(
    train: int, test: int, *, seed: int = 0, held_out: str | None = None
) -> tuple[Utterances, Utterances]:
    """Return so many strings of the recordings to train with, and of those to test with.

    held_out: a speaker of whom all strings to test on are, and none to train with. As
    `spoken_digits` and `digit_strings` otherwise.
    """
    parts = spoken_digits(held_out=held_out)
    return digit_strings(parts[0], train, seed=seed), digit_strings(parts[1], test, seed=seed)


class Draw:
    """The random numbers of strings: one for each purpose, string and place in it."""

    def __init__(self, seed: int, name: str, shape: tuple[int, int]) -> None:
        self.streams, self.name, self.shape = random.Streams(seed), name, shape
        self.known: dict[str, np.ndarray] = {}

    def share(self, purpose: str, i: int, k: int) -> float:
        """A number from 0 to 1."""
        if purpose not in self.known:
            whole = f"strings of {self.name}: {purpose}"
            drawn = self.streams.uniform(self.shape, purpose=whole, call=0)
            self.known[purpose] = drawn.astype(np.float64)
        return self.known[purpose][i, k]

    def choice(self, purpose: str, i: int, k: int, n: int) -> int:
        """An integer below n."""
        return int(self.share(purpose, i, k) * n)


def ends(name, pair, whole):
    """The two ends of a range. Raises ArgumentError for what is none."""
    setting = f"digit_strings: {name}={pair!r}"
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        raise ArgumentError(f"{setting}: expected a pair, the least and the largest")
    for value in pair:
        (check_count if whole else check_range)(f"digit_strings: {name}", value)
    if pair[0] > pair[1]:
        raise ArgumentError(f"{setting}: expected the least first")
    return pair


def by_speaker_and_digit(recordings):
    """{speaker: [the indices of recordings of each digit]}. Raises ArgumentError."""
    if not isinstance(recordings, Utterances) or recordings.speakers is None:
        raise ArgumentError(
            f"digit_strings: recordings={recordings!r}: expected Utterances with speakers, as "
            "spoken_digits() returns them"
        )
    if recordings.rate is None or not isinstance(recordings.labels, np.ndarray):
        raise ArgumentError(
            f"digit_strings: recordings={recordings!r}: expected sounds with their rate, and a "
            "digit for each"
        )
    places: dict = {name: [[] for _ in DIGITS] for name in sorted({*recordings.speakers})}
    for i, (name, digit) in enumerate(zip(recordings.speakers, recordings.labels.tolist())):
        if not 0 <= digit < len(DIGITS):
            raise ArgumentError(f"digit_strings: recording {i} has label {digit}: expected a digit")
        places[name][digit].append(i)
    for name, of_digits in places.items():
        missing = [digit for digit, known in zip(DIGITS, of_digits) if not known]
        if missing:
            raise ArgumentError(
                f"digit_strings: no recording of {', '.join(missing)} by {name}: expected each "
                "digit by each speaker"
            )
    return places
