"""The challenges: each fails as it is, passes when solved, and looks at what a program did."""

import importlib
import warnings

import pytest
from loading import SCRIPTS, script

from minifp.errors import TrainingError

script("build_site")  # which is among those that import website
PROGRAMS = {p["name"]: p for p in importlib.import_module("website.programs").all_programs()}

# By name: what stands in the program, what a solution writes instead, and what is said without one.
SOLVED = {
    "find_scale": ("S = 1.0", "S = 2.0**16", "too many gradients become 0"),
    "right_wall": ("2.0**10", "2.0**18", "further up"),
    "one_switch": ('"mixed"', '"mixed,optimizer_state=float16"', "No switch was changed"),
    "inject_inf": ("model(x), t)", "model(x), t) * (1e30 if step == 10 else 1)", "No step was"),
    "by_itself": ("=2000", "=5", "climbs too slowly"),
    "bfloat16_wins": ("DIAL = 0", "DIAL = 20", "still holds"),
    "lose_half": ("LR = 1e-3", "LR = 3.6e-5", "is to be smaller"),
    "stall": ("LR = 1e-3", "LR = 1e-5", "still follow"),
    "save_bfloat16": ('SWITCH = ""', 'SWITCH = ",compensated=on"', "still lost"),
    "overflow_sum": ("[1.0, 2.0, 3.0]", "[100.0] * 700", "The sum is 6"),
    "order": ("[1.0, 2.0, 3.0]\nother = [3.0, 2.0, 1.0]",
              "[2048.0] + [1.0] * 500\nother = one[::-1]", "less than 10%"),
    "softmax": ("fp.exp(scores)", "fp.exp(scores - scores.max())", "nan"),
    "by_hand": ("(w * x).sum()\n    loss.backward()\n    return float(w.grad)",
                "(w * x).sum()\n    (loss * S).backward()\n    return float(w.grad) / S", "is 0"),
}  # fmt: skip
# Ways around, by name: programs that say or do something else than was asked.
AROUND = {
    "find_scale": ("lr=5e-3", "lr=1.0", "Only S may change"),
    "one_switch": ('"mixed"', '"mixed,loss_scale=off"', "still learns"),
    "inject_inf": ("model(x), t)", "model(x), t) * (1e30 if step > 66 else 1)", "[67, 68]"),
    "lose_half": ("LR = 1e-3", "LR = 1e-6", "is to be larger"),
    "order": ("other = [3.0, 2.0, 1.0]", "other = [9.0]", "same numbers"),
    "by_hand": ("return float(w.grad)", "return 1e-4 * float(x)", "through w.grad"),
}


def said_of(name, old, new, monkeypatch):
    """Whether a challenge is passed with another text in its program, and what is said."""
    monkeypatch.syspath_prepend(SCRIPTS.parent / "web" / "playground")
    challenge, source = importlib.import_module("challenge"), PROGRAMS[name]["program"]
    run = challenge.Run({})
    assert old in source
    with run.observed(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what goes wrong on purpose, minifp tells
        try:
            exec(source.replace(old, new, 1), run.names)
        except TrainingError as error:
            run.error = error
    return challenge.judged(PROGRAMS[name]["check"], run)


def test_every_challenge_is_tried_here():
    assert SOLVED.keys() == {name for name, program in PROGRAMS.items() if program["check"]}


@pytest.mark.parametrize("name", SOLVED)
def test_a_challenge_fails_as_it_is_and_passes_solved(name, monkeypatch):
    old, new, wrong = SOLVED[name]
    passed, said = said_of(name, old, old, monkeypatch)
    assert not passed and wrong in said
    passed, said = said_of(name, old, new, monkeypatch)
    assert passed, said


@pytest.mark.parametrize("name", AROUND)
def test_a_way_around_is_seen(name, monkeypatch):
    old, new, wrong = AROUND[name]
    passed, said = said_of(name, old, new, monkeypatch)
    assert not passed and wrong in said
