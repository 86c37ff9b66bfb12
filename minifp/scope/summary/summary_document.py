"""What is shown of a summary: a tree of layers, totals, and bytes under each precision."""

from typing import Any

from markupsafe import Markup

from minifp.lab.memory import KINDS
from minifp.report import words
from minifp.report.content import Columns, Document, Section, Table

HEADS = ("weights", "masters", "state", "activ.", "grads", "total")
UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
LONGEST = 44  # columns of a layer's name


def document(summary: Any, depth: int) -> Document:
    """The layers down to a depth, the totals, and the bytes."""
    columns: Columns = {
        "layer": name_of,
        "output": lambda layer: " x ".join(map(str, layer.output)),
        "parameters": lambda layer: "again" if layer.again else count(layer.parameters),
        "mult-adds": lambda layer: count(layer.multiply_adds),
    }
    layers = [layer for layer in summary.layers if layer.depth <= depth]
    deeper, texts = len(summary.layers) - len(layers), [totals(summary)]
    if deeper:
        texts.insert(0, f"{words.plural(deeper, 'layer')} deeper than {depth} are not shown.")
    if summary.unknown:
        texts.append(f"Not counted among the multiply-adds: {', '.join(summary.unknown)}.")
    batch = words.plural(summary.input_shape[0], "example")
    texts.append(
        f"Bytes at the peak of a training step of {batch}, with {summary.optimizer}: weights and "
        "buffers, master weights, optimizer state, activations kept for backward, gradients."
    )
    tree = Table.of("Layers, as they are called", layers, columns, text_columns=(1,), code=True)
    return Document(
        name="summary",
        title=f"{summary.name}: {summary.parameters:,} parameters",
        sections=[Section("", [tree, *texts, Table("Bytes by kind", byte_rows(summary))])],
        style=Markup(".minifp tbody th code { white-space: pre; }\n"),
    )


def name_of(layer: Any) -> str:
    """The class and the attribute of a layer, as deep as it is."""
    name = f"{'  ' * layer.depth}{layer.kind}"
    last = layer.path.rpartition(".")[2]
    name += f" ({last})" if last else ""
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 3]}..."


def count(n: int) -> str:
    """A count; a dash for none."""
    return f"{n:,}" if n else "-"


def totals(summary: Any) -> str:
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


def byte_rows(summary: Any) -> list:
    """The bytes of each precision, in one unit."""
    sizes = {n: [*map(kinds.get, KINDS), sum(kinds.values())] for n, kinds in summary.bytes.items()}
    unit = words.bytes_text(max(each[-1] for each in sizes.values())).split()[-1]
    divisor = 1024 ** UNITS.index(unit)
    cells = (
        [n, *(words.three_digits(b / divisor) if b else "0" for b in each)]
        for n, each in sizes.items()
    )
    return [(unit, *HEADS), *cells]
