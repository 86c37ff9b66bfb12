"""What the gallery trains beside classifiers: detectors, networks of sequences, a GAN.

SSD300 is whole; all others are as small as `minifp gallery` trains them. What a batch is, and what
the loss is, each library says in ours_tasks.py and theirs_tasks.py.
"""

import numpy as np

from .model import ADAM, Model

CODES = 2000  # of each language
WORDS = 12_000  # about as many of Shakespeare's occur twice
NOISE, REAL = 32, 0.9  # numbers of a sample; what is to be said of real pictures
ADAGRAD = "Adagrad", {"lr": 0.2, "initial_accumulator_value": 0.1}
SPEECH = {
    "features": 40, "hidden": 128, "context": 5, "channels": (16, 16),
    "kernels": ((11, 11), (7, 7)), "strides": ((2, 2), (2, 2)),
}  # fmt: skip
REGIONS = {"pool": "align", "stem": "smaller", "width": 1 / 8, "dropout": 0.0}


def scenes(random, shape):
    """Pictures (N, C, H, W) from 0 to 1, and of each up to six boxes (K, 4) and their classes."""
    n, _, height, width = shape
    objects = []
    for _ in range(n):
        count = random.integers(1, 7)
        sides = random.uniform(0.15, 0.4, (count, 2)) * [width, height]
        corner = random.uniform(0, 1, (count, 2)) * ([width, height] - sides)
        boxes = np.concatenate([corner, corner + sides], 1).astype(np.float32)
        objects.append((boxes, random.integers(1, 4, count)))
    return random.random(shape, np.float32), objects


def utterances(random, shape):
    """Features (N, T, F), how many frames of each there are, and 3 to 5 digits, padded with 0."""
    n, steps, _ = shape
    lengths = random.integers(steps // 2, steps + 1, n)
    labels = random.integers(1, 11, (n, 5)) * (np.arange(5) < random.integers(3, 6, (n, 1)))
    return random.normal(0, 1, shape).astype(np.float32), lengths, labels


def sentences(random, shape):
    """Codes (B, S), how many of each there are, codes (B, T) of a translation, and the next."""
    lengths = random.integers(shape[1] - 3, shape[1] + 1, shape[0])
    source, target = (random.integers(3, CODES, (shape[0], n)) for n in (shape[1], shape[1] + 1))
    return source, lengths, target[:, :-1], target[:, 1:]


def words(random, shape):
    """Codes (B, T), those of small numbers as often as words are, and the next."""
    u = random.random((shape[0], shape[1] + 1))
    codes = np.minimum(np.exp(u * np.log(WORDS + 1)).astype(np.int64) - 1, WORDS - 1)
    return codes[:, :-1], codes[:, 1:]


def pictures_and_noise(random, shape):
    """Pictures (N, C, H, W) from -1 to 1, and what others are made of, (N, NOISE)."""
    return tuple(
        random.uniform(-1, 1, size).astype(np.float32) for size in (shape, (shape[0], NOISE))
    )


DETECTORS = [
    Model(
        *("ssd300", "SSD300, 300x300, batch 2", "SSD300", (21,), (2, 3, 300, 300), ADAM),
        task="detection", draw=scenes,
    ),
    Model(
        *("faster-rcnn", "Faster R-CNN, width 1/8, 120x160, batch 4", "FasterRCNN"),
        *((4,), (4, 3, 120, 160), ADAM),
        keywords=REGIONS, drops=True, task="detection", draw=scenes,
    ),
]  # fmt: skip
SEQUENCES = [
    Model(
        *("deepspeech2", "Deep Speech 2, 3 GRU layers of 128, 260 frames, batch 16", "DeepSpeech2"),
        *((11,), (16, 260, 40), ADAM),
        keywords={**SPEECH, "dropout": 0.1}, drops=True, task="speech", draw=utterances,
        tiny={"keywords": {**SPEECH, "hidden": 8}, "shape": (3, 60, 40)},
    ),
    Model(
        *("seq2seq", "Seq2Seq, 2 layers of 256, 15 codes, batch 32", "Seq2Seq"),
        *((CODES, CODES, 256, 2), (32, 15), ADAM),
        keywords={"dropout": 0.2}, drops=True, task="translation", draw=sentences,
        tiny={"arguments": (CODES, CODES, 8, 2), "keywords": {}, "shape": (3, 6)},
    ),
    Model(
        *("biglstm", f"BigLSTM, 512 projected to 128, {WORDS:,} words, T 20, B 32", "BigLSTM"),
        *((WORDS, 512, 128, 1), (32, 20), ADAGRAD),
        keywords={"samples": 512}, drops=True, task="language", draw=words,
        tiny={"arguments": (WORDS, 8, 6, 1), "keywords": {"samples": 9}, "shape": (3, 5)},
    ),
    Model(
        *("dcgan", "DCGAN, 16x16, width 1/8, batch 64", "DCGAN", (16,), (64, 1, 16, 16), ADAM),
        keywords={"channels": 1, "noise": NOISE, "width": 1 / 8},
        task="adversarial", draw=pictures_and_noise,
        tiny={"arguments": (8,), "shape": (3, 1, 8, 8)},
    ),
]  # fmt: skip
GROUPS = {
    "detectors": [m.name for m in DETECTORS],
    "sequences": [m.name for m in SEQUENCES],
}
