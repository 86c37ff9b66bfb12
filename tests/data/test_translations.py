"""Sentences with their translations: read, encoded, sorted into batches, padded."""

import gzip

import numpy as np
import pytest
from refusals import each_refused, refuses

from minifp import data
from minifp.data import BucketSampler, BytePairs, DataLoader, SentencePairs, StreamSampler
from minifp.data.translations import CHECKSUMS, PARTS
from minifp.errors import ArgumentError, DataError

OURS = {  # by language; sentence 1 has a space before it, as some in the real ones
    "en": ["The cat sleeps.", " Two birds sing in the old tree.", "It rains."],
    "fr": ["Le chat dort.", "Deux oiseaux chantent dans le vieil arbre.", "Il pleut."],
}


def write(folder, texts, compressed=True):
    folder.mkdir(parents=True, exist_ok=True)
    for language, lines in texts.items():
        for part in PARTS:
            content = ("\n".join(lines) + "\n").encode()
            name = f"{part}.{language}" + ".gz" * compressed
            (folder / name).write_bytes(gzip.compress(content) if compressed else content)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    write(tmp_path / "multi30k", OURS)
    monkeypatch.setenv("MINIFP_DATA", str(tmp_path))
    return tmp_path / "multi30k"


@pytest.fixture
def encoded():
    pairs = SentencePairs(OURS["en"], OURS["fr"], "ours")
    return pairs.encoded(*(BytePairs.train(OURS[language], 270) for language in OURS))


def test_pairs_are_read_as_they_lie_and_taken_by_length_and_number(folder):
    parts = data.multi30k()
    assert [p.name for p in parts] == [f"Multi30k en-fr, {n}" for n in ("train", "val", "test")]
    assert all(list(p) == [*zip(OURS["en"], OURS["fr"])] for p in parts)
    turned = data.multi30k("fr", "en")[2]
    assert turned[1] == (OURS["fr"][1], OURS["en"][1]) and len(turned) == 3
    write(folder, {"de": ["Ja."] * 3}, compressed=False)
    assert data.multi30k("de", "en")[0][2] == ("Ja.", "It rains.")
    pairs = SentencePairs(OURS["en"], OURS["fr"])
    assert pairs.at_most(3).sources == ["The cat sleeps.", "It rains."]
    assert pairs.first(2).targets == OURS["fr"][:2] and len(pairs.first(9)) == 3


def test_texts_that_do_not_fit_are_refused(folder):
    write(folder, {"fr": OURS["fr"][:2]})
    refuses(DataError, "3 sentences and 2 translations", data.multi30k)
    (folder / "val.en.gz").write_bytes(gzip.compress(b"caf\xe9"))
    write(folder, {"fr": OURS["fr"]})
    refuses(DataError, r"val\.en\.gz is not UTF-8 text", data.multi30k)
    (folder / "val.en.gz").unlink()
    refuses(DataError, r"lacks val\.en", data.multi30k)
    refuses(ArgumentError, "'en', 'de', 'fr'", data.multi30k, "es", "en")
    refuses(ArgumentError, "expected two", data.multi30k, "en", "en")


def test_what_is_downloaded_is_checked(monkeypatch, tmp_path):
    pooch = pytest.importorskip("pooch")
    monkeypatch.delenv("MINIFP_DATA", raising=False)
    monkeypatch.setattr(pooch, "os_cache", lambda _: tmp_path)
    asked = []

    def retrieve(url, known_hash, fname, path, progressbar):
        asked.append((url.rpartition("/")[2], known_hash))
        raise ValueError("another checksum")

    monkeypatch.setattr(pooch, "retrieve", retrieve)
    refuses(DataError, "train.en.gz could not be downloaded", data.multi30k)
    assert asked == [("train.en.gz", f"sha256:{CHECKSUMS['train.en']}")]


def test_a_batch_has_lengths_and_what_a_decoder_reads_and_writes(encoded):
    batch = data.collate_pairs([encoded[0], encoded[1]])
    source, target = encoded.source.encode(OURS["en"][1]), encoded.target.encode(OURS["fr"][1])
    first = len(encoded.source.encode(OURS["en"][0])) + 1
    assert batch["lengths"].tolist() == [first, len(source) + 1]
    assert batch["source"][1].tolist() == [*source, 2]
    assert (batch["source"][0, first:] == 0).all() and batch["source"][0, first - 1] == 2
    assert batch["decoder_input"][1].tolist() == [1, *target]
    assert batch["labels"][1].tolist() == [*target, 2]
    assert (batch["labels"][0] == -100).sum() == (batch["decoder_input"][0] == 0).sum() > 0
    loader = DataLoader(encoded, 2, collate_fn=data.collate_pairs)
    assert [len(b["lengths"]) for b in loader] == [2, 1]


test_what_are_no_pairs_is_refused = each_refused(
    (lambda: SentencePairs(["a"], ["b", "c"]), "1 sentences and 2 translations"),
    (lambda: SentencePairs([b"a"], ["b"]), "b'a' among the sentences"),
    (lambda: data.collate_pairs([([1], [1])]), "the target of item 0"),
    (lambda: data.collate_pairs([([1], [1, 2]), ([], [1, 2])]), "the source of item 1"),
    error=DataError,
)


def test_buckets_hold_items_that_are_about_as_long_and_every_item_once():
    lengths = np.arange(103) * 7 % 50
    sampler = BucketSampler(lengths, 8, pool=4)
    first, again, other = sampler(0, 1), sampler(0, 1), sampler(1, 1)
    assert (first == again).all() and (first != other).any() and (first != sampler(0, 2)).any()
    for order in (first, other):
        assert sorted(order) == [*range(103)]
        spans = [np.ptp(lengths[order[i : i + 8]]) for i in range(0, 96, 8)]
        assert np.mean(spans) < 20 and np.ptp(lengths[:8]) > 40  # of items in their own order
        means = [lengths[order[i : i + 8]].mean() for i in range(0, 96, 8)]
        assert means != sorted(means)
    assert sorted(BucketSampler(lengths, 200)(0, 0)) == [*range(103)]


def test_rows_of_a_stream_go_on_through_batches_and_epochs():
    sampler, lanes, steps = StreamSampler(23, 3), 3, 7
    rows = np.concatenate([sampler(e, 5).reshape(steps, lanes) for e in range(7)])
    jumps = (np.diff(rows, axis=0) % 21 != 1).sum()
    assert sampler.steps == steps and jumps == 0 and rows.max() == 20
    assert all(sorted(sampler(e, 5)) == [*range(21)] for e in range(3))
    assert (sampler(0, 5) != sampler(0, 6)).any()
    loader = DataLoader(data.TensorDataset(np.arange(23)), lanes, sampler=sampler, seed=5)
    assert (np.stack([b.numpy() for (b,) in loader]) == rows[:steps]).all()


test_what_is_no_order_is_refused = each_refused(
    (lambda: BucketSampler([0.5], 2), "expected integers"),
    (lambda: BucketSampler([1], 0), "batch_size=0"),
    (lambda: StreamSampler(3, 4), "3 items for 4 lanes"),
    error=ArgumentError,
)
