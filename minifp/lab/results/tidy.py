"""runs.csv and history.csv: a row for each run, and one for each step of each run.

Both begin with the columns of IDENTITY, by which they can be joined. Numbers are written with all
of their digits; what is not there is empty.
"""

import csv
from io import BytesIO, TextIOWrapper
from pathlib import Path
from textwrap import shorten

from minifp.errors import DataError
from minifp.lab import arms
from minifp.lab.memory import KINDS
from minifp.lab.results import store
from minifp.lab.run import COLUMNS
from minifp.report.csv_text import csv_text
from minifp.runtime import untrusted
from minifp.saving import files

IDENTITY = ("arm", "precision", "control", "seed", "dial")
ENDED = ("status", "note")
COUNTED = ("steps", "skipped", "final_scale")
TIMED = ("seconds_per_step", "seconds", "processor_seconds")
BYTES = tuple(f"bytes_{kind}" for kind in KINDS)
TEST_LOSS, MADE = "test_loss", "made"
LARGEST = 2**30  # bytes of a history


def metric_names(comparison) -> list[str]:
    """All metrics that runs were judged by, the primary one first."""
    others = (name for run in comparison.runs for name in run.metrics)
    return list(dict.fromkeys([comparison.task.metric_name, *others]))


def free(names, taken) -> list[str]:
    """The names as those of columns: with "test " before what another column is called."""
    return [f"test {name}" if name in taken else name for name in names]


def identity(run, dial) -> tuple:
    """The columns of IDENTITY."""
    return (run.precision, *arms.split(run.precision), run.seed, dial)


# ---- a row a run ---------------------------------------------------------------------------------


def runs_csv(comparison) -> str:
    """Each run: what became of it, its metrics and its test loss at the end, what it cost."""
    metrics = metric_names(comparison)
    after = (TEST_LOSS, *COUNTED, *BYTES, *TIMED, MADE)
    header = [*IDENTITY, *ENDED, *free(metrics, (*IDENTITY, *ENDED, *after)), *after]
    lines = [
        [
            *identity(run, comparison.dial),
            *(getattr(run, name) for name in ENDED),
            *(final(run, name, comparison.task.metric_name) for name in metrics),
            run.evaluations[-1][2] if run.evaluations else None,
            *(getattr(run, name) for name in COUNTED),
            *(run.bytes.get(kind) for kind in KINDS),
            *(getattr(run, name) for name in TIMED),
            "; ".join(f"{name}: {text}" for name, text in run.made.items()),
        ]
        for run in comparison.runs
    ]
    return csv_text([header, *lines])


def final(run, metric, primary):
    """The value of a metric at the end; None where there is none."""
    if metric == primary:
        return run.metric
    return run.metrics[metric][-1] if run.metrics.get(metric) else None


# ---- a row a step --------------------------------------------------------------------------------


def history_csv(comparison) -> str:
    """Each step: the columns of the runs' histories, then test loss and metrics where they were
    measured."""
    metrics, primary = metric_names(comparison), comparison.task.metric_name
    names = list(dict.fromkeys([*COLUMNS, *(name for r in comparison.runs for name in r.history)]))
    lines: list[list] = [[*IDENTITY, *names, *free([TEST_LOSS, *metrics], (*IDENTITY, *names))]]
    for run in comparison.runs:
        tests, nothing = tests_by_step(run, metrics, primary), [None] * (1 + len(metrics))
        columns = [run.history.get(name) or [None] * len(run.history["step"]) for name in names]
        who = identity(run, comparison.dial)
        lines += [[*who, *line, *tests.get(line[0], nothing)] for line in zip(*columns)]
    return csv_text(lines)


def tests_by_step(run, metrics, primary) -> dict:
    """Of each step after which a run was evaluated: its test loss, and each metric."""
    tests = {}
    for i, (step, value, loss) in enumerate(run.evaluations):
        others = {name: values[i] for name, values in run.metrics.items() if i < len(values)}
        tests[step] = [loss, *({**others, primary: value}.get(name) for name in metrics)]
    return tests


def read_history(folder: Path, metrics: list) -> dict:
    """(arm, seed) -> history, of a folder's file that `history_csv` wrote; metrics: what runs were
    judged by, whose columns are the last. Raises DataError for another file."""
    histories: dict = {}
    path = folder / store.HISTORY
    try:
        content = files.read_within(folder, store.HISTORY, LARGEST)
        with TextIOWrapper(BytesIO(content), encoding="utf-8", newline="") as file:
            lines = csv.reader(file)
            header = next(lines, [])
            first, end = len(IDENTITY), len(header) - 1 - len(metrics)
            names = header[first:end]
            if tuple(header[: first + len(COLUMNS)]) != (*IDENTITY, *COLUMNS):
                raise ValueError(f"its columns are {', '.join(header) or 'none'}")
            for line in lines:
                if len(line) != len(header):
                    raise ValueError(f"line {lines.line_num} has {len(line)} columns")
                key = line[0], int(line[IDENTITY.index("seed")])
                history = histories.setdefault(key, {name: [] for name in names})
                for name, value in zip(names, line[first:end]):
                    if value:
                        number = untrusted.whole if name in store.WHOLE else float
                        history[name].append(number(value))
        histories = {key: {name: c for name, c in h.items() if c} for key, h in histories.items()}
        for history in histories.values():
            store.check_history(history)
    except DataError:
        raise
    except (OSError, IndexError, KeyError, TypeError, ValueError, csv.Error) as error:
        reason = f"{shorten(repr(error), 160)}, expected a history that minifp wrote"
        raise DataError(f"cannot read {path}: {reason}") from error
    return histories
