"""The table of what each arm costs: skipped steps, the loss scale, seconds, and memory by kind."""

from minifp.lab.memory import KINDS
from minifp.report import words
from minifp.report.content import Table

HEAD = ("precision", "skips", "scale", "s/step", "weights", "masters", "state")  # of KINDS
HEAD += ("activ.", "grads", "total")
UNITS = ((1, "bytes"), (2**10, "KiB"), (2**20, "MiB"), (2**30, "GiB"))


def cost_text(comparison) -> str:
    """What the columns are."""
    _, unit = byte_unit(comparison.rows())
    return (
        "Skipped steps and final loss scale (means over runs), median seconds of a step on this "
        f"machine, and {unit} of memory at the peak of a step: weights, master weights, optimizer "
        "state, activations, gradients."
    )


def cost_table(comparison) -> Table:
    """A row for each arm."""
    rows = comparison.rows()
    divisor, _ = byte_unit(rows)
    return Table("Costs", [HEAD, *(cost_cells(row, divisor) for row in rows)], code=True)


def cost_cells(row, divisor) -> list[str]:
    """The texts of one arm; memory in units of `divisor` bytes."""
    sizes = [row.bytes.get(kind) for kind in KINDS] + [sum(row.bytes.values()) or None]
    texts = ["-" if size is None else size_text(size / divisor) for size in sizes]
    seconds = f"{row.seconds_per_step:.2g}" if words.is_number(row.seconds_per_step) else "-"
    spent = [words.count_text(row.skipped), words.scale_text(row.final_scale), seconds]
    return [row.precision, *spent, *texts]


def byte_unit(rows) -> tuple:
    """(bytes, name) of the unit in which the largest total has at most five digits."""
    largest = max((sum(row.bytes.values()) for row in rows), default=0)
    return next((u for u in UNITS if largest / u[0] < 99999.5), UNITS[-1])


def size_text(size) -> str:
    """Whole units, and three digits where there are fewer."""
    return f"{size:.0f}" if size >= 99.95 or size == int(size) else words.three_digits(size)
