"""What was said before the first run: the margin, the arms and the seeds, each time with its hash.

A margin that is chosen after results were seen proves nothing. So `compare` writes down what is
claimed before it trains: in `registered.json` in the folder, and in its results. What is called
otherwise later is added below, with how many runs there were by then, and is told as what it is:
changed after the fact. Each entry's hash is also of the hash before it, so that none can be
exchanged without the later ones.
"""

import hashlib
import json
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path

from minifp.errors import ArgumentError
from minifp.lab.budget import Budget
from minifp.lab.results import schema
from minifp.lab.task_info import MetricInfo
from minifp.lab.workers.progress import spoken
from minifp.report import words
from minifp.runtime import untrusted
from minifp.saving import files

FILE = "registered.json"
PILOT, COMPARISON = "pilot", "comparison"
CLAIMS = ("metric_name", "metric_unit", "goal", "margin", "metrics", "loss_margin", "target")
CLAIMS += ("relative", "decides")  # where they are
LATER = {"relative": False, "decides": None}  # what they are in entries without them


def register(comparison, pilot: bool = False, budget: Budget | None = None) -> None:
    """Add what a call asks for, if it is not what was registered before.

    Raises ArgumentError for a budget with other looks than are planned.
    """
    held = comparison.registered
    check_looks(planned(held), budget)
    arms = [*dict.fromkeys(arm for arm, _ in comparison.asked)]
    seeds = sorted({seed for _, seed in comparison.asked})
    task = claimed(asdict(comparison.task))
    entry = {
        "kind": PILOT if pilot else COMPARISON,
        "claims": json.loads(json.dumps({k: task[k] for k in CLAIMS if k in task})),
        "arms": arms,
        "seeds": seeds,
        "settings": digest(comparison.config),
        **({} if budget is None else {"budget": budget.told()}),
    }
    if held and covers(held, entry):
        return
    entry["at"] = datetime.now(timezone.utc).isoformat(timespec="seconds")
    entry["runs"] = len(comparison.runs)
    entry["before"] = held[-1]["sha256"] if held else ""
    held.append({**entry, "sha256": digest(entry)})


def planned(held: list[dict]) -> Budget | None:
    """The budget that was registered last, if there is one: its looks count from then on."""
    entry = next((e for e in reversed(held) if "budget" in e), None)
    if entry is None:
        return None
    budget = entry["budget"]
    return Budget(budget["seconds"], tuple(entry["seeds"]), tuple(budget["looks"]))


def check_looks(before: Budget | None, budget: Budget | None) -> None:
    """Raise ArgumentError where a budget has not the seeds and looks that are planned."""
    if before and budget and (before.looks, before.seeds) != (budget.looks, budget.seeds):
        raise ArgumentError(
            f"the folder has {before} of the seeds {list(before.seeds)}: looks cannot change once "
            "results were seen. Give as many seeds as then, or another folder"
        )


def claimed(task: dict) -> dict:
    """Without what earlier versions did not know, where it is as it was for them."""
    metrics = [{k: v for k, v in m.items() if k not in LATER or v} for m in task["metrics"]]
    return {k: v for k, v in {**task, "metrics": metrics}.items() if k not in LATER or v}


def covers(held, entry) -> bool:
    """Whether all of an entry was registered before."""
    last = held[-1]
    same = all(last[key] == entry[key] for key in ("claims", "settings"))
    arms = {arm for e in held for arm in e["arms"]}
    seeds = {seed for e in held for seed in e["seeds"]}
    turned = last["kind"] == PILOT and entry["kind"] == COMPARISON
    budgets = [e["budget"] for e in held if "budget" in e][-1:]
    same = same and entry.get("budget") in (None, *budgets)
    return same and {*entry["arms"]} <= arms and {*entry["seeds"]} <= seeds and not turned


def digest(value) -> str:
    """The SHA-256 of a value's JSON."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


# ---- in the folder -------------------------------------------------------------------------------


def read(folder: Path) -> list[dict]:
    """What was registered in a folder. Raises ArgumentError where it was edited or damaged."""
    path = folder / FILE
    if not path.is_file():
        return []
    try:
        files.check_within(folder, path)
        held = untrusted.json_of(path)
        schema.check(held, schema.REGISTERED, path)
        known = {"", *(entry["sha256"] for entry in held)}
        for entry in held:
            content = {key: value for key, value in entry.items() if key != "sha256"}
            if entry["sha256"] != digest(content) or entry["before"] not in known:
                raise ValueError("an entry does not match its hash")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ArgumentError(
            f"{path}: {error}. It records what was claimed before training and must not be edited: "
            "restore the old file, or delete it; then results say that nothing was registered"
        ) from error
    return held


def take_up(held: list[dict], there: list[dict]) -> None:
    """Add what was registered in a folder since it was read: before what was registered here."""
    known = {entry["sha256"] for entry in there}
    held[:] = [*there, *(entry for entry in held if entry["sha256"] not in known)]


def text_of(held: list[dict]) -> str:
    """What the file holds."""
    return json.dumps(held, indent=1, ensure_ascii=False)


# ---- in words ------------------------------------------------------------------------------------


def sentences(held: list[dict]) -> list[str]:
    """What was registered when, the first first."""
    return [sentence(entry, held[:i]) for i, entry in enumerate(held)]


def sentence(entry, before) -> str:
    """One entry."""
    when = "before the first run" if not entry["runs"] else after(entry)
    kind = "a pilot" if entry["kind"] == PILOT else "a comparison"
    seeds = words.plural(len(entry["seeds"]), "seed")
    changed = changes(entry, before)
    said = "; ".join(changed) if changed else margin_text(entry["claims"])
    of = f"{kind} of {', '.join(entry['arms'])} with {seeds}"
    held = planned([entry])
    with_budget = f" and {held}" if held else ""
    about = f"Registered {when}, {entry['at'][:10]}: {of}{with_budget}; {said}"
    return f"{about} (sha256 {entry['sha256'][:12]})."


def after(entry) -> str:
    """After how many runs."""
    return f"after {words.plural(entry['runs'], 'run')}"


def margin_text(claims) -> str:
    """What is claimed, and with which margins."""
    name, unit, goal, margin = (claims[name] for name in CLAIMS[:4])
    primary = MetricInfo(name, unit, goal, margin, claims.get("relative", False))
    size = f"±{primary.margin:g} {primary.difference_unit}".rstrip()
    texts = [f"margin of {primary.name} {size}"]
    texts += [f"of {m['name']} {m['margin']:g}" for m in claims["metrics"] if m["margin"]]
    for name in ("loss_margin", "target"):
        if claims[name] is not None:
            texts.append(f"{words.spaced(name)} {claims[name]:g}")
    if claims.get("decides"):
        texts.append(f"decided by the {claims['decides']}")
    return ", ".join(texts)


def changes(entry, before) -> list[str]:
    """What is claimed otherwise than before."""
    if not before or before[-1]["claims"] == entry["claims"]:
        return []
    old, new = before[-1]["claims"], entry["claims"]
    pairs = {k: (old.get(k, LATER.get(k)), new.get(k, LATER.get(k))) for k in CLAIMS}
    return [f"{words.spaced(k)} was {a} and is {b}" for k, (a, b) in pairs.items() if a != b]


def warnings(held: list[dict]) -> list[str]:
    """What was changed, or added, when results could have been seen."""
    texts = []
    if held and held[0]["runs"]:
        texts.append(
            f"Nothing was registered before the first {words.plural(held[0]['runs'], 'run')}: so "
            "nothing shows whether the margin was fixed before them."
        )
    for i, entry in enumerate(held[1:], 1):
        changed, last = changes(entry, held[:i]), held[i - 1]
        if changed and entry["runs"]:
            texts.append(f"CHANGED {after(entry).upper()}: {'; '.join(changed)}.")
        texts += budget_warnings(entry, held[:i])
        more = sorted({*entry["seeds"]} - {s for e in held[:i] for s in e["seeds"]})
        if more and entry["runs"] and last["kind"] != PILOT and "budget" not in entry:
            texts.append(
                f"{words.plural(len(more), 'seed')} more than first planned, {after(entry)}: "
                "adding seeds until a verdict appears makes false verdicts likelier. Plan their "
                "number (--plan)."
            )
    return texts


def budget_warnings(entry, before) -> list[str]:
    """That a budget came, or changed, when results could have been seen."""
    budget, old = planned([entry]), planned(before)
    if budget is None or not entry["runs"] or budget == old:
        return []
    if old is None:
        return [
            f"LOOKS PLANNED {after(entry).upper()}: {budget}. If the results until then had a say, "
            "false verdicts are likelier than is said."
        ]
    return [
        f"The budget was {spoken(old.seconds)} and is {spoken(budget.seconds)}, {after(entry)}. "
        "The looks stayed, and so did the error rates."
    ]
