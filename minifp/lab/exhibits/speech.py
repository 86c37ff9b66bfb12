"""Speech recognition of Micikevicius et al. 2018 (arXiv:1710.03740), table 3, on spoken digits.

There Deep Speech 2 learned English of 6,000 hours and Mandarin of 2,600 in "pseudo float16" without
loss scaling, with error rates 5 to 10% better than in float32, of which the authors guess that half
precision regularises. Here a network of the same layers reads strings of 3 to 5 digits of six
speakers. (There are no Mandarin recordings at hand, so of that nothing is claimed.)
"""

from typing import Any

import numpy as np

from minifp import data
from minifp.data import DataLoader
from minifp.data.strings import DIGITS
from minifp.data.transforms import LogMelSpectrogram
from minifp.data.utterances import text_of
from minifp.lab.error_rates import character_error_rate, error_rate
from minifp.models import DeepSpeech2
from minifp.nn import functional as F

WHERE = "Micikevicius et al. 2018, table 3"
WHAT = "character error rate on WSJ '92, %"
CLAIM = "mixed precision without loss scaling errs 5 to 10% less often than float32"
ARMS = ("mixed,loss_scale=1", "mixed")
CONTROLS = ("float32@order", "float32@ulp")
SEARCHED = "TO BE TOLD"
LEFT_OUT = "theo"  # the speaker of whom nothing is learned, in the exhibit that leaves one out
# By scale: strings to train with and to test on, and epochs.
LENGTHS = {"quick": (1_000, 300, 3), "evening": (4_000, 1_000, 12), "full": (8_000, 1_000, 20)}
FEATURES = 40
SIZES = {
    "features": FEATURES, "hidden": 128, "context": 5, "channels": (16, 16),
    "kernels": ((11, 11), (7, 7)), "strides": ((2, 2), (2, 2)), "dropout": 0.1,
}  # fmt: skip
BATCH = 50  # utterances that are evaluated together


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
    counts = (np.asarray(labels.numpy()) > 0).sum(1)
    return F.ctc_loss(log_probs, labels, steps, counts, zero_infinity=True)


def recognised(state, test_set) -> dict[str, Any]:
    """Error rates on the test set, with the interval of the first, and the mean loss."""
    losses, said, meant = [], [], []
    for x, lengths, labels in DataLoader(test_set, BATCH):
        logits, steps = state.model(x, lengths)
        losses.append((len(labels), ctc((logits, steps), labels).item()))
        scores = logits.numpy().astype(np.float32)
        if not np.isfinite(scores).all():
            return {"CER": float("nan"), "strings": float("nan"), "loss": float("nan")}
        said += texts(F.ctc_greedy_decode(F.log_softmax(logits, -1, dtype="float32"), steps).labels)
        meant += texts(labels.numpy())
    rate = character_error_rate(said, meant)
    whole = error_rate([[s] for s in said], [[m] for m in meant])
    loss = sum(n * l for n, l in losses) / sum(n for n, _ in losses)
    told = {"CER": rate.rate, "CER low": rate.low, "CER high": rate.high, "strings": whole.rate}
    return {**told, "loss": loss, "recognised": "\n".join(map("{} {}".format, meant, said))}


def texts(labels) -> list[str]:
    """What each row of labels says."""
    return [text_of(row, DIGITS) for row in labels]
