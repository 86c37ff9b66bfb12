"""The table of a run, and the bars that its figures are held against, as Markdown."""

from dataclasses import dataclass
from statistics import geometric_mean

from .gallery import GROUPS, LARGE
from .rounds import FLOAT32, OURS

BFLOAT16 = ("torch-bfloat16", "torch-bfloat16-last")
FLOAT16 = ("torch-float16", "torch-float16-last")
MINE, MIXED = "minifp-float32", "minifp-mixed"
UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"))
NOTHING = "-"


# ---- one result ---------------------------------------------------------------------------------


def measured(result, *names):
    """The fastest of these implementations, as (name, what was found), or None."""
    found = [(n, result["implementations"].get(n, {})) for n in names]
    found = [(n, m) for n, m in found if "seconds" in m]
    return min(found, key=lambda pair: pair[1]["seconds"]) if found else None


def ratio(result, names, bases):
    """Seconds of the fastest of some over those of the fastest of others: None if not measured.

    Of pairs in the same rounds it is the median ratio.
    """
    a, b = measured(result, *names), measured(result, *bases)
    if a is None or b is None:
        return None
    return result["ratios"].get(f"{a[0]}/{b[0]}", a[1]["seconds"] / b[1]["seconds"])


def above_floor(result, *names):
    """Seconds of the fastest of some over the floor: that of float32 for what is not ours."""
    found = measured(result, *names)
    under = found and result["floor"].get(found[0], result["floor"].get(MINE))
    if not under or under["seconds"] < 1e-7:
        return None
    return found[1]["seconds"] / under["seconds"]


def of_tape(result, name):
    """Bytes of activations and gradients that a step holds at its peak."""
    held = result.get("held", {}).get(name)
    return held and held["activations"] + held["gradients"]


def quotient(a, b):
    """a / b, None where one is missing."""
    return a / b if a and b else None


def of_process(result, name, without=None):
    """Bytes a process holds at its peak, without those of "imports" or "loaded"."""
    found = result.get("memory", {}).get(name, {})
    if "process" not in found or (without and without not in found):
        return None
    return found["process"] - (found[without] if without else 0)


# ---- bars ---------------------------------------------------------------------------------------


@dataclass
class Bar:
    """A limit that a figure of a result is held against."""

    what: str
    limit: float
    value: float
    least: bool = False  # whether the limit is from below

    @property
    def is_met(self):
        """Whether the figure keeps to it."""
        return self.value >= self.limit if self.least else self.value <= self.limit


def bars_of(result):
    """The Bars of one result whose figures were measured."""
    found = _of_model(result) if result["kind"] == "model" else _of_operation(result)
    return [bar for bar in found if bar.value is not None]


def limit_beside_pytorch(name):
    """What a mixed step may take, as a share of PyTorch's float32 step."""
    if name.startswith(LARGE.name):
        return 1.2
    if any(name in names for names in GROUPS.values()):
        return 1.3  # of one network; the mean of all is held against 1: see `means_table`
    return 0.8 if name in ("mlp", "gru") else 1.0


def _of_model(result):
    against = limit_beside_pytorch(result["name"])
    halves = ratio(result, FLOAT16, (MIXED,))
    yield Bar("mixed / own float32", 1.0, ratio(result, [MIXED], [MINE]))
    yield Bar("own float32 / PyTorch float32", 1.1, ratio(result, [MINE], FLOAT32))
    yield Bar("mixed / PyTorch float32", against, ratio(result, [MIXED], FLOAT32))
    yield Bar("PyTorch float16 / mixed", 20.0, halves, least=True)
    yield Bar("own float32 / its floor", 1.6, above_floor(result, MINE))
    yield Bar("mixed / its floor", 1.6, above_floor(result, MIXED))
    held = quotient(of_tape(result, MIXED), of_tape(result, MINE))
    yield Bar("activations and gradients, mixed / own float32", 0.52, held)
    for without in (None, "loaded"):
        theirs = [of_process(result, name, without) for name in FLOAT32]
        theirs = min((t for t in theirs if t), default=None)
        what = "peak memory" + (" but for what is loaded" if without else "")
        value = quotient(of_process(result, MIXED, without), theirs)
        yield Bar(f"{what}, mixed / PyTorch float32", 1.0, value)


def _of_operation(result):
    if result["name"] == "add-16":
        found = measured(result, MIXED)
        yield Bar("microseconds of a recorded addition", 6.0, found and found[1]["seconds"] * 1e6)
    else:
        yield Bar("float16 / PyTorch float32", 1.0, ratio(result, [MIXED], FLOAT32))


# ---- texts --------------------------------------------------------------------------------------


def three_digits(x):
    """A number with three digits, or all of its whole ones."""
    if x >= 100:
        return f"{x:,.0f}"
    return f"{x:.1f}" if x >= 10 else f"{x:.2f}"


def time_text(seconds):
    """Seconds in the unit that leaves digits before the point."""
    unit, name = next((u for u in UNITS if seconds >= u[0]), UNITS[-1])
    return f"{three_digits(seconds / unit)} {name}"


def cell(found):
    """The time of (name, what was found), and which layout it was."""
    if found is None:
        return NOTHING
    layout = " (last)" if found[0].endswith("-last") else ""
    return time_text(found[1]["seconds"]) + layout


def times(x):
    """A ratio."""
    return NOTHING if x is None else f"{x:.2f}"


def size_text(size):
    """Bytes in MB."""
    return NOTHING if size is None else f"{three_digits(size / 1e6)}"


def layout(head, rows):
    """A Markdown table whose columns are aligned as plain text too; numbers to the right."""
    lines = [list(map(str, row)) for row in (head, *rows)]
    widths = [max(map(len, column)) for column in zip(*lines)]
    texts = [
        "| " + " | ".join(c.rjust(w) if i else c.ljust(w) for i, (c, w) in row) + " |"
        for row in ([*enumerate(zip(line, widths))] for line in lines)
    ]
    rule = "|" + "|".join("-" * (w + 1) + (":" if i else "-") for i, w in enumerate(widths)) + "|"
    return "\n".join([texts[0], rule, *texts[1:]])


def floor_text(under):
    """Seconds of the floor, and of its products and bytes."""
    if not under or under["seconds"] < 1e-7:
        return NOTHING
    unit, _ = next((u for u in UNITS if under["seconds"] >= u[0]), UNITS[-1])
    parts = " + ".join(f"{under[part] / unit:.3g}" for part in ("products", "bytes"))
    return f"{time_text(under['seconds'])} ({parts})"


def times_table(what, results):
    """A line for each model or operation: seconds, and the floors."""
    head = (what, "minifp float32", "minifp mixed", "PyTorch float32", "bfloat16", "float16")
    head += ("floor float32 (products + bytes)", "floor mixed")
    rows = [
        [
            r["title"],
            *(cell(measured(r, *names)) for names in ([MINE], [MIXED], FLOAT32, BFLOAT16, FLOAT16)),
            *(floor_text(r["floor"].get(name)) for name in (MINE, MIXED)),
        ]
        for r in results
    ]
    return layout(head, rows)


def ratios_table(what, results):
    """A line for each model or operation: ratios, and distances from the floor."""
    head = (what, "mixed / own float32", "own float32 / PyTorch float32")
    head += ("mixed / PyTorch float32", "PyTorch float16 / mixed", "float32 / floor")
    head += ("mixed / floor", "PyTorch float32 / floor")
    rows = [
        [
            r["title"],
            times(ratio(r, [MIXED], [MINE])),
            times(ratio(r, [MINE], FLOAT32)),
            times(ratio(r, [MIXED], FLOAT32)),
            times(ratio(r, FLOAT16, [MIXED])),
            times(above_floor(r, MINE)),
            times(above_floor(r, MIXED)),
            times(above_floor(r, *FLOAT32)),
        ]
        for r in results
    ]
    return layout(head, rows)


def memory_table(results):
    """A line for each model: bytes of the tape, and of processes."""
    head = ("model, MB", "tape float32", "tape mixed", "ratio", "allocated float32")
    head += ("allocated mixed", "process float32", "process mixed", "PyTorch float32", "bfloat16")
    rows = []
    for r in results:
        held = r.get("held", {})
        tapes = of_tape(r, MINE), of_tape(r, MIXED)
        rows.append(
            [
                r["title"],
                *map(size_text, tapes),
                times(quotient(tapes[1], tapes[0])),
                *(size_text(held.get(n, {}).get("allocated")) for n in (MINE, MIXED)),
                *(_process_text(r, names) for names in ([MINE], [MIXED], FLOAT32, BFLOAT16)),
            ]
        )
    return layout(head, rows)


def _process_text(result, names):
    """The process of the least peak: all, without imports, without all that is loaded."""
    name = min(
        (n for n in names if of_process(result, n)),
        key=lambda n: of_process(result, n),
        default=None,
    )
    if name is None:
        return NOTHING
    sizes = [of_process(result, name, without) for without in (None, "imports", "loaded")]
    return " / ".join(size_text(size) for size in sizes)


def bars_table(results):
    """Each bar with the worst of all models or operations, and how many keep to it."""
    groups = {}
    for r in results:
        for bar in bars_of(r):
            groups.setdefault((r["kind"], bar.what), []).append((bar, r))
    head = ("bar", "limit", "met", "worst", "where")
    rows = []
    for (kind, what), found in groups.items():
        worst, at = max(
            found, key=lambda f: f[0].limit / f[0].value if f[0].least else f[0].value / f[0].limit
        )
        met = sum(bar.is_met for bar, _ in found)
        sign = ">=" if worst.least else "<="
        where = f"{at['name']}, {threads_text(at['threads'])}"
        rows.append([f"{kind}: {what}", f"{sign} {worst.limit:g}", f"{met} of {len(found)}"])
        rows[-1] += [three_digits(worst.value), where]
    return layout(head, rows)


def means_table(results):
    """Of each group of the gallery the mean share of PyTorch's float32 step, over networks."""
    rows = []
    for threads in sorted({r["threads"] for r in results}):
        for group, names in GROUPS.items():
            for width in ("full", "narrow"):
                shares = {
                    r["name"]: ratio(r, [MIXED], FLOAT32) for r in results
                    if r["threads"] == threads and r["name"] in names
                    and ("-narrow" in r["name"]) == (width == "narrow")
                    and not r["name"].startswith(LARGE.name)
                }  # fmt: skip
                shares = {name: share for name, share in shares.items() if share}
                if len(shares) > 1:
                    worst = max(shares, key=shares.get)
                    mean = geometric_mean(shares.values())
                    rows.append([f"{group}, {width} width", threads, len(shares), times(mean)])
                    rows[-1] += [times(shares[worst]), worst]
    head = ("mixed / PyTorch float32", "threads", "networks", "geometric mean", "worst", "where")
    return layout(head, rows) if rows else ""


def missed_bars(results):
    """A line for each bar that a result does not keep to."""
    for r in results:
        for bar in bars_of(r):
            if not bar.is_met:
                where = f"{r['name']}, {threads_text(r['threads'])}: {bar.what}"
                yield where, f"{bar.limit:g}", three_digits(bar.value)


def threads_text(threads):
    """How many threads."""
    return "1 thread" if threads == 1 else f"{threads} threads"


ABOUT = """\
Median seconds of a whole training step (zero_grad, forward, loss, backward, update; the batch lies
ready); `python scripts/bench.py --help` says how they are measured. PyTorch's is the faster of NCHW
and channels last, which is marked (last); its bfloat16 and float16 are autocast, float16 with a
GradScaler. Ratios are medians of the ratios in each round. The floor is what the products take at
the float32 rate of each shape, and what the other kernels' bytes take at the bandwidth, both
measured in this run on as many threads."""

ABOUT_MEMORY = """\
Tape: activations (all that nodes keep for backward, the batch included) and gradients of one step
at their common peak, counted at the tape. Allocated: the peak of all that Python and NumPy allocate
in one step, by tracemalloc. Process: its peak / without what imports hold / without what is loaded
after steps of a tiny model as well; PyTorch's in its leaner layout."""

ABOUT_OPERATIONS = """\
Forward and backward of one operation; mixed stands for tensors stored in float16, PyTorch's narrow
formats for tensors in them. The optimizer, the conversions and the recorded addition have no
backward."""


def markdown(found):
    """The whole report."""
    about = ", ".join(f"{name} {version}" for name, version in found["about"].items())
    parts = ["# Benchmarks", about + ".", ABOUT]
    models = [r for r in found["results"] if r["kind"] == "model"]
    operations = [r for r in found["results"] if r["kind"] == "operation"]
    counts = sorted({r["threads"] for r in found["results"]})
    for n in counts:
        if here := [r for r in models if r["threads"] == n]:
            parts += [f"## Training steps, {threads_text(n)}"]
            parts += [times_table("model", here), ratios_table("model", here)]
    if here := [r for r in models if "memory" in r]:
        of = threads_text(here[0]["threads"])
        parts += [f"## Memory, {of}", ABOUT_MEMORY, memory_table(here)]
    for n in counts:
        if here := [r for r in operations if r["threads"] == n]:
            parts += [f"## Operations, {threads_text(n)}"]
            parts += [ABOUT_OPERATIONS] if n == counts[0] else []
            parts += [times_table("operation", here), ratios_table("operation", here)]
    if any(map(bars_of, found["results"])):
        parts += ["## Bars", bars_table(found["results"])]
        parts += [table] if (table := means_table(models)) else []
        missed = list(missed_bars(found["results"]))
        parts += [layout(("missed", "limit", "is"), missed)] if missed else []
    if notes := list(notes_of(found["results"])):
        parts += ["## Notes", "\n".join(f"- {note}" for note in notes)]
    return "\n\n".join(parts) + "\n"


def notes_of(results):
    """What failed, and what is to be known."""
    said = {}
    for r in results:
        errors = {n: m["error"] for n, m in r["implementations"].items() if "error" in m}
        here = [f"{n}: {e}" for n, e in errors.items() if not e.startswith("NotThere")]
        here += r["notes"]
        few = [n for n, m in r["implementations"].items() if m.get("is_slow")]
        here += [f"{n} took no more than 2 steps" for n in few]
        skipped = {n: m.get("skipped") for n, m in r["implementations"].items()}
        here += [f"{n} skipped {k} of the measured steps" for n, k in skipped.items() if k]
        unknown = {u for under in r["floor"].values() for u in under["unknown"]}
        here += [f"products of {family} are not in the floor" for family in sorted(unknown)]
        for text in here:
            where = f"{r['name']} ({r['kind']}, {threads_text(r['threads'])})"
            said.setdefault(text, []).append(where)
    return (f"{', '.join(where)}: {text}" for text, where in said.items())


def ended_early(found):
    """A line for each of our own steps that could not be measured to the end."""
    return [
        f"{r['name']}, {threads_text(r['threads'])}: {name}: {r['implementations'][name]['error']}"
        for r in found["results"]
        for name in OURS
        if "error" in r["implementations"].get(name, {})
    ]
