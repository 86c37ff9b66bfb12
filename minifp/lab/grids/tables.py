"""A sweep as text, as files of numbers, and as a page that leads to those of its cells."""

from dataclasses import asdict

from markupsafe import Markup

from minifp.lab.changes import told
from minifp.lab.grids.grid import CELLS
from minifp.lab.page.captions import metric_label
from minifp.lab.page.page_style import STYLE
from minifp.lab.results import store
from minifp.report import document, words
from minifp.report.csv_text import csv_text
from minifp.report.markup import bullets, facts, header, link, section, table
from minifp.report.plain_text import columns, fill

NAME = "sweep"  # of the files in a folder
BASELINE = "baseline"
CAPTION = "Mean ± standard deviation over seeds"


def about(sweep) -> str:
    """What was trained, in a sentence."""
    grid = sweep.grid
    set_ = ", ".join(f"{name} {' '.join(map(told, v))}" for name, v in grid.axes.items())
    there = sum(len(c.done() & {*c.asked}) for c in sweep.comparisons)
    left = "" if there == grid.runs else f"; {there} of {grid.runs} runs are there"
    return (
        f"{grid.task.name}: {words.plural(len(grid.cells()), 'cell')} of "
        f"{words.plural(len(grid.arms()), 'arm')} and {words.plural(len(grid.seeds), 'seed')}; "
        f"set: {set_}{left}."
    )


def head(sweep) -> list[str]:
    """The names of the columns of a table."""
    task = sweep.comparisons[0].task
    return [*sweep.grid.axes, "precision", metric_label(task), "difference", "diverged", "verdict"]


def lines(sweep) -> list[list[str]]:
    """A line for each point."""
    places = words.decimals(sweep.comparisons[0].task.margin)
    found = []
    for point in sweep.points:
        settings = [
            told(v) if v is not None else "" for v in map(point.settings.get, sweep.grid.axes)
        ]
        mean = words.fixed(point.mean, places) if point.mean is not None else "-"
        spread = f" ± {words.fixed(point.sd, places)}" if point.sd is not None else ""
        difference = words.signed(point.difference, places) if point.difference is not None else ""
        lost = f"{point.diverged}/{point.n}" if point.n else "-"
        is_baseline = point.arm in {c.baseline for c in sweep.comparisons}
        verdict = BASELINE if is_baseline else point.verdict or ""
        found.append([*settings, point.precision, mean + spread, difference, lost, verdict])
    return found


def text_table(sweep) -> str:
    """All points, for a terminal."""
    count = len(sweep.grid.axes)
    rows = [head(sweep), *lines(sweep)]
    return "\n\n".join([fill(about(sweep)), columns(rows, text_columns=(count, count + 4))])


# ---- files --------------------------------------------------------------------------------------


def contents(sweep) -> dict[str, str]:
    """The files of a sweep, by name."""
    return {
        f"{NAME}.json": to_json(sweep),
        f"{NAME}.csv": runs_csv(sweep),
        f"{NAME}.html": page(sweep),
    }


def to_json(sweep) -> str:
    """What was asked for, with the hash of its file, and all points."""
    task = sweep.comparisons[0].task
    judged = {"metric": task.metric_name, "unit": task.metric_unit, "goal": task.goal}
    points = [asdict(point) for point in sweep.points]
    whole = {"grid": sweep.grid.described(), "judged by": judged, "points": points}
    return store.to_json(whole, indent=1)


def runs_csv(sweep) -> str:
    """Each run with its settings: a row a run."""
    axes = sweep.grid.axes
    rows: list = [[*axes, "precision", "arm", "seed", "status", "metric", "seconds", "cell"]]
    for cell, comparison in zip(sweep.grid.cells(), sweep.comparisons):
        for arm, made_of in sweep.grid.arms().items():
            for run in comparison.runs_of(arm):
                for precision, switches in made_of:
                    settings = {**cell.settings, **switches}
                    own = [told(settings[name]) if name in settings else "" for name in axes]
                    ended = run.status, run.metric, run.seconds
                    rows.append([*own, precision, arm, run.seed, *ended, cell.name])
    return csv_text(rows)


# ---- page ---------------------------------------------------------------------------------------


def page(sweep) -> Markup:
    """A page that needs no network, with links to the pages of the cells beside it."""
    from minifp.lab.grids.pictures import inline

    title = f"{sweep.grid.task.name}: {words.listed([*sweep.grid.axes])}"
    names, count = [cell.name for cell in sweep.grid.cells()], len(sweep.grid.axes)
    content = Markup("\n").join(
        [
            header(title, about(sweep)),
            section("What it shows", *inline(sweep)),
            section(
                "All points",
                table(CAPTION, head(sweep), lines(sweep), (count, count + 4)),
            ),
            section("Each cell", bullets(link(f"{CELLS}/{n}/{store.REPORT}", n) for n in names)),
            section("What was asked for", facts(asked(sweep)), folded=True),
        ]
    )
    return document.document(title, content, STYLE)


def asked(sweep) -> list[tuple]:
    """The grid, as names and texts."""
    told_of = sweep.grid.described()
    source = told_of.pop("file", None)
    rows = [(name, value) for name, value in told_of.items()]
    return [*rows, *([("file", f"{source['name']}, sha256 {source['sha256']}")] if source else [])]
