"""What is shown of a comparison: the answer first, then what it rests on."""

from minifp.lab.arms import CONTROLS, split
from minifp.lab.conclusions import notes, special
from minifp.lab.page import again, end_tables, line_charts, power, row_charts, samples, verdicts
from minifp.lab.page.controls_tables import ABOUT, control_tables
from minifp.lab.page.cost_table import cost_table, cost_text
from minifp.lab.page.tests_table import tests_parts
from minifp.lab.results.store import REPORT
from minifp.report import words
from minifp.report.content import Document, Facts, Section
from minifp.report.markup import paragraph


def document(comparison) -> Document:
    """All of it; notes on single runs are in the table of runs."""
    c = comparison
    return Document(
        name=REPORT.partition(".")[0],
        title=f"{c.task.name}: {verdicts.headline(c)}",
        about=" ".join([*special.warnings(c), about(c)]),
        findings=[*verdicts.statements(c), *c.answer_sentences()],
        sections=[
            Section("How they got there", [line_charts.group_of(c)]),
            Section(
                "Where they end",
                [end_tables.about(c), row_charts.ends(c), end_tables.final_table(c)],
            ),
            Section("The tests behind the verdicts", tests_parts(c), is_folded=True),
            Section("Samples", samples.parts(c)),
            Section("Special, or what any perturbation does?", controls(c)),
            power.section(c),
            Section("What it costs", [cost_text(c), row_charts.costs(c), cost_table(c)]),
            Section("Run by run", end_tables.run_tables(c), is_folded=True),
            Section("How to do it again", again.parts(c)),
            Section("Machine and settings", [Facts(facts(c))], is_folded=True),
        ],
        notes=[note for note in notes.notes(c) if not is_about_a_run(note, c)],
        caption=c.dial_note(),
    )


def about(comparison) -> str:
    """What was trained, how long, and how often."""
    task = comparison.task
    steps = words.plural(max((run.steps for run in comparison.runs), default=0), "step")
    description = f" ({task.description})" if task.description else ""
    dial = f", exponent dial {comparison.dial}" if comparison.dial else ""
    seeds = words.plural(len(comparison.seeds), "seed")
    return f"{task.name}{description}{dial}: {steps}, {seeds}."


def is_about_a_run(note, comparison) -> bool:
    """Whether a note tells what became of one run."""
    return any(note.startswith(f"{r.precision}, seed {r.seed} ") for r in comparison.runs)


def controls(comparison) -> list:
    """The numbers behind the answers, and which controls there are."""
    tables = control_tables(comparison)
    if not tables:
        return []
    names = dict.fromkeys(split(c)[1] for a in comparison.answers() for c in a.controls)
    kinds = "; ".join(f"{name}: {CONTROLS[name]}" for name in names)
    return [*tables, paragraph(f"{ABOUT} {kinds[:1].upper()}{kinds[1:]}.", "small")]


def facts(comparison) -> list[tuple]:
    """Versions, the machine, and the settings that all runs share."""
    config = comparison.config
    rows = [*comparison.environment.items()]
    rows += [(k, v) for k, v in config.items() if k != "model" and v not in (None, "")]
    shapes = (config.get("model") or {}).items()
    parameters = ", ".join(f"{name} {'×'.join(map(str, shape))}" for name, shape in shapes)
    return rows + ([("parameters", parameters)] if parameters else [])
