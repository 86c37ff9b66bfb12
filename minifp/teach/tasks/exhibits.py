"""Lesson 12: three tasks of the gallery, in short, and what takes their place."""

from collections.abc import Iterable
from dataclasses import replace
from importlib.util import find_spec
from math import inf
from typing import Any

from minifp import models
from minifp.data.whereabouts import is_there
from minifp.lab.tasks import load_task
from minifp.teach.mode import fast_or

FACTORS = {"master_weights": "master weights", "loss_scale": "loss scaling"}
FACTORS["accumulate"] = "float32 sums"


def chosen() -> list[tuple[str, Any]]:
    """Speech, translation and a GAN, or what takes their place where the data are not here: titles
    and tasks."""
    fast = fast_or(False, True)
    return [
        speech(not fast and is_there("fsdd")),
        translation(not fast and is_there("multi30k") and bool(find_spec("sacrebleu"))),
        ("A GAN", replace(load_task("gan-digits:quick"), steps=fast_or(None, 4))),
    ]


def speech(has_data: bool) -> tuple[str, Any]:
    """Spoken digits, or LeNet on written ones."""
    if has_data:
        return "Speech", "spoken-digits:quick"
    lenet = replace(load_task("lenet"), steps=fast_or(200, 25))
    return "In place of speech: digits", lenet


def translation(has_data: bool) -> tuple[str, Any]:
    """Sentences, judged by their perplexity, with the dial at 10; or an LSTM on Shakespeare."""
    if has_data:
        by_surprise: dict = {"metrics": [], "relative": False, "margin": 5}
        sentences = load_task("translation-en-fr:quick")
        return "Translation", replace(sentences, dial=10, steps=200, **by_surprise)
    settings: dict = {"model": lambda: models.CharLSTM(65, hidden=64), "schedule": None, "dial": 14}
    letters = replace(load_task("charlstm"), steps=fast_or(600, 25), **settings)
    return "In place of translation: Shakespeare", letters


def costs(ablation: Any) -> dict[str, float]:
    """What taking each technique away alone costs: points of accuracy, by its name; infinitely many
    where runs diverge without it."""
    effects: Iterable[Any] = (e for e in ablation.effects if e.way == "together")
    return {
        FACTORS[e.factor]: inf if e.verdict == "DIVERGED" else e.claim.difference for e in effects
    }


def in_words(costs: dict[str, float]) -> str:
    """The same as a list."""
    texts = {n: f"{c:+.1f}" if c < inf else "all (runs diverge without)" for n, c in costs.items()}
    return ", ".join(f"{name} {text}" for name, text in texts.items())
