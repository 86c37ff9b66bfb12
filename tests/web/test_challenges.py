"""The challenges: each fails as it is, passes when solved, and looks at what a program did."""

import importlib
import warnings

import pytest
from loading import SCRIPTS, script

from minifp.errors import TrainingError

script("build_site")  # which is among those that import website
PROGRAMS = {p["name"]: p for p in importlib.import_module("website.programs").all_programs()}

# By name: what is said of the program as it is; a text and what a solution writes instead; and ways
# around, likewise, with what is said of them.
TRIED = {
    "find_scale": ("too many gradients become 0", ("S = 1.0", "S = 2.0**16"),
                   ("lr=5e-3", "lr=1.0", "Only S may change")),
    "right_wall": ("further up", ("2.0**10", "2.0**18")),
    "one_switch": ("No switch was changed", ('"mixed"', '"mixed,optimizer_state=float16"'),
                   ('"mixed"', '"mixed,loss_scale=off"', "still learns")),
    "inject_inf": ("No step was", ("(x), t)", "(x), t) * (1e30 if step == 10 else 1)"),
                   ("(x), t)", "(x), t) * (1e30 if step > 66 else 1)", "[67, 68]")),
    "by_itself": ("climbs too slowly", ("=2000", "=5")),
    "bfloat16_wins": ("still holds", ("DIAL = 0", "DIAL = 20")),
    "lose_half": ("is to be smaller", ("1e-3", "3.6e-5"), ("1e-3", "1e-6", "is to be larger")),
    "stall": ("still follow", ("1e-3", "1e-5")),
    "save_bfloat16": ("still lost", ('SWITCH = ""', 'SWITCH = ",compensated=on"')),
    "overflow_sum": ("The sum is 6", ("[1.0, 2.0, 3.0]", "[100.0] * 700")),
    "order": ("less than 10%", ("[1.0, 2.0, 3.0]\nother = [3.0, 2.0, 1.0]",
                                "[2048.0] + [1.0] * 500\nother = one[::-1]"),
              ("other = [3.0, 2.0, 1.0]", "other = [9.0]", "same numbers")),
    "softmax": ("nan", ("fp.exp(scores)", "fp.exp(scores - scores.max())")),
    "by_hand": ("is 0", ("sum()\n    loss.backward()\n    return float(w.grad)",
                         "sum()\n    (loss * S).backward()\n    return float(w.grad) / S"),
                ("return float(w.grad)", "return 1e-4 * float(x)", "through w.grad")),
}  # fmt: skip


@pytest.mark.parametrize("name", [n for n, program in PROGRAMS.items() if program["check"]])
def test_a_challenge_fails_as_it_is_passes_solved_and_sees_ways_around(name, monkeypatch):
    monkeypatch.syspath_prepend(SCRIPTS.parent / "web" / "playground")
    challenge, program = importlib.import_module("challenge"), PROGRAMS[name]
    wrong, solution, *around = TRIED[name]
    for old, new, expected in [("", "", wrong), (*solution, ""), *around]:
        run = challenge.Run({})
        with run.observed(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what goes wrong on purpose, minifp tells
            try:
                exec(program["program"].replace(old, new, 1), run.names)
            except TrainingError as error:
                run.error = error
        passed, said = challenge.judged(program["check"], run)
        assert passed == (not expected) and expected in said, said
