"""A language model of projected LSTMs: Micikevicius et al. 2018 (arXiv:1710.03740), figure 5.

There bigLSTM, 2 x 8,192 units projected to 1,024 over 793,471 words, diverged late without loss
scaling (after 300,000 steps) and matched float32 with S = 128. Here one layer of 512 units
projected to 128 reads the words of Shakespeare as one stream, with a softmax over a sample of
words. As gradients of so small a network are larger than theirs, the exponent dial makes them as
small.
"""

import math
from functools import cache, partial

import numpy as np

from minifp import Metric, Task, data, nn, optim, tensor, zeros
from minifp.data import StreamSampler, Subset
from minifp.lab import Exhibit, ablation_exhibit, observe_gradients
from minifp.models import BigLSTM

LENGTH, LANES = 20, 32  # words of a piece, after which gradients end, and rows of a batch
METRIC = "loss of a word"
LEAST = 2  # times that a word must occur to have a number
HIDDEN, PROJECTION, LAYERS = 512, 128, 1
SAMPLES = 512
LR, FIRST_SUM, CLIP = 0.2, 0.1, 1.0  # of Adagrad, and the largest norm
MARGIN = 0.03  # of nats a word: 3% of the perplexity
# At first each word that was not meant has a gradient of 1 / (513 x 640) = 2^-18.3 at its score,
# which with this dial is 2^-24.3, float16's smallest number; what is unlikely soon has less, and 0.
DIAL = 6
STEPS = {"quick": 600, "evening": 2_500, "full": 6_000}
CLAIM = "without loss scaling it dies late; with S = 128 it ends where float32 does"
ARMS = ("mixed,loss_scale=1", "mixed,loss_scale=128", "mixed")
SEARCHED = (
    "Adagrad's rate at 0.2 and 0.5, its sums beginning at 0.1 and 1: three float32 runs of one "
    "seed; the dial among 5, 6, 7, 8 and 11, with S = 1 and, at 5 and 11, S = 128, of another seed "
    "than these: at 5 it ended near float32 with either, at 6 the loss rose again after 1,500 "
    "steps with S = 1, from 7 on after 300"
)
LOST = "zero gradients of scores"


class Carried(nn.Module):
    """A model that begins each batch with the state after the batch before.

    h, c: that state, of as many rows as a batch has: buffers, so that a checkpoint has them. In
    training they are taken over without their gradients: backward ends at the beginning of a batch.
    """

    def __init__(self, model: BigLSTM, lanes: int) -> None:
        self.model, lstm = model, model.lstm
        first = (zeros(lstm.num_layers, lanes, size) for size in lstm.state_sizes)
        self.h, self.c = map(nn.Buffer, first)

    def loss(self, codes, targets):
        """The mean loss of a batch (lanes, T)."""
        loss, state = self.model.loss(codes, targets, (self.h, self.c))
        for buffer, after in zip((self.h, self.c), state):
            buffer.array = after.array
        return loss


def network(words: int) -> Carried:
    """The model over so many words."""
    sizes = {"hidden": HIDDEN, "projection": PROJECTION, "layers": LAYERS}
    model = BigLSTM(words, **sizes, output="sampled", samples=min(SAMPLES, words // 2))
    return Carried(model, LANES)


pieces = cache(data.shakespeare_words)


def words():
    """Shakespeare's words in pieces, of which whole batches are kept to train with."""
    train, test = pieces(LENGTH, LEAST)
    whole = len(train) // LANES * LANES
    return Subset(train, range(whole), name=train.name), test


def stream(train_set, lanes: int) -> StreamSampler:
    """The text in its order, each row of a batch from another place on."""
    return StreamSampler(len(train_set), lanes)


def step(state, batch) -> dict:
    """One step on the batch that follows; and which share of the gradients of scores is 0: those of
    words that were not meant, each small, which together keep the others from growing."""
    loss = state.model.loss(*batch)
    classes, share = state.model.model.head.n_samples + 1, math.nan

    def count_zeros(gradient):
        nonlocal share
        if gradient.ndim == 2 and gradient.shape[1] == classes:
            share = float((gradient == 0).mean())

    with observe_gradients(count_zeros):
        state.optimizer.backward(loss)
    state.optimizer.step()
    state.optimizer.zero_grad()
    return {"loss": loss, LOST: share}


def evaluate(state, test_set) -> dict:
    """The mean loss of a word of the test text and its perplexity, over all words, not a sample,
    with the state carried along. What does not fill a last batch is left out."""
    model, (x, t) = state.model.model, test_set[np.arange(len(test_set))]
    lanes = min(LANES, len(x))
    steps = len(x) // lanes
    x, t = (a[: lanes * steps].reshape(lanes, steps, -1) for a in (x, t))
    total, carried = 0.0, None
    for k in range(steps):
        loss, carried = model.loss(tensor(x[:, k]), tensor(t[:, k]), carried)
        total += loss.item()
    mean = total / steps
    return {METRIC: mean, "perplexity": math.exp(mean) if mean < 700 else math.inf, "loss": mean}


def language(scale: str) -> Task:
    """The model on the words of Shakespeare, for one of the scales."""
    train, _ = pieces(LENGTH, LEAST)
    return Task(
        name="language-shakespeare",
        description=f"an LSTM of {HIDDEN} units projected to {PROJECTION}, on Shakespeare's words",
        model=partial(network, len(train.words)),
        data=words,
        loss=None,
        optimizer=partial(optim.Adagrad, lr=LR, initial_accumulator_value=FIRST_SUM),
        metric=None,
        metric_name=METRIC,
        metric_unit="nats",
        goal="min",
        margin=MARGIN,
        metrics=[Metric("perplexity", goal="min", relative=True)],
        step=step,
        evaluate=evaluate,
        sampler=stream,
        batch_size=LANES,
        steps=STEPS[scale],
        clip_norm=CLIP,
        dial=DIAL,
    )


WORDS = Exhibit(
    name="language-words",
    title="Words of Shakespeare",
    claim=CLAIM,
    task=language,
    arms=ARMS,
    searched=SEARCHED,
    expects="fails",
    looked_at=True,
    warns=LOST,
)
EXHIBITS = (WORDS, ablation_exhibit(WORDS))
