"""A summary as text: a tree of layers, totals, and bytes under each precision."""

from minifp.lab.memory import KINDS
from minifp.report import words
from minifp.report.plain_text import columns, fill

HEADS = ("weights", "masters", "state", "activ.", "grads", "total")
LONGEST = 44  # columns of a layer's name


def text(summary, depth: int = 3) -> str:
    """The layers down to a depth, the totals, and the bytes."""
    rows = [("layer", "output", "parameters", "mult-adds")]
    rows += [row(layer) for layer in summary.layers if layer.depth <= depth]
    hidden = sum(layer.depth > depth for layer in summary.layers)
    notes = [totals(summary)]
    if hidden:
        notes.insert(0, f"{words.plural(hidden, 'layer')} deeper than {depth} are not shown.")
    if summary.unknown:
        notes.append(f"Not counted among the multiply-adds: {', '.join(summary.unknown)}.")
    batch = words.plural(summary.input_shape[0], "example")
    about = (
        f"Bytes at the peak of a training step of {batch}, with {summary.optimizer}: weights and "
        "buffers, master weights, optimizer state, activations kept for backward, gradients."
    )
    parts = [columns(rows, text_columns=(0, 1)), *map(fill, notes), fill(about)]
    return "\n\n".join([*parts, columns(byte_rows(summary))])


def row(layer) -> tuple:
    """One line: a name of few columns, its shape, and what it has and does."""
    name = f"{'  ' * layer.depth}{layer.kind}"
    last = layer.path.rpartition(".")[2]
    name += f" ({last})" if last else ""
    name = name if len(name) <= LONGEST else f"{name[: LONGEST - 3]}..."
    parameters = "again" if layer.again else f"{layer.parameters:,}" if layer.parameters else "-"
    adds = f"{layer.multiply_adds:,}" if layer.multiply_adds else "-"
    return name, " x ".join(map(str, layer.output)), parameters, adds


def totals(summary) -> str:
    """All parameters and multiply-adds, and the input."""
    frozen = summary.parameters - summary.trainable
    parts = [f"{summary.parameters:,} parameters"]
    parts[0] += f", of which {frozen:,} are frozen" if frozen else ""
    parts += [f"{summary.buffers:,} numbers in buffers"] if summary.buffers else []
    parts.append(f"{summary.multiply_adds / 1e6:,.4g} million multiply-adds")
    shape = " x ".join(map(str, summary.input_shape))
    per = summary.multiply_adds / summary.input_shape[0] / 1e6
    each = f" ({per:,.4g} million an example)" if summary.input_shape[0] > 1 else ""
    return f"{summary.name} on {shape}: {'; '.join(parts)}{each}."


def byte_rows(summary) -> list:
    """The bytes of each precision, in one unit."""
    totals = {name: sum(kinds.values()) for name, kinds in summary.bytes.items()}
    unit = words.bytes_text(max(totals.values())).split()[-1]
    divisor = 1024 ** ("B", "KiB", "MiB", "GiB", "TiB").index(unit)
    rows = [(unit, *HEADS)]
    for name, kinds in summary.bytes.items():
        cells = [kinds[kind] / divisor for kind in KINDS] + [totals[name] / divisor]
        rows.append((name, *(words.three_digits(c) if c else "0" for c in cells)))
    return rows
