"""How often verdicts within a budget are wrong: 2,000 imagined comparisons.

    python scripts/simulate_budget.py                # 2,000; writes results/budget/simulation.json
    python scripts/simulate_budget.py --count 100    # fewer; only says what came out

Each has a baseline and six arms. Three arms are truly at the margin, the worst case: EQUIVALENT is
wrong there, and so is DIFFERENT. Three have truly no difference. Differences spread by 0.1 to 2
margins, runs take 20 seconds to 10 minutes, and the budget is one to four hours: all drawn. Nothing
is trained, but the seeds are spent by the code that spends them (minifp/lab/spending.py), and
verdicts are read as in a comparison. Beside it: the same time split evenly, with one test at its
end; and looking at each step with the interval of a single look, which is what a budget must not
do.
"""

import argparse
import json
import sys
from collections import Counter
from pathlib import Path
from unittest.mock import patch

import numpy as np
from scipy.stats import binomtest

from minifp.lab.budget import seeds_within
from minifp.lab.comparison import Comparison
from minifp.lab.conclusions.claims import Claim, adjusted, tested
from minifp.lab.conclusions.prices import is_decided
from minifp.lab.conclusions.scores import Score
from minifp.lab.run import Run
from minifp.lab.spending import next_of
from minifp.lab.statistics import paired
from minifp.lab.statistics.paired import DIFFERENT, EQUIVALENT

RESULT = Path(__file__).resolve().parent / "results" / "budget" / "simulation.json"
COUNT, SEEDS, MARGIN = 2_000, 32, 1.0
ARMS = [f"mixed,loss_scale={2**i}" for i in range(6)]  # of which the first three are at the margin
SCORE = Score("accuracy", "metric", "%", "max", MARGIN, lambda run: run.metric)
BUDGET, PEEKING, EVEN = "budget", "peeking", "evenly split"


class Imagined:
    """A comparison whose runs are drawn. seconds: of a run of each arm; hours: of the budget."""

    def __init__(self, seed: int) -> None:
        draw = np.random.default_rng(seed)
        spread = np.exp(draw.uniform(np.log(0.1), np.log(2), len(ARMS)))
        self.seconds = np.exp(draw.uniform(np.log(20), np.log(600), len(ARMS)))
        self.hours = draw.uniform(1, 4)
        noise = draw.standard_normal((len(ARMS) + 1, SEEDS)) / np.sqrt(2)
        self.base = draw.standard_normal(SEEDS)
        truth = np.where(np.arange(len(ARMS)) < 3, MARGIN, 0.0) * draw.choice([-1, 1], len(ARMS))
        gaps = (noise[1:] - noise[0]) * spread[:, None] + truth[:, None]
        self.metrics = dict(zip(ARMS, self.base + gaps))

    def run(self, arm: str, seed: int) -> Run:
        """A run that was never made."""
        values, seconds = self.metrics.get(arm, self.base), dict(zip(ARMS, self.seconds))
        taken = seconds.get(arm, float(self.seconds.mean()))
        return Run(arm, seed, metric=float(values[seed]), seconds=taken)

    def claims(self, pairs: dict[str, int], looks: tuple[int, ...] = ()) -> dict[str, Claim]:
        """What is claimed of each arm from so many pairs, adjusted for all."""
        both = {a: [*zip(self.metrics[a][:n], self.base[:n])] for a, n in pairs.items() if n}
        made = [
            tested(Claim(arm, "float32", SCORE, len(b), decides=True), b, looks=looks)
            for arm, b in both.items()
        ]
        return {claim.arm: claim for claim in adjusted(made)}


def spent(one: Imagined) -> dict[str, Claim]:
    """The claims at the end of a budget."""
    _, budget = seeds_within(3600 * one.hours, SEEDS, SEEDS)
    told = {"budget": budget.told(), "seeds": [*budget.seeds]}
    arms = ["float32", *ARMS]
    c = Comparison(None, 0, arms, [], [], {}, {}, registered=[told])  # type: ignore[arg-type]
    pairs = dict.fromkeys(ARMS, 0)
    while lines := next_of([c], [one.claims(pairs, budget.looks)], 1):
        for line in lines:
            c.runs += [one.run(*pair) for pair in line.pairs]
            pairs[line.arm] = len(c.runs_of(line.arm))
    return one.claims(pairs, budget.looks)


def split(one: Imagined) -> dict[str, Claim]:
    """The claims where each arm gets as many seeds, as the time is enough for."""
    a_seed = float(one.seconds.sum() + one.seconds.mean())
    return one.claims(dict.fromkeys(ARMS, min(SEEDS, int(3600 * one.hours / a_seed))))


def peeked(one: Imagined) -> dict[str, str]:
    """The first verdict of each arm that a single look's interval gives, of all looks in turn."""
    _, budget = seeds_within(1, SEEDS, SEEDS)
    found: dict[str, str] = {}
    for n in budget.looks:
        for arm, claim in one.claims(dict.fromkeys(ARMS, n)).items():
            if claim.verdict in (EQUIVALENT, DIFFERENT):
                found.setdefault(arm, claim.verdict)
    return found


def counted(one: Imagined) -> Counter:
    """What came of an imagined comparison: wrong verdicts, of one arm and of any; right ones."""
    found: Counter = Counter()
    ways = {BUDGET: spent(one), EVEN: split(one)}
    verdicts = {way: {a: c.verdict for a, c in claims.items()} for way, claims in ways.items()}
    held = {
        way: {a: c.verdict for a, c in claims.items() if is_decided(c)}
        for way, claims in ways.items()
    }
    for way, of in {**verdicts, PEEKING: peeked(one)}.items():
        found[way, "first arm EQUIVALENT"] += of.get(ARMS[0]) == EQUIVALENT
        found[way, "first arm DIFFERENT"] += of.get(ARMS[0]) == DIFFERENT
    for way, of in held.items():
        found[way, "any wrong EQUIVALENT"] += any(of.get(arm) == EQUIVALENT for arm in ARMS[:3])
        found[way, "any wrong DIFFERENT"] += DIFFERENT in of.values()
        right = [arm for arm in ARMS[3:] if of.get(arm) == EQUIVALENT]
        found[way, "right verdicts"] += len(right)
        found[way, "right and not weak"] += sum(not ways[way][arm].is_weak for arm in right)
    return found


def simulated(count: int) -> dict:
    """The shares of each kind of error, with their 95% intervals, and right verdicts of all."""
    total: Counter = Counter()
    fast = {"bca_interval": lambda *a: (0.0, 0.0), "sign_flip_p": lambda d: 1.0}
    with patch.multiple(paired, **fast, seeds_needed=lambda *a: SEEDS):
        for seed in range(count):
            total += counted(Imagined(seed))
    shares: dict = {"comparisons": count, "level": 0.05}
    for (way, what), n in sorted(total.items()):
        of = 3 * count if what.startswith("right") else count
        ends = binomtest(n, of).proportion_ci(0.95, "exact")
        shares.setdefault(way, {})[what] = [round(x, 4) for x in (n / of, ends.low, ends.high)]
    return shares


def main(arguments: list[str] | None = None) -> int:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--count", type=int, default=COUNT, help="of imagined comparisons")
    count = parser.parse_args(arguments).count
    text = json.dumps(simulated(count), indent=1) + "\n"
    print(text)
    if count == COUNT:
        RESULT.parent.mkdir(exist_ok=True)
        RESULT.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
