"""The demonstration: each technique of mixed precision at work, on bundled data, in 90 seconds.

The sizes are small ones at which each effect is unmistakable, and five seeds decide. What was
arranged so that it shows at such a size is said with each part.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from minifp import data, nn, optim
from minifp.lab.comparison import Comparison, compare
from minifp.lab.task import Task
from minifp.lab.task_info import dial_note
from minifp.lab.tasks import load_task
from minifp.models import MLP, CharLSTM, LeNet

SEEDS = 5  # below five a verdict is called weak
DIAL = 12  # of the language model's part
TEST_PIECES = 256  # of Shakespeare's test text that are enough here


@dataclass(frozen=True)
class Part:
    """One comparison of the demonstration.

    key: its letter; name: its folder. claim: what it shows, in one sentence; look: where to see it;
    honest: what was arranged so that it shows at this size. task: builds its Task.
    """

    key: str
    name: str
    title: str
    claim: str
    look: str
    honest: str
    task: Callable[[], Task]
    precisions: tuple[str, ...]
    seeds: int = SEEDS

    def run(self, out, progress: bool = True, figures: str | None = None) -> Comparison:
        """Train what is missing of this part in `out`/name, and return its comparison."""
        return compare(
            self.task(),
            self.precisions,
            self.seeds,
            out=Path(out) / self.name,
            figures=figures,
            progress=progress,
        )


def slow_mlp() -> Task:
    """The perceptron at a learning rate at which most updates are smaller than half an ulp."""
    return replace(
        load_task("mlp", "digits"),
        name="mlp-slow",
        description="a perceptron with two hidden layers of 256 on digits, with Adam at the tiny "
        "learning rate of 5e-6",
        model=lambda: MLP(64, 256, 256, 10),
        optimizer=partial(optim.Adam, lr=5e-6),
        epochs=25,
    )


def dialled_lstm() -> Task:
    """A small character model whose gradients are moved down to where a large model's lie."""
    return replace(
        load_task("charlstm", "shakespeare"),
        name="charlstm-dial",
        description="an LSTM of 64 units that predicts Shakespeare's next character",
        model=lambda: CharLSTM(65, hidden=64),
        data=some_shakespeare,
        optimizer=partial(optim.Adam, lr=6e-3),
        schedule=None,
        clip_norm=None,
        steps=200,
        dial=DIAL,
    )


def some_shakespeare():
    """Shakespeare in pieces of 32 characters, tested on a part of the test text."""
    train, test = data.shakespeare(length=32)
    part = test[np.arange(TEST_PIECES)]
    return train, data.TensorDataset(*part, name=f"{test.name}, first {TEST_PIECES} pieces")


def raw_lenet() -> Task:
    """LeNet that gets raw pixels, 0 to 16, and normalises them itself."""
    return replace(
        load_task("lenet", "digits"),
        name="lenet-raw",
        description="LeNet behind a batch normalisation of raw pixels, 0 to 16, on digits",
        model=lambda: nn.Sequential(nn.BatchNorm2d(1), LeNet(classes=10, size=8)),
        data=partial(data.digits, normalize=False),
        epochs=5,
    )


PARTS = (
    Part(
        key="a",
        name="a-lenet",
        title="Mixed precision ends where float32 ends",
        claim="LeNet in mixed precision ends at the accuracy of float32, seed by seed, with half "
        "the bytes of activations and gradients.",
        look="The difference in the table and its interval; loss curves on top of each other.",
        honest="The margin is 1 point of accuracy: one of the 360 test pictures is 0.28 points. "
        "Nothing else was arranged. Easy tasks forgive everything: float16 without any of the "
        "techniques loses little or nothing here either. (b) to (d) do not forgive.",
        task=lambda: load_task("lenet", "digits"),
        precisions=("float32", "mixed"),
    ),
    Part(
        key="b",
        name="b-masters",
        title="Without master weights small updates are lost",
        claim="At a tiny learning rate most of the accuracy is gone when float16 weights are "
        "updated in place, and none when float32 masters are.",
        look="The accuracy of mixed,master_weights=off, and its loss curve, which hardly moves.",
        honest="The learning rate is 5e-6, 200 times below the usual one, so that at most "
        "weights an update is smaller than half an ulp. At usual rates this model trains well "
        "without masters; large models meet such updates at the end of their schedules.",
        task=slow_mlp,
        precisions=("float32", "mixed", "mixed,master_weights=off"),
    ),
    Part(
        key="c",
        name="c-loss-scale",
        title="Without loss scaling small gradients vanish",
        claim="Without loss scaling the character LSTM learns for a while and then diverges; with "
        "it, at 128 or found while training, it ends where float32 ends.",
        look="The loss curve of mixed,loss_scale=off: it falls at first, then rises for good.",
        honest=f"{dial_note(DIAL)} Dial, learning rate and length were chosen, after trying "
        "others, so that it diverges within 200 steps; at a dial of 11 it only stalls.",
        task=dialled_lstm,
        precisions=("float32", "mixed", "mixed,loss_scale=128", "mixed,loss_scale=off"),
    ),
    Part(
        key="d",
        name="d-sums",
        title="Sums need float32",
        claim="With float16 sums in its reductions the same network learns nothing: the squares "
        "that a variance adds up pass 65504, and everything is divided by infinity.",
        look="The accuracy of mixed,reduce=float16, at the level of guessing; only sums differ.",
        honest="The pictures are raw, 0 to 16, as the data set has them. With pixels from 0 to 1 "
        "float16 sums do no harm here, because nothing overflows. The margin is 1 point, as in "
        "(a).",
        task=raw_lenet,
        precisions=("float32", "mixed", "mixed,reduce=float16"),
    ),
)
