"""Compute the recorded intervals, p values and verdicts once more, with SciPy alone.

    python scripts/recompute_with_scipy.py     # says how many agree; fails where one does not

Read are the runs in scripts/results (gallery.csv, results.json) and what was concluded from them
(gallery.json, verdicts.json, results.json, evaluation.json). Of minifp comes only what is claimed
of an exhibit, its margin and its arms, and none of its statistics. gallery.json is held to the
rules of when it was written: what was registered, and each verdict by itself. Of a budget, bounds
are held to their level by simulation, and intervals to the bounds; p values are left out.
"""

import argparse
import csv
import json
import math
import sys
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
from scipy import stats

from minifp.lab.ablation.effects import contexts
from minifp.lab.ablation.factors import DEFAULT, as_base, as_factors
from minifp.lab.exhibits.catalog import known
from minifp.lab.exhibits.showing import BASE, cells_of

RESULTS = Path(__file__).resolve().parent / "results"
BASELINE, LEVEL, CLOSE = "float32", 0.05, 1e-6
Ends = dict[tuple[str, int], float]  # the final metric of each run that finished, by arm and seed


# ---- the statistics -----------------------------------------------------------------------------


def of_pairs(ours, theirs, margin=None, relative=False) -> dict:
    """Mean, interval, p values and verdict of paired numbers; of ratios on logarithms."""
    if relative:
        ours, theirs = 100 * np.log(ours), 100 * np.log(theirs)
        margin = margin and 100 * math.log1p(margin / 100)
    d = np.subtract(ours, theirs)
    if len(d) < 2:
        return {"difference": d.mean()}
    if np.ptp(d) == 0:
        low = high = d.mean()
    else:
        low, high = stats.ttest_1samp(d, 0).confidence_interval(0.9)
    found = {"difference": d.mean(), "low": low, "high": high, "sd": d.std(ddof=1)}
    found["sign_flip_p"] = flip_p(d)
    if relative:
        found |= {k: 100 * math.expm1(found[k] / 100) for k in ("difference", "low", "high")}
    if margin is None or len(d) < 3:
        return found
    sides = {"p_low": (-margin, "greater"), "p_high": (margin, "less")}
    found |= {k: one_sided(d, at, way) for k, (at, way) in sides.items()}
    outside = min(one_sided(d, -margin, "less"), one_sided(d, margin, "greater"))
    found |= {"p_equivalent": max(found["p_low"], found["p_high"]), "p_different": outside}
    decided = {"EQUIVALENT": found["p_equivalent"], "DIFFERENT": outside}
    verdict = [name for name, p in decided.items() if p < LEVEL]
    return {**found, "verdict": verdict[0] if verdict else "INCONCLUSIVE"}


def at_looks(ours, theirs, margin: float, relative: bool, budget: dict) -> dict:
    """The interval that all looks of a budget until now have in common, and its verdict."""
    if relative:
        told = at_looks(*np.log((ours, theirs)), math.log1p(margin / 100), False, budget)
        ends = ("difference", "low", "high")
        return {**told, **{name: 100 * math.expm1(told[name]) for name in ends}}
    d, low, high = np.subtract(ours, theirs), -math.inf, math.inf
    for n, bound in zip(budget["looks"], budget["bounds"]):
        if n <= len(d):
            half = bound * stats.sem(d[:n])
            low, high = max(low, d[:n].mean() - half), min(high, d[:n].mean() + half)
    verdict = "DIFFERENT" if low > margin or high < -margin else "INCONCLUSIVE"
    verdict = "EQUIVALENT" if -margin < low and high < margin else verdict
    return {"difference": d.mean(), "low": low, "high": high, "verdict": verdict}


def one_sided(d, at: float, way: str) -> float:
    """The p value of a t test against one side."""
    if np.ptp(d) == 0:
        return float((d.mean() <= at) if way == "greater" else (d.mean() >= at))
    return float(stats.ttest_1samp(d, at, alternative=way).pvalue)


def flip_p(d) -> float | None:
    """That of the sign-flip test, where every combination can be tried."""
    if len(d) > 12:
        return None
    return stats.permutation_test(
        (d,), np.sum, permutation_type="samples", n_resamples=math.inf
    ).pvalue


def holm(ps: list[float]) -> list[float]:
    """Adjusted p values."""
    order, steps = np.argsort(ps), np.arange(len(ps), 0, -1)
    adjusted = np.minimum(1, np.maximum.accumulate(steps * np.sort(ps)))
    return [float(adjusted[list(order).index(i)]) for i in range(len(ps))]


# ---- what is recorded ---------------------------------------------------------------------------

agreed: Counter = Counter()
wrong: list[str] = []


def hold(place: str, told: dict, found: dict, names) -> None:
    """Compare what was recorded, as far as it was, with what SciPy finds."""
    for name in names:
        if told.get(name) is None or found.get(name) is None:
            continue
        a, b = told[name], found[name]
        same = a == b if isinstance(a, str) else math.isclose(a, b, rel_tol=CLOSE, abs_tol=CLOSE)
        agreed[name] += same
        if not same:
            wrong.append(f"{place}, {name}: recorded {a}, SciPy {b}")


def hold_level(place: str, budget: dict, times: int = 200_000) -> None:
    """How often Student's t of normal numbers is beyond its bound at any look, against the level,
    within five standard errors."""
    d, crossed = np.random.default_rng(0).normal(size=(times, budget["looks"][-1])), False
    for n, bound in zip(budget["looks"], budget["bounds"]):
        crossed |= stats.ttest_1samp(d[:, :n], 0, axis=1).statistic > bound
    share, level = float(np.mean(crossed)), budget["level"]
    if abs(share - level) < 5 * math.sqrt(level / times):
        agreed["level"] += 1
    else:
        wrong.append(f"{place}: bounds are crossed in {share:.2%}, expected {level:.0%}")


def ends_of(rows: list[dict]) -> tuple[Ends, Ends]:
    """The metric of the runs that finished, and 0 for those that did not."""
    runs = {(r["arm"], int(r["seed"])): r for r in rows}
    good = {k: r for k, r in runs.items() if r["status"] == "finished" and r["metric"]}
    return {k: float(r["metric"]) for k, r in good.items()}, dict.fromkeys({*runs} - {*good}, 0.0)


def pairs_of(ends: Ends, arm: str) -> tuple[list[float], list[float]]:
    """The metrics of an arm, and of what it is held against, by seed."""
    other = arm.rpartition("@")[0] or BASELINE
    seeds = sorted(s for a, s in ends if a == arm and (other, s) in ends)
    return [ends[arm, s] for s in seeds], [ends[other, s] for s in seeds]


def of_gallery(folder: Path, name: str) -> None:
    """A gallery's results and effects, by the rules of when the file was written."""
    whole = json.loads((folder / "gallery.json").read_text(encoding="utf-8"))
    told = json.loads((folder / name).read_text(encoding="utf-8"))
    claimed = {e["name"]: e.get("registered") for e in whole["exhibits"]}
    with (folder / "gallery.csv").open(encoding="utf-8", newline="") as lines:
        rows = [*csv.DictReader(lines)]
    families, is_new = defaultdict(list), name == "verdicts.json"
    for e in told["exhibits"]:
        exhibit, place = known()[e["name"]], f"{folder.name}/{name}, {e['name']}"
        task, budget = exhibit.task(whole["scale"]), (claimed[e["name"]] or [{}])[-1].get("budget")
        margin, relative = task.margin, task.relative
        if budget:
            hold_level(place, budget)
        claims = (claimed[e["name"]] or [{}])[-1].get("claims", {})
        is_other = claims.get("metric_name", task.metric_name) != task.metric_name
        if is_other or not is_new:
            margin, relative = claims.get("margin", margin), claims.get("relative", False)
        ends, lost = ends_of([row for row in rows if row["exhibit"] == e["name"]])
        results = e.get("results") or {r["arm"]: r for r in e.get("responses", ())}
        for arm, r in results.items():
            values = [v for (a, _), v in ends.items() if a == arm]
            own = {"n": len(values) + sum(a == arm for a, _ in lost), "mean": np.mean(values or 0)}
            hold(f"{place}, {arm}", r, own, ("n", "mean") if values else ("n",))
            found = of_pairs(*pairs_of(ends, arm), margin, relative) if values else {}
            if arm == BASELINE or not found:
                continue
            if budget:
                found = at_looks(*pairs_of(ends, arm), margin, relative, budget)
            if any(a == arm and (BASELINE, seed) in ends for a, seed in lost):
                found["verdict"] = "DIVERGED"
            hold(f"{place}, {arm}", r, found, ("difference", "low", "high", "verdict"))
            if not budget and r["verdict"] in ("EQUIVALENT", "DIFFERENT", "INCONCLUSIVE"):
                families[e["claim"]].append((f"{place}, {arm}", r, found))
        of_effects(place, exhibit, e.get("effects", ()), ends, margin, relative, is_new)
    for family in families.values():
        adjusted(family)


def adjusted(family: list[tuple]) -> None:
    """Hold the adjusted p values of a family against Holm's."""
    kinds = ("p_equivalent", "p_different")
    each = {kind: holm([found[kind] for _, _, found in family]) for kind in kinds}
    for i, (place, r, found) in enumerate(family):
        kind = {"EQUIVALENT": "p_equivalent", "DIFFERENT": "p_different"}.get(found["verdict"])
        hold(place, r, {"holm": each[kind][i] if kind else None}, ("holm",))


def of_effects(place, exhibit, effects, ends, margin, relative, is_new) -> None:
    """The effects of techniques: means over the combinations of the others, paired by seed."""
    cells, family = cells_of(exhibit), []
    factors = [factor.switch for factor in as_factors(DEFAULT, as_base(BASE))] if effects else []
    seeds = sorted({s for _, s in ends if all((arm, s) in ends for arm in cells.values())})
    for e in effects:
        both = contexts(cells, factors.index(e["factor"]), e["way"])
        mean = stats.gmean if relative else np.mean
        ours, theirs = ([mean([ends[p[i], s] for p in both]) for s in seeds] for i in (0, 1))
        if len(seeds) != e["pairs"] or not seeds:
            continue
        found = of_pairs(ours, theirs, margin, relative)
        found["mean"] = found.pop("difference")
        where = f"{place}, {e['factor']} {e['way']}"
        hold(where, e, found, ("mean", "low", "high"))
        if e["verdict"] in ("EQUIVALENT", "DIFFERENT", "INCONCLUSIVE"):
            hold(where, e, found, ("verdict",))
            family.append((where, e, found))
    if is_new and family:
        adjusted(family)


def of_comparison(folder: Path) -> None:
    """The rows and scores of a results.json."""
    whole = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    rows = [{**run, "arm": run["precision"]} for run in whole["runs"]]
    ends, lost = ends_of(rows)
    margin, relative = whole["task"]["margin"], whole["task"].get("relative", False)
    for row in whole["rows"]:
        arm, bad = row["precision"], sum(a == row["precision"] for a, _ in lost)
        interval = stats.binomtest(bad, row["n"]).proportion_ci(0.95, "exact")
        told = dict(zip(("low", "high"), row["diverged_interval"]))
        hold(f"{folder.name}, {arm} diverged", told, interval._asdict(), ("low", "high"))
        if row["paired"]:
            found = of_pairs(*pairs_of(ends, arm), margin, relative)
            names = ("difference", "low", "high", "verdict")
            hold(f"{folder.name}, {arm}", row, found, names[: 3 + (row["coarse"] == "")])
            hold(f"{folder.name}, {arm}", row["paired"], found, ("p_low", "p_high", "sign_flip_p"))
    for score in whole["scores"]:
        if score["score"] == whole["task"]["metric_name"] and "@" not in score["arm"]:
            found = of_pairs(*pairs_of(ends, score["arm"]), margin, relative)
            hold(f"{folder.name}, {score['arm']}", score, found, ("p_equivalent", "p_different"))


def of_evaluation(path: Path) -> None:
    """McNemar's tests: the exact binomial ones."""
    for checkpoint in json.loads(path.read_text(encoding="utf-8"))["checkpoints"]:
        for precision, r in checkpoint["results"].items():
            changed = r.get("changed") or {}
            if "p" in changed:
                n = changed["gained"] + changed["lost"]
                p = stats.binomtest(changed["gained"], n).pvalue if n else 1.0
                hold(
                    f"{path.name}, {checkpoint['checkpoint']}, {precision}", changed, {"p": p}, "p"
                )


def of_simulation(path: Path) -> None:
    """Shares of errors, which must not be significantly above the level."""
    told = json.loads(path.read_text(encoding="utf-8"))
    for name, (share, low, high) in told["budget"].items():
        of = told["comparisons"] * (3 if name.startswith("right") else 1)
        ends = stats.binomtest(round(share * of), of).proportion_ci(0.95, "exact")
        found = {k: round(end, 4) for k, end in ends._asdict().items()}
        hold(f"{path.name}, {name}", {"low": low, "high": high}, found, ("low", "high"))
        if "right" not in name and low > LEVEL:
            wrong.append(f"{path.name}, {name}: {share:.1%}, expected at most {LEVEL:.0%}")


def main(arguments: list[str] | None = None) -> int:
    raw = argparse.RawDescriptionHelpFormatter
    argparse.ArgumentParser(description=__doc__, formatter_class=raw).parse_args(arguments)
    for path in sorted(RESULTS.rglob("*.json")):
        is_of_gallery = (path.parent / "gallery.csv").is_file()
        if path.name in ("gallery.json", "verdicts.json") and is_of_gallery:
            of_gallery(path.parent, path.name)
        elif path.name == "results.json":
            of_comparison(path.parent)
        elif path.name == "evaluation.json":
            of_evaluation(path)
        elif path.name == "simulation.json":
            of_simulation(path)
    print(*wrong, sep="\n")
    each = ", ".join(f"{n} {name}" for name, n in agreed.items())
    print(f"{sum(agreed.values())} recorded numbers and verdicts agree with SciPy: {each}.")
    return min(len(wrong), 1)


if __name__ == "__main__":
    sys.exit(main())
