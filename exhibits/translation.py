"""Translation by LSTMs with attention: Micikevicius et al. 2018 (arXiv:1710.03740), figure 4.

There three float32 trainings of a network of 3 x 1,024 units, English to French on WMT15, differed
about as much as mixed precision did from them; without loss scaling it ended slightly worse. Here 2
x 256 units translate Multi30k's descriptions of photographs of at most 12 words. As gradients of so
small a network are larger than theirs, the exponent dial makes them smaller.

Perplexity decides, as float32's own runs ended 19 BLEU apart.
"""

import math
from functools import partial

import numpy as np

from minifp import Metric, Task, data, optim, tensor
from minifp.data import BucketSampler, BytePairs, DataLoader, collate_pairs
from minifp.lab import Exhibit, ablation_exhibit, draw_alignment, translation_scores
from minifp.lab.schedules import cosine
from minifp.models import Seq2Seq
from minifp.nn import functional as F

CODES = 2000  # of each vocabulary
HIDDEN, LAYERS, DROPOUT = 256, 2, 0.2
SMOOTHING = 0.1
SHORT = 12  # words
BEAM = 4
LR, CLIP = 2e-3, 5.0
DIAL = 8  # as a sketch of this figure had it, before anything was trained
MARGIN = 3.0  # % of the perplexity, which is 0.03 nats, as the language model has
CLAIM = "mixed precision with loss scaling ends within the spread of float32's own runs"
ARMS = ("mixed,loss_scale=1", "mixed,loss_scale=128", "mixed")
SEARCHED = (
    "Adam's rate at 0.001 and 0.002 with batches of 64 and vocabularies of 3,000, and at 0.002 and "
    "0.004 with batches of 32 and vocabularies of 2,000: four float32 runs of one seed, of one to "
    "three epochs"
)
IGNORED = -100  # the label of what is no piece of a sentence: see collate_pairs
EVERY = 10**6  # more than there are
# By scale: pairs to train with and to test on, and epochs.
LENGTHS = {"quick": (4_000, 200, 2), "evening": (EVERY, EVERY, 8), "full": (EVERY, EVERY, 16)}
OURS = {  # not of Multi30k, by language
    "en": "A small dog runs along the beach with a red ball.",
    "de": "Ein kleiner Hund rennt mit einem roten Ball am Strand entlang.",
}
STOP = "(end)"  # how the code of an end is shown


def sentences(source: str, target: str, longest: int | None, pairs: int, tested: int):
    """The first pairs of Multi30k, of at most so many words, as codes: to train and to test with.

    Vocabularies are those of the sentences to train with.
    """
    translation_scores(["."], ["."])  # where sacrebleu is missing, it is said now
    train, _, test = data.multi30k(source, target)
    if longest is not None:
        train, test = train.at_most(longest), test.at_most(longest)
    train, test = train.first(pairs), test.first(tested)
    vocabularies = [BytePairs.train(texts, CODES) for texts in (train.sources, train.targets)]
    return train.encoded(*vocabularies), test.encoded(*vocabularies)


def by_length(train_set, batch_size: int) -> BucketSampler:
    """Batches of sentences that are about as long."""
    lengths = [max(map(len, train_set[i])) for i in range(len(train_set))]
    return BucketSampler(lengths, batch_size)


def loss(scores, labels, smoothing: float = SMOOTHING):
    """The mean over all pieces: scores (B, T, words), labels (B, T)."""
    rows, classes = scores.reshape(-1, scores.shape[-1]), labels.reshape(-1)
    return F.cross_entropy(rows, classes, ignore_index=IGNORED, label_smoothing=smoothing)


# ---- what comes out -----------------------------------------------------------------------------


def evaluate(state, test_set, language: str) -> dict:
    """BLEU and chrF of translations by beam search, the perplexity of pieces, and, of a sentence of
    our own in the language that is read, its translation with the attention drawn."""
    batches, whole = [*batches_by_length(test_set)], test_set
    while not hasattr(whole, "target"):  # a part of the data set
        whole = whole.dataset
    surprise, pieces = 0.0, 0
    written, references = [], []
    for batch in batches:
        scores = state.model(batch["source"], batch["lengths"], batch["decoder_input"])
        count = int((batch["labels"].numpy() != IGNORED).sum())
        surprise += count * loss(scores, batch["labels"], 0.0).item()
        pieces += count
        best = state.model.translate(batch["source"], batch["lengths"], width=BEAM)
        written += [whole.target.decode(hypothesis.codes) for hypothesis in best]
        references += [whole.target.decode(row[row != IGNORED]) for row in batch["labels"].numpy()]
    scores = translation_scores(written, references)
    mean = surprise / pieces
    perplexity = math.exp(mean) if mean < 700 else math.inf
    numbers = {"BLEU": scores.bleu, "chrF": scores.chrf, "perplexity": perplexity}
    example = of_ours(state.model, whole, OURS[language])
    return {**numbers, "loss": mean, "signatures": scores.signatures, **example}


def batches_by_length(test_set, size: int = 64):
    """All items of a set in batches of about one length."""
    lengths = [max(map(len, test_set[i])) for i in range(len(test_set))]
    order = np.argsort(lengths, kind="stable")
    return DataLoader(test_set, size, sampler=order, collate_fn=collate_pairs)


def of_ours(model, dataset, text: str) -> dict:
    """The translation of a sentence, and which pieces of it each of its own was made from."""
    codes = np.append(dataset.source.encode(text), dataset.source.end)
    (best,) = model.translate(tensor(codes[None]), [len(codes)], width=BEAM)
    source = [*dataset.source.pieces(codes[:-1]), STOP]
    target = [*dataset.target.pieces(best.codes), STOP][: len(best.attention)]
    return {
        "our sentence": f"{text}\n{dataset.target.decode(best.codes)}\n",
        "alignment": draw_alignment(best.attention, source, target),
    }


# ---- the exhibits -------------------------------------------------------------------------------


def translation(
    scale: str, *, name: str, source: str, target: str, longest: int | None = SHORT, dial: int = 0
) -> Task:
    """The network on sentences of two languages, for one of the scales."""
    pairs, tested, epochs = LENGTHS[scale]
    which = "sentences of any length" if longest is None else f"at most {longest} words"
    return Task(
        name=f"{name}-multi30k",
        description=f"an LSTM encoder-decoder of {LAYERS} x {HIDDEN} units with attention, "
        f"{source} to {target}, {which}",
        model=partial(Seq2Seq, CODES, CODES, HIDDEN, LAYERS, dropout=DROPOUT),
        data=partial(sentences, source, target, longest, pairs, tested),
        loss=loss,
        optimizer=partial(optim.Adam, lr=LR),
        schedule=partial(cosine, warm_up=100),
        metric=None,
        metric_name="perplexity",
        metric_unit="",
        goal="min",
        margin=MARGIN,
        relative=True,
        loss_margin=math.log1p(MARGIN / 100),  # as the loss is the perplexity's logarithm
        metrics=[Metric("BLEU", margin=1.0), Metric("chrF")],
        evaluate=partial(evaluate, language=source),
        collate=collate_pairs,
        sampler=by_length,
        batch_size=32,
        epochs=epochs,
        clip_norm=CLIP,
        dial=dial,
    )


def exhibit(name, title, source, target, **others) -> Exhibit:
    """One pair of languages, with the dial and S = 128 as in figure 4, or besides."""
    is_figure, others = not others, others or {"dial": DIAL}
    return Exhibit(
        name=name,
        title=title,
        claim=CLAIM if is_figure else "mixed precision translates as float32 does",
        task=partial(translation, name=name, source=source, target=target, **others),
        arms=ARMS if is_figure else (ARMS[0], ARMS[-1]),
        seeds={"quick": 3, "evening": 3, "full": 5} if is_figure else {"evening": 1, "full": 3},
        searched=SEARCHED,
        expects="fails" if is_figure else "matches",
        is_own=not is_figure,
        is_of_spread=is_figure,
    )


FIGURE_4 = exhibit("translation-en-fr", "English to French", "en", "fr")
EXHIBITS = (
    FIGURE_4,
    exhibit("translation-en-fr-all", "English to French, all lengths", "en", "fr", longest=None),
    exhibit("translation-de-en", "German to English", "de", "en", longest=SHORT),
    ablation_exhibit(FIGURE_4),
)
