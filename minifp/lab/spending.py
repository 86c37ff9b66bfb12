"""Runs within a budget: the next seeds go where a verdict is cheapest, from look to look."""

from collections.abc import Mapping, Sequence
from itertools import chain

from minifp.lab.conclusions.claims import Claim
from minifp.lab.conclusions.prices import Line, affordable, lines_of
from minifp.lab.workers.carry_out import carry_out
from minifp.lab.workers.request import Request

Decisive = Mapping[str, Claim]  # what decides on an arm, by its text


def spend(
    title: str, comparisons, requests: Sequence[Request], engine, progress, budget, decisive
) -> None:
    """Have those runs made that bring verdicts, until all are there or no other is to be expected
    within the budget, and add each to its comparison; without a budget all.

    requests: the runs of all seeds that are missing. budget: a Budget, or None. decisive: a
    function that says what decides on each arm of each comparison by now, adjusted together.
    """
    if budget is None:
        return carry_out(title, requests, engine, progress)
    there, lanes = {(id(o.comparison), o.arm, o.seed): o for o in requests}, engine.lanes
    for comparison in comparisons:
        ask(comparison, [])
    while lines := next_of(comparisons, decisive(), lanes, there):
        runs: dict[tuple, None] = {}
        for line in lines:
            runs |= {(id(line.comparison), *pair): None for pair in line.pairs}
        for comparison in comparisons:
            ask(comparison, [run[1:] for run in runs if run[0] == id(comparison)])
        carry_out(title, [there[run] for run in runs], engine, progress)


def ask(comparison, pairs: Sequence[tuple[str, int]]) -> None:
    """Ask for these runs, beside those that are there."""
    there = [(run.precision, run.seed) for run in comparison.runs]
    comparison.asked = [*dict.fromkeys([*there, *pairs])]
    comparison.seeds = sorted({seed for _, seed in comparison.asked})


def next_of(comparisons, decisive: Sequence[Decisive], lanes: int, there=None) -> list[Line]:
    """What goes on to its next look: the line of the cheapest verdict, and more where that has not
    as many runs as there are lanes; none where nothing is open that can be paid.

    there: (id of the comparison, arm, seed) of the runs that may be made; None for all.
    """
    taken = sum(run.seconds for comparison in comparisons for run in comparison.runs)
    left = comparisons[0].budget.seconds - taken / lanes
    every = [lines_of(*one, lanes) for one in zip(comparisons, decisive)]
    chosen: list[Line] = []
    for line in affordable([*chain(*every)], left):
        takes, whose = line.ways[0].seconds, id(line.comparison)
        if there is not None and not {(whose, *pair) for pair in line.pairs} <= there.keys():
            continue
        if sum(len(other.pairs) for other in chosen) < lanes and takes <= left:
            chosen.append(line)
            left -= takes
    return chosen
