"""What is shown of a sweep: all points, curves and maps, and the pages of its cells."""

from dataclasses import asdict

from minifp.lab.changes import as_text
from minifp.lab.grids.grid import CELLS
from minifp.lab.grids.pictures import arms_of, pictures_of
from minifp.lab.page.captions import metric_label, metric_places, runs_there
from minifp.lab.results.store import REPORT
from minifp.report import words
from minifp.report.content import Document, Facts, Links, Section, Table

NAME = "sweep"  # of the files in a folder
BASELINE = "baseline"
CAPTION = "Mean ± standard deviation over seeds"


def document(sweep) -> Document:
    """What it shows, all points, and links to the pages of the cells beside its own."""
    grid, task, axes = sweep.grid, sweep.comparisons[0].task, [*sweep.grid.axes]
    pages = [[(f"{CELLS}/{cell.name}/{REPORT}", cell.name)] for cell in grid.cells()]
    pictures = pictures_of(sweep) or ["No run is finished yet."]
    words_at = len(axes), len(axes) + 4
    judged = {"metric": task.metric_name, "unit": task.metric_unit, "goal": task.goal}
    points = [asdict(point) for point in sweep.points]
    return Document(
        name=NAME,
        title=f"{grid.task.name}: {words.listed(axes)}",
        about=about(sweep),
        sections=[
            Section("What it shows", pictures),
            Section("All points", [Table(CAPTION, [head(sweep), *lines(sweep)], words_at)]),
            Section("Each cell", [Links(pages)]),
            Section("What was asked for", [Facts(asked(sweep))], is_folded=True),
        ],
        data={"grid": grid.described(), "judged by": judged, "points": points},
        records={NAME: runs(sweep)},
    )


def about(sweep) -> str:
    """What was trained, in a sentence."""
    grid = sweep.grid
    set_ = ", ".join(f"{name} {' '.join(map(as_text, v))}" for name, v in grid.axes.items())
    return (
        f"{grid.task.name}: {words.plural(len(grid.cells()), 'cell')} of "
        f"{words.plural(len(grid.arms()), 'arm')} and {words.plural(len(grid.seeds), 'seed')}; "
        f"set: {set_}{runs_there(sweep.comparisons)}."
    )


def head(sweep) -> list[str]:
    """The names of the columns of a table."""
    task = sweep.comparisons[0].task
    return [*sweep.grid.axes, "precision", metric_label(task), "difference", "diverged", "verdict"]


def lines(sweep) -> list[list[str]]:
    """A line for each point."""
    task, rows = sweep.comparisons[0].task, []
    places, own = words.decimals(task.margin), metric_places(task)
    for point in sweep.points:
        values = map(point.settings.get, sweep.grid.axes)
        settings = ["" if value is None else as_text(value) for value in values]
        mean = words.fixed(point.mean, own) if point.mean is not None else "-"
        spread = f" ± {words.fixed(point.sd, own)}" if point.sd is not None else ""
        difference = words.signed(point.difference, places) if point.difference is not None else ""
        lost = f"{point.diverged}/{point.n}" if point.n else "-"
        is_baseline = point.arm in {c.baseline for c in sweep.comparisons}
        verdict = BASELINE if is_baseline else point.verdict or ""
        rows.append([*settings, point.precision, mean + spread, difference, lost, verdict])
    return rows


def runs(sweep) -> list[list]:
    """Each run with its settings: a row a run."""
    axes = sweep.grid.axes
    rows: list = [[*axes, "precision", "arm", "seed", "status", "metric", "seconds", "cell"]]
    for cell, comparison in zip(sweep.grid.cells(), sweep.comparisons):
        for arm, precision, settings in arms_of(sweep.grid, cell):
            own = [as_text(settings[name]) if name in settings else "" for name in axes]
            for run in comparison.runs_of(arm):
                ended = run.status, run.metric, run.seconds
                rows.append([*own, precision, arm, run.seed, *ended, cell.name])
    return rows


def asked(sweep) -> list[tuple]:
    """The grid, as names and texts."""
    told_of = sweep.grid.described()
    source = told_of.pop("file", None)
    rows = [(name, value) for name, value in told_of.items()]
    return [*rows, *([("file", f"{source['name']}, sha256 {source['sha256']}")] if source else [])]
