"""Measuring: all implementations of a workload in turn, round after round.

In every round each implementation, in a process of its own, takes as many steps as fit into a short
time, while the others sleep; the next round begins with another one. So what else happens on the
machine meets all of them alike, and their ratios, taken round by round, are steadier than seconds.
"""

from contextlib import ExitStack
from dataclasses import dataclass
from statistics import median, quantiles

from .floor import Rates, floor
from .process import Failure, Process

OURS = ("minifp-float32", "minifp-mixed")
FLOAT32 = ("torch-float32", "torch-float32-last")
NARROW = (
    *("torch-bfloat16", "torch-bfloat16-last"),
    *("torch-float16", "torch-float16-last"),
)
IMPLEMENTATIONS = (*OURS, *FLOAT32, *NARROW)
COMPILING = 900  # seconds that may pass until the first answer, and the first step
TOLERANCE = {"float32": 1e-3, "mixed": 0.02, "bfloat16": 0.05, "float16": 0.05}  # of first losses
DROPPED = 0.2  # of those of networks with dropout, each of which drops others


@dataclass
class Settings:
    """How to measure. repeat: rounds. seconds: of one implementation in one round. limit: seconds
    that a step in PyTorch's float16 may take; slow: from how many on it takes but two."""

    repeat: int = 7
    seconds: float = 0.25
    limit: float = 60.0
    slow: float = 1.0
    tiny: bool = False
    clock: str = "wall"
    floors: bool = True  # whether to measure what a step cannot do without, and what it holds
    implementations: tuple = IMPLEMENTATIONS
    say: object = print  # called with what is being done


def is_slow_kind(implementation):
    """Whether an implementation may take seconds for a step, or not be able to take one."""
    return implementation.startswith("torch-float16")


def chosen(settings, workload):
    """The implementations of a workload: layouts only where there are pictures."""
    return [
        name for name in settings.implementations if workload.pictures or not name.endswith("-last")
    ]


class Contestant:
    """One implementation of one workload, warm, and what was measured of it."""

    def __init__(self, process, settings, kind, name):
        self.process, self.settings = process, settings
        self.implementation = process.implementation
        limit = settings.limit if is_slow_kind(self.implementation) else COMPILING
        process.ask("make", limit, kind=kind, name=name, tiny=settings.tiny)
        first = self.ask_steps(1, 0, limit)[0]
        self.loss = process.ask("loss")["loss"]
        self.rounds, self.most, self.is_slow, self.lost = [], settings.repeat, False, 0
        if is_slow_kind(self.implementation) and total(first) > settings.slow:
            self.steps, self.before, self.most, self.is_slow = 1, 0, 2, True
            return
        process.ask("settle", COMPILING)
        again = total(self.ask_steps(1, 0)[0])
        self.steps = min(max(round(settings.seconds / max(again, 1e-6)), 1), 200)
        self.before = int(again < 0.5)

    def ask_steps(self, steps, before, limit=COMPILING):
        """Seconds of each phase of so many steps."""
        clock = self.settings.clock
        answer = self.process.ask("run", limit, steps=steps, before=before, clock=clock)
        self.skipped = answer["skipped"]
        return answer["steps"]

    def take(self):
        """Take part in a round."""
        if len(self.rounds) < self.most:
            steps = self.ask_steps(self.steps, self.before)
            self.rounds.append({phase: median(s[phase] for s in steps) for phase in steps[0]})
            self.rounds[-1]["total"] = median(map(total, steps))
            self.lost += self.skipped

    def found(self):
        """Medians over the rounds, and the quartiles of the total."""
        totals = [r["total"] for r in self.rounds]
        low, _, high = quantiles(totals, n=4) if len(totals) > 1 else totals * 3
        phases = {phase: median(r[phase] for r in self.rounds) for phase in self.rounds[0]}
        return {
            **{"seconds": phases.pop("total"), "low": low, "high": high, "phases": phases},
            **{"rounds": totals, "steps_a_round": self.steps, "is_slow": self.is_slow},
            **{"skipped": self.lost, "first_loss": self.loss},
        }


def total(phases):
    """The seconds of a step."""
    return sum(phases.values())


def measure(kind, workload, threads, processes, rates, settings):
    """One workload on so many threads, as JSON takes it; processes: by implementation, started."""
    result = {"kind": kind, "name": workload.name, "title": workload.title, "threads": threads}
    contestants, failed = [], {}
    for name, process in processes.items():
        settings.say(f"{workload.name}: {name} warms up")
        try:
            contestants.append(Contestant(process, settings, kind, workload.name))
        except Failure as error:
            failed[name] = {"error": str(error)}
    for i in range(settings.repeat):
        settings.say(f"{workload.name}: round {i + 1} of {settings.repeat}")
        turn = i % max(len(contestants), 1)
        for contestant in [*contestants[turn:], *contestants[:turn]]:
            if contestant.implementation not in failed:
                try:
                    contestant.take()
                except Failure as error:
                    failed[contestant.implementation] = {"error": str(error)}
    contestants = [c for c in contestants if c.implementation not in failed]
    result["implementations"] = {c.implementation: c.found() for c in contestants} | failed
    result["ratios"] = ratios(contestants)
    result["notes"] = disagreements(contestants, getattr(workload, "drops", False))
    settings.say(f"{workload.name}: what it cannot do without")
    result["floor"] = {}
    for contestant in contestants:
        if contestant.implementation in OURS and settings.floors:
            try:
                _look_into(contestant, workload, rates, result)
            except Failure as error:
                result["notes"].append(f"{contestant.implementation}: {error}")
    return result


def _look_into(contestant, workload, rates, result):
    """What a step of ours cannot do without, and of a model's what it holds."""
    name, process = contestant.implementation, contestant.process
    if result["kind"] == "model" and workload.is_trained:
        result.setdefault("held", {})[name] = process.ask("held", COMPILING)
    trace = process.ask("trace", COMPILING)
    result["floor"][name] = floor(trace, rates, workload.inner)


def ratios(contestants):
    """Seconds of one over those of another: medians of their ratios in each round, by "a/b"."""
    by_name, found = {c.implementation: c for c in contestants}, {}
    fastest = sorted(
        (n for n in FLOAT32 if n in by_name), key=lambda n: by_name[n].found()["seconds"]
    )
    for base in (OURS[0], *fastest[:1]):
        for name, contestant in by_name.items():
            if name != base and base in by_name:
                pairs = zip(contestant.rounds, by_name[base].rounds)
                found[f"{name}/{base}"] = median(a["total"] / b["total"] for a, b in pairs)
    return found


def disagreements(contestants, drops=False):
    """Whose first loss is not that of the others: it computes something else."""
    losses = {c.implementation: c.loss for c in contestants if c.loss is not None}
    if not losses:
        return []
    base = next((losses[n] for n in (*FLOAT32, *OURS) if n in losses), None)
    limits = {n: DROPPED if drops else TOLERANCE[n.split("-")[1]] for n in losses}
    return [
        f"the first loss of {name} is {loss:.4f}, not {base:.4f}"
        for name, loss in losses.items()
        if base and not abs(loss - base) <= limits[name] * abs(base)
    ]


def memory(kind, workload, threads, name, settings):
    """Bytes that a fresh process holds at its peak while it takes steps: `process`.

    Of these `imports` were there before the model was made, and `loaded` after steps of a tiny
    model of its kind, when code is loaded that imports alone do not load. {} where the system does
    not tell.
    """
    with Process(name, threads) as process:
        imported = process.ask("about", COMPILING)["imported"]
        if "now" not in imported:
            return imported and {"process": _peak(process, kind, workload, settings.tiny)}
        _peak(process, kind, workload, True)
        loaded = process.ask("memory")["now"]
        process.ask("forget_peak")
        peak = _peak(process, kind, workload, settings.tiny)
        return {"process": peak, "imports": imported["now"], "loaded": loaded}


def _peak(process, kind, workload, tiny):
    process.ask("make", COMPILING, kind=kind, name=workload.name, tiny=tiny)
    process.ask("settle", COMPILING)
    return process.ask("memory")["peak"]


class Bench:
    """All measurements of a run; `done` is called with all results so far after each."""

    def __init__(self, settings, done):
        self.settings, self.done = settings, done
        self.results, self.about, self.rates = [], {}, {}

    def run(self, kind, found, threads, with_memory):
        """Measure workloads of one kind: each model in processes of its own, operations in shared
        ones."""
        for group in [[w] for w in found] if kind == "model" else [found]:
            with ExitStack() as stack:
                processes = {}
                for workload in group:
                    self._measure(kind, workload, threads, processes, stack)
                    if with_memory:
                        self._measure_memory(kind, workload, threads)
                    self.done(self)

    def _measure(self, kind, workload, threads, processes, stack):
        names = chosen(self.settings, workload)
        new = [n for n in names if n not in processes or processes[n].child.poll() is not None]
        for name in new:
            processes[name] = stack.enter_context(Process(name, threads))
        for name in new:
            try:
                self.about |= processes[name].ask("about", COMPILING)["about"]
            except Failure:
                continue  # says so again when it is asked to make something
        rates = self.rates.setdefault(threads, Rates(self.settings.tiny))
        ours = [processes[n] for n in OURS if n in processes]
        rates.processes = ours[:1] + [processes[n] for n in FLOAT32[:1] if n in processes]
        those = {name: processes[name] for name in names}
        self.results.append(measure(kind, workload, threads, those, rates, self.settings))

    def _measure_memory(self, kind, workload, threads):
        result, found = self.results[-1], {}
        for name, measured in result["implementations"].items():
            if "error" in measured or measured["is_slow"]:
                continue
            self.settings.say(f"{workload.name}: memory of {name}")
            try:
                found[name] = memory(kind, workload, threads, name, self.settings)
            except Failure as error:
                found[name] = {"error": str(error)}
        result["memory"] = found

    def found(self):
        """As JSON takes it."""
        return {
            "about": self.about,
            "results": self.results,
            "rates": {str(threads): rates.found() for threads, rates in self.rates.items()},
        }
