"""Lesson 6: the smallest loss scale, a warning that comes early, and what became of a run.

recorded_runs.json is written by scripts/record_lesson_runs.py.
"""

import json
from copy import deepcopy
from functools import cache
from pathlib import Path

import numpy as np

from minifp.teach.exercise import exercise, random_of

LESSON = "06-a-late-death"
RECORDED = Path(__file__).with_name("recorded_runs.json")


# ---- the smallest scale --------------------------------------------------------------------------


class Survives:
    """Whether a run with S = 2^k survives: from k = `least` on. Counts how often it is asked."""

    def __init__(self, least: int) -> None:
        self.least = least
        self.asked: list[int] = []

    def __call__(self, k):
        if k != int(k):
            raise ValueError(f"survives({k!r}): expected a whole number")
        self.asked.append(int(k))
        return k >= self.least


@exercise(LESSON)
def smallest_scale(answer):
    """A function (survives, low, high) that returns the smallest k from low to high with
    survives(k), which is known to hold at high and above the smallest one."""
    for low, high in ((0, 24), (0, 7), (0, 1), (3, 3), (-4, 11)):
        most = int(high - low).bit_length()  # halvings until one of high - low + 1 is left
        for least in range(low, high + 1):
            survives = Survives(least)
            said = answer(survives, low, high)
            where = f"from 2^{low} to 2^{high}, where runs survive from 2^{least} on"
            if said != least:
                return f"{where}, you say {said!r}, and asked of {survives.asked}"
            if len(survives.asked) > most:
                return f"{where}, you trained {len(survives.asked)} runs, and {most} are enough"
    return None


# ---- the warning ---------------------------------------------------------------------------------


@cache
def recorded_runs() -> list[dict]:
    """Runs as they were recorded, and one of a network that drops nine of ten more."""
    runs = json.loads(RECORDED.read_text(encoding="utf-8"))
    thinned = next(r for r in runs if r["ends well"] and r["name"].startswith("thinned"))
    return [*runs, thinned_more(thinned)]


def thinned_more(run: dict) -> dict:
    """As if of all gradients that are not zero nine of ten were dropped."""
    thinner = deepcopy(run)
    for look in thinner["looks"]:
        for layer in look["layers"].values():
            layer["zeros"] = 1 - (1 - layer["zeros"]) / 10
            layer["subnormal"] /= 10
    return {**thinner, "name": "digits, thinned ten times more"}


def alarm_of(rule, run: dict) -> int | None:
    """The step of the first look at which a rule warns, None for none."""
    for n in range(1, len(run["looks"]) + 1):
        if rule(deepcopy(run["looks"][:n])):
            return run["looks"][n - 1]["step"]
    return None


@exercise(LESSON)
def warns(answer):
    """A function from the looks at a run so far to whether it should be stopped."""
    missed, late, false = [], [], []
    for run in recorded_runs():
        alarm = alarm_of(answer, run)
        says = f"{run['name']}, dial {run['dial']}, S = 2^{run['log2 S']}"
        turns = run["turns at"] or run["looks"][-1]["step"]
        if run["ends well"] and alarm is not None:
            false.append(f"{says}: it ends well, and you warn at step {alarm}")
        elif not run["ends well"] and alarm is None:
            missed.append(f"{says}: it goes wrong, and you never warn")
        elif not run["ends well"] and alarm >= turns:
            late.append(f"{says}: you warn at step {alarm}, and its loss has risen at {turns}")
    wrong = [*missed, *late, *false]
    return f"{len(wrong)} of {len(recorded_runs())} runs: {wrong[0]}" if wrong else None


# ---- what became of it ---------------------------------------------------------------------------

DIES, WORSE, MATCHES = FATES = ("dies", "worse", "matches")
RISE = 0.1  # nats above the lowest loss so far


def true_fate(losses, references) -> str:
    """What is right."""
    last = losses[-1]
    if not np.isfinite(losses).all() or last > np.min(losses) + RISE:
        return DIES
    return MATCHES if last <= max(references) else WORSE


def curves():
    """Losses that fall, fall less, rise again, or end with NaN, and those of three float32 runs."""
    random = random_of(6)
    for i in range(80):
        references = [float(x) for x in 2 + 0.1 * random.random(3)]
        low, high = min(references), max(references)
        end = (low - 0.01, high + 0.05, (low + high) / 2, high + 1.0)[i % 4]
        falling = end + (4.2 - end) * np.exp(-np.arange(30) / random.uniform(2, 4))
        falling[-1] = end
        if i % 5 == 0:  # late
            rising = np.linspace(0, random.uniform(0.3, 3), 12)
            falling = np.concatenate([falling, falling[-1] + rising])
        if i % 7 == 0:
            falling[-1] = random.choice([np.nan, np.inf])
        yield [float(x) for x in falling], references


@exercise(LESSON)
def fate(answer):
    """A function (losses, references) that returns one of FATES."""
    wrong, first, count = 0, "", 0
    for losses, references in curves():
        count += 1
        said, right = answer([*losses], [*references]), true_fate(losses, references)
        if said not in FATES:
            return f"you say {said!r}: expected one of {', '.join(map(repr, FATES))}"
        if said != right:
            wrong += 1
            first = first or (
                f"a loss that falls to {np.nanmin(losses):.3f} and ends at {losses[-1]:.3f}, where "
                f"float32 ends at {min(references):.3f} to {max(references):.3f}: you say "
                f"{said!r}, and it is {right!r}"
            )
    return f"{wrong} of {count} curves are wrong. The first: {first}" if wrong else None
