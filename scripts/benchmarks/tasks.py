"""What the gallery trains beside classifiers: detectors, networks of sequences, a GAN.

SSD300 is whole, all others are as small as `minifp gallery` trains them; WHOLE has them as they
were published, which is about memory. What a batch is, and what the loss is, each library says in
ours_tasks.py and theirs_tasks.py.
"""

from functools import partial

import numpy as np

from .model import ADAM, Model

CODES = 2000  # of each language
WORDS = 7_115  # of Shakespeare, that occur twice
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


def words(random, shape, most=WORDS):
    """Codes (B, T), those of small numbers as often as words are, and the next."""
    u = random.random((shape[0], shape[1] + 1))
    codes = np.minimum(np.exp(u * np.log(most + 1)).astype(np.int64) - 1, most - 1)
    return codes[:, :-1], codes[:, 1:]


def pictures_and_noise(random, shape, noise=NOISE):
    """Pictures (N, C, H, W) from -1 to 1, and what others are made of, (N, noise)."""
    return tuple(
        random.uniform(-1, 1, size).astype(np.float32) for size in (shape, (shape[0], noise))
    )


RECOGNISER = {"task": "speech", "draw": utterances}
TRANSLATOR = {"task": "translation", "draw": sentences}
LANGUAGE = {"drops": True, "task": "language"}
GAN = {"task": "adversarial"}
SMALL_SPEECH = {"arguments": (11,), "keywords": {**SPEECH, "hidden": 8}, "shape": (3, 60, 40)}
SMALL_TRANSLATION = {"arguments": (CODES, CODES, 8, 2), "keywords": {}, "shape": (3, 6)}
SMALL_LANGUAGE = {
    "arguments": (WORDS, 8, 6, 1), "keywords": {"samples": 9}, "shape": (3, 5), "draw": words,
}  # fmt: skip
SMALL_SCENES = {"stem": "smaller", "width": 1 / 16}

DETECTORS = [
    Model(
        *("ssd300", "SSD300, 300x300, batch 2", "SSD300", (21,), (2, 3, 300, 300), ADAM),
        task="detection", draw=scenes,
        tiny={"keywords": {**SMALL_SCENES, "size": (32, 40)}, "shape": (2, 3, 32, 40)},
    ),
    Model(
        *("faster-rcnn", "Faster R-CNN, width 1/8, 120x160, batch 4", "FasterRCNN"),
        *((4,), (4, 3, 120, 160), ADAM),
        keywords=REGIONS, drops=True, task="detection", draw=scenes,
        tiny={"keywords": {**REGIONS, "width": 1 / 16}, "shape": (1, 3, 64, 64)},
    ),
]  # fmt: skip
SEQUENCES = [
    Model(
        *("deepspeech2", "Deep Speech 2, 3 GRU layers of 128, 260 frames, batch 16", "DeepSpeech2"),
        *((11,), (16, 260, 40), ADAM),
        keywords={**SPEECH, "dropout": 0.1}, drops=True, tiny=SMALL_SPEECH, **RECOGNISER,
    ),
    Model(
        *("seq2seq", "Seq2Seq, 2 layers of 256, 15 codes, batch 32", "Seq2Seq"),
        *((CODES, CODES, 256, 2), (32, 15), ADAM),
        keywords={"dropout": 0.2}, drops=True, tiny=SMALL_TRANSLATION, **TRANSLATOR,
    ),
    Model(
        *("biglstm", f"BigLSTM, 512 projected to 128, {WORDS:,} words, T 20, B 32", "BigLSTM"),
        *((WORDS, 512, 128, 1), (32, 20), ADAGRAD),
        keywords={"samples": 512}, draw=words, tiny=SMALL_LANGUAGE, **LANGUAGE,
    ),
    Model(
        *("dcgan", "DCGAN, 16x16, width 1/8, batch 64", "DCGAN", (16,), (64, 1, 16, 16), ADAM),
        keywords={"channels": 1, "noise": NOISE, "width": 1 / 8}, draw=pictures_and_noise,
        tiny={"arguments": (8,), "shape": (3, 1, 8, 8)}, **GAN,
    ),
]  # fmt: skip
SMALL_GAN = {
    "keywords": {"noise": NOISE, "width": 1 / 64}, "draw": pictures_and_noise,
}  # fmt: skip
WHOLE = [
    Model(
        *("faster-rcnn-whole", "Faster R-CNN on VGG-16, 600x800, one picture", "FasterRCNN"),
        *((21,), (1, 3, 600, 800), ADAM),
        drops=True, task="detection", draw=scenes, tiny=DETECTORS[1].tiny,
    ),
    Model(
        *("deepspeech2-whole", "Deep Speech 2, 500 frames, batch 2", "DeepSpeech2"),
        *((29,), (2, 500, 161), ADAM), tiny=SMALL_SPEECH, **RECOGNISER,
    ),
    Model(
        *("deepspeech2-mandarin", "Deep Speech 2 for Mandarin, 500 frames, batch 2"),
        *("DeepSpeech2Mandarin", (6000,), (2, 500, 161), ADAM), tiny=SMALL_SPEECH, **RECOGNISER,
    ),
    *(
        Model(
            f"seq2seq-{layers}", f"Seq2Seq, {layers} layers of 1,024, 20 codes, batch 4", "Seq2Seq",
            *((100_000, 40_000, 1024, layers), (4, 20), ADAM), tiny=SMALL_TRANSLATION, **TRANSLATOR,
        )
        for layers in (3, 5)
    ),
    Model(
        *("biglstm-whole", "BigLSTM, 2 x 8,192, 20,000 words, T 20, B 4", "BigLSTM", (20_000,)),
        *((4, 20), ADAGRAD), draw=partial(words, most=20_000), tiny=SMALL_LANGUAGE, **LANGUAGE,
    ),
    Model(
        *("dcgan-whole", "DCGAN, 64x64, batch 16", "DCGAN", (), (16, 3, 64, 64), ADAM),
        draw=partial(pictures_and_noise, noise=100),
        tiny={"shape": (3, 3, 64, 64), **SMALL_GAN}, **GAN,
    ),
    Model(
        *("dcgan-128", "DCGAN, 128x128, batch 16", "DCGAN128", (), (16, 3, 128, 128), ADAM),
        draw=partial(pictures_and_noise, noise=100),
        tiny={"shape": (3, 3, 128, 128), **SMALL_GAN}, **GAN,
    ),
]  # fmt: skip
GROUPS = {
    "detectors": [m.name for m in DETECTORS],
    "sequences": [m.name for m in SEQUENCES],
    "whole": [m.name for m in WHOLE],
}
