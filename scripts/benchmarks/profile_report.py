"""What a profile found, as tables and as bars under bars: see profiling.py.

Nothing here imports minifp: the process that profiles is another.
"""

from collections import defaultdict

from .report import layout

PYTHON = "Python"  # what profiling.py writes in the place of a kernel
PHASES = ("zero_grad", "forward", "backward", "update")


def summed(parts, key):
    """[seconds, compiled seconds, calls] of the parts, by key(phase, operation, kernel); what takes
    longest first.
    """
    sums = defaultdict(lambda: [0.0, 0.0, 0.0])
    for phase, operation, kernel, *found in parts:
        at = sums[key(phase, operation, kernel)]
        for i, x in enumerate(found):
            at[i] += x
    return dict(sorted(sums.items(), key=lambda item: -item[1][0]))


def ms(seconds):
    """Milliseconds; nothing for nothing."""
    return f"{1e3 * seconds:.3f}" if seconds else "-"


def markdown(title, parts):
    """Tables: operations by phase, and kernels."""
    whole = sum(part[3] for part in parts)
    operations = summed(parts, lambda phase, operation, kernel: operation)
    by_phase = summed(parts, lambda phase, operation, kernel: (operation, phase))
    python = summed([p for p in parts if p[2] == PYTHON], lambda p, operation, k: operation)
    shown = [p for p in PHASES if any(part[0] == p for part in parts)]
    rows = []
    for operation, (seconds, *_) in operations.items():
        cells = [ms(by_phase.get((operation, phase), [0])[0]) for phase in shown]
        rest = python.get(operation, [0])[0]
        share = f"{100 * seconds / whole:.1f}%"
        rows.append([operation, *cells, ms(seconds), share, ms(seconds - rest), ms(rest)])
    phases = summed(parts, lambda phase, operation, kernel: phase)
    total_python = sum(seconds for seconds, *_ in python.values())
    ends = [ms(phases[phase][0]) for phase in shown]
    rows.append(["all", *ends, ms(whole), "100%", ms(whole - total_python), ms(total_python)])
    head = ("operation, ms", *shown, "all", "share", "in kernels", "in Python")
    kernels = summed([p for p in parts if p[2] != PYTHON], lambda p, o, kernel: kernel)
    lines = [
        [
            *(kernel, f"{calls:g}", ms(seconds), f"{100 * seconds / whole:.1f}%"),
            *(ms(compiled), ms(seconds / calls)),
        ]
        for kernel, (seconds, compiled, calls) in kernels.items()
    ]
    return "\n\n".join(
        [
            f"# {title}",
            ABOUT,
            layout(head, rows),
            layout(("kernel", "calls", "ms", "share", "compiled ms", "ms a call"), lines),
        ]
    )


ABOUT = """\
One step, in milliseconds: the mean of the middle half of the steps. All parts add up to the step.
An operation's time in Python is what its kernels leave: checks, the tape, views and copies by
NumPy; "between operations" is backward backward, and the gradients that meet on it. Of each kernel
it is said how much its compiled loops took where they run in chunks; pointwise ones are not told
apart from their kernel."""


def bars(parts):
    """Where each part lies in the picture: (level, left, seconds, name, phase), the step first.

    Levels: the step, phases, operations, kernels. What takes longest is on the left, but phases are
    in their order.
    """
    phases = summed(parts, lambda phase, operation, kernel: phase)
    yield 0, 0.0, sum(seconds for seconds, *_ in phases.values()), "step", None
    start = 0.0
    for phase in (p for p in PHASES if p in phases):
        yield 1, start, phases[phase][0], phase, phase
        within = [p for p in parts if p[0] == phase]
        left = start
        for operation, (seconds, *_) in summed(within, lambda p, operation, k: operation).items():
            yield 2, left, seconds, operation, phase
            of_it, at = [p for p in within if p[1] == operation], left
            for kernel, (part, *_) in summed(of_it, lambda p, o, kernel: kernel).items():
                yield 3, at, part, kernel, phase
                at += part
            left += seconds
        start += phases[phase][0]
