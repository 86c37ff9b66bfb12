"""Speech recognition of Micikevicius et al. 2018 (arXiv:1710.03740), table 3, on spoken digits.

There Deep Speech 2 learned English of 6,000 hours and Mandarin of 2,600 in "pseudo float16" without
loss scaling, with error rates 5 to 10% better than in float32, of which the authors guess that half
precision regularises. Here a network of the same layers reads strings of 3 to 5 digits of six
speakers. (There are no Mandarin recordings at hand, so of that nothing is claimed.)
"""

import math
from functools import partial
from typing import Any

import numpy as np

from minifp import Metric, Task, data, optim
from minifp.data import DataLoader
from minifp.data.transforms import LogMelSpectrogram, SpecAugment
from minifp.lab import Exhibit, Published, ablation_exhibit, character_error_rate, error_rate
from minifp.lab.schedules import cosine
from minifp.models import DeepSpeech2
from minifp.nn import functional as F

WHERE = "Micikevicius et al. 2018, table 3"
WHAT = "character error rate on WSJ '92, %"
CLAIM = "mixed precision without loss scaling errs 5 to 10% less often than float32"
ARMS = ("mixed,loss_scale=1", "mixed")
CONTROLS = ("float32@order", "float32@ulp")
SEARCHED = (
    "Adam's rate among 0.001, 0.002 and 0.003, batches of 16 and 32, with and without SpecAugment, "
    "for 1,000 to 3,000 strings, in float32 with one seed. With 3,000 strings of known speakers no "
    "digit of 1,200 was wrong, and nothing could have been compared: they are 1,000, as many as "
    "make about 2% errors. The margin is a ratio of 5%, half of the claimed gain at most"
)
MARGIN = 5.0  # percent of float32's error rate
SPEAKERS = ("george", "jackson", "lucas", "nicolas", "theo", "yweweler")
SEEDS = {"quick": 3, "evening": 8, "full": 20}
FEW = {"evening": 3, "full": 5}  # seeds of what is trained besides
# By scale: strings to train with and to test on, and epochs.
KNOWN = {"quick": (1_000, 300, 6), "evening": (1_000, 2_000, 6), "full": (1_000, 2_000, 8)}
NEW = {"quick": (1_000, 300, 6), "evening": (3_000, 1_000, 6), "full": (8_000, 2_000, 12)}
DIGITS = "0123456789"  # label k + 1 is the digit k: 0 is the blank
FEATURES = 40
SIZES = {
    "features": FEATURES,
    "hidden": 128,
    "context": 5,
    "channels": (16, 16),
    "kernels": ((11, 11), (7, 7)),
    "strides": ((2, 2), (2, 2)),
    "dropout": 0.1,
}
BATCH = 50  # utterances that are evaluated together
METRICS = ("CER", "string error rate")  # what `recognised` returns


def strings(train: int, test: int, held_out: str | None = None):
    """So many strings of digits as features: frames of 25 ms every 10 ms, 40 bands."""
    mel = LogMelSpectrogram(
        8000, 256, win_length=200, hop_length=80, n_mels=FEATURES, normalize=True
    )
    parts = data.spoken_digit_strings(train, test, held_out=held_out)
    return tuple(part.map(mel.features) for part in parts)


def network() -> DeepSpeech2:
    """Deep Speech 2 at laptop size; class 0 is the blank, k + 1 the digit k."""
    return DeepSpeech2(len(DIGITS) + 1, **SIZES)


def ctc(outputs, labels):
    """The loss of (logits, lengths), in nats for each digit; labels are padded with the blank."""
    logits, steps = outputs
    log_probs = F.log_softmax(logits, -1, dtype="float32")
    return F.ctc_loss(log_probs, labels, steps, (labels.numpy() > 0).sum(1))


def text_of(labels) -> str:
    """The digits that labels mean, without blanks."""
    return "".join(DIGITS[label - 1] for label in labels if label)


def recognised(state, test_set) -> dict[str, Any]:
    """Error rates on the test set, and the mean loss. All NaN where a score is.

    CER: of digits; string error rate: the share of strings with an error. Without the intervals of
    error_rates.py: those are of utterances that have nothing in common, and these strings are made
    of the same 300 recordings. How far runs differ, seeds say.
    """
    losses, said, meant = [], [], []
    for x, lengths, labels in DataLoader(test_set, BATCH):
        logits, steps = state.model(x, lengths)
        if not np.isfinite(logits.numpy()).all():
            return dict.fromkeys((*METRICS, "loss"), math.nan)
        losses.append((len(labels), ctc((logits, steps), labels).item()))
        log_probs = F.log_softmax(logits, -1, dtype="float32")
        said += [text_of(row) for row in F.ctc_greedy_decode(log_probs, steps).labels]
        meant += [text_of(row) for row in labels.numpy()]
    rate = character_error_rate(said, meant)
    whole = error_rate([[text] for text in said], [[text] for text in meant])
    loss = sum(n * l for n, l in losses) / len(said)
    told = dict(zip(METRICS, (rate.rate, whole.rate)))
    return {**told, "loss": loss, "recognised": "\n".join(map("{} {}".format, meant, said))}


def recogniser(scale: str, *, name: str, speaker: str | None = None) -> Task:
    """Deep Speech 2 on strings of digits, for one of the scales. speaker: who speaks those of the
    test, and none of the strings that it learns."""
    train, test, epochs = (KNOWN if speaker is None else NEW)[scale]
    others = "" if speaker is None else f" of {speaker}, who is not among those of {train:,}"
    return Task(
        name=name,
        description=f"Deep Speech 2 with 3 GRU layers of {SIZES['hidden']}, on {test:,} strings of "
        f"3 to 5 spoken digits{others}",
        model=network,
        data=partial(strings, train, test, speaker),
        loss=ctc,
        optimizer=partial(optim.Adam, lr=3e-3),
        schedule=partial(cosine, warm_up=50),
        metric=None,
        metric_name=METRICS[0],
        metric_unit="%",
        goal="min",
        margin=MARGIN,
        relative=True,
        batch_size=16,
        epochs=epochs,
        clip_norm=5.0,
        metrics=[Metric(METRICS[-1], unit="%", goal="min", margin=MARGIN, relative=True)],
        evaluate=recognised,
        transform=SpecAugment(),
    )


def exhibit(name, title, speaker=None, seeds=None, controls=()) -> Exhibit:
    """English of table 3, on one of the ways to part recordings."""
    return Exhibit(
        name=name,
        title=title,
        claim=CLAIM,
        published=Published(2.20, 1.99, WHAT, WHERE),
        task=partial(recogniser, name=name, speaker=speaker),
        arms=(*controls, *ARMS),
        seeds=SEEDS if seeds is None else seeds,
        searched=SEARCHED,
        expects="better",
    )


KNOWN_SPEAKERS = exhibit("spoken-digits", "DeepSpeech 2, known speakers", controls=CONTROLS)
EXHIBITS = (
    KNOWN_SPEAKERS,
    *(
        exhibit(f"spoken-digits-without-{who}", f"DeepSpeech 2, {who} is new", who, FEW)
        for who in SPEAKERS
    ),
    ablation_exhibit(KNOWN_SPEAKERS),
)
