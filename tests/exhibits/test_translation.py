"""Translation in the lab: scores, alignments, and the gallery's task on sentences of our own."""

import re
import sys
from dataclasses import replace

import numpy as np
import pytest
from refusals import refuses

from minifp import data
from minifp.data import SentencePairs
from minifp.errors import DataError, MinifpError, ShapeError
from minifp.exhibits import translation
from minifp.lab import Picture, draw_alignment, translation_scores
from minifp.lab.run import train

ENGLISH = ["A cat sleeps.", "Two dogs run in the park.", "A bird sings on a tall tree."]
FRENCH = ["Un chat dort.", "Deux chiens courent au parc.", "Un oiseau chante sur un grand arbre."]


def test_scores_are_100_for_what_is_the_same_and_say_how_they_were_counted(monkeypatch):
    found = translation_scores(FRENCH, FRENCH)
    assert (found.bleu, found.chrf) == (pytest.approx(100), pytest.approx(100))
    assert re.search(r"BLEU .*case:mixed.*tok:13a", found.signatures)
    assert re.search(r"chrF .*nc:6\|nw:0", found.signatures)
    worse = translation_scores([FRENCH[1], *FRENCH[1:]], FRENCH)
    assert 0 < worse.bleu < found.bleu and 0 < worse.chrf < found.chrf
    assert translation_scores([s.lower() for s in FRENCH], FRENCH).bleu < 100  # capitals count
    refuses(DataError, "1 translations and 3 references", translation_scores, FRENCH[:1], FRENCH)
    monkeypatch.setitem(sys.modules, "sacrebleu.metrics", None)
    refuses(MinifpError, r'pip install "minifp\[translation\]"', translation_scores, FRENCH, FRENCH)


def test_alignments_are_drawn_with_rows_for_the_pieces_of_the_translation(monkeypatch):
    weights = np.array([[1.0, 0.0, 0.0], [0.0, 0.25, 0.75]])
    found = draw_alignment(weights, ["a", "b", "c"], ["x", "y"])
    assert isinstance(found, Picture) and found.pixels.shape[1] > found.pixels.shape[0]
    assert (draw_alignment(weights[::-1], ["a", "b", "c"], ["x", "y"]).pixels != found.pixels).any()
    refuses(ShapeError, r"expected \(3, 2\)", draw_alignment, weights, ["x", "y"], ["a", "b", "c"])
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert draw_alignment(weights, ["a", "b", "c"], ["x", "y"]) == "x: a 100%\ny: c 75%, b 25%\n"


def test_the_task_of_the_gallery_trains_on_any_sentences_and_keeps_what_it_says(monkeypatch):
    pairs = SentencePairs(ENGLISH * 5, FRENCH * 5, "ours")
    monkeypatch.setattr(data, "multi30k", lambda source, target: (pairs,) * 3)
    for name, value in {"CODES": 290, "HIDDEN": 12, "LAYERS": 2, "BEAM": 2}.items():
        monkeypatch.setattr(translation, name, value)
    small = replace(translation.EXHIBITS[0].task("quick"), steps=3, batch_size=4)
    run = train(small, "mixed", 0)
    assert run.finished and run.metrics.keys() == {"BLEU", "chrF", "perplexity"}
    assert run.metric == run.metrics["perplexity"][-1] and run.metrics["BLEU"][-1] >= 0
    assert run.evaluations[-1][2] == pytest.approx(np.log(run.metric))
    assert "case:mixed" in run.kept["signatures"] and isinstance(run.kept["alignment"], Picture)
    assert run.kept["our sentence"].startswith(translation.OURS["en"])
    train_set, test_set = small.data()
    assert len(train_set) == 15 and test_set.target.decode(test_set[0][1]) == FRENCH[0]
