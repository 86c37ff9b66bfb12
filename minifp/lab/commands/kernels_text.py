"""What kernels are made of, in text: how each is computed, its graph, what is generated."""

import re
from collections import Counter
from pathlib import Path

import numpy as np

from minifp.derive.cuda import results_text
from minifp.derive.listing import Listing, guards_of
from minifp.derive.rows import Rows
from minifp.errors import ArgumentError
from minifp.lab.named_code import run_file
from minifp.numerics import device_references, dispatch, kernels
from minifp.numerics.implementations import (
    BY_HAND,
    DERIVED,
    DEVICES,
    REFERENCE,
    Example,
    example_of,
    implementation_of,
    source_of,
    stored_formats,
)
from minifp.numerics.rules import ROLES
from minifp.runtime.nearest import nearest

TITLES = {"cpu": "CPU", "cuda": "GPU"}
MEANING = {
    BY_HAND: "a kernel of its own, in a file *_numba.py (CPU) or *_cuda.py (GPU)",
    DERIVED: "compiled from its NumPy reference",
    REFERENCE: "the NumPy reference itself, on a GPU by CuPy",
}


# ---- all of them --------------------------------------------------------------------------------


def family_of(kernel) -> str:
    """The family of a kernel: the file that holds its reference."""
    return kernel.name.partition(".")[0]


def overview() -> str:
    """All kernels by family, with what computes each on the CPU and on a GPU."""
    lines, family = [], ""
    for kernel in sorted(kernels.KERNELS, key=family_of):
        if family_of(kernel) != family:
            family = family_of(kernel)
            lines += ["", f"{family:44} CPU        GPU"]
        hows = [implementation_of(kernel, device).how for device in DEVICES]
        lines.append(f"  {kernel.name.partition('.')[2]:42} {hows[0]:10} {hows[1]}")
    return "\n".join([*lines[1:], "", *counts()])


def counts() -> list[str]:
    """How many kernels are computed how, with what that means."""
    lines = []
    for device in DEVICES:
        number = Counter(implementation_of(kernel, device).how for kernel in kernels.KERNELS)
        parts = [f"{number[how]} {how}" for how in MEANING]
        lines.append(f"{TITLES[device]}: {', '.join(parts)}, of {len(kernels.KERNELS)} kernels.")
    return [*lines, *(f"  {how}: {meaning}" for how, meaning in MEANING.items())]


def left_to_numpy() -> str:
    """The kernels that have nothing but their reference on the CPU, or on a GPU, and why; and what
    a GPU leaves to the CPU."""
    lines = []
    for device in DEVICES:
        rows = [(kernel.name, implementation_of(kernel, device)) for kernel in kernels.KERNELS]
        rows = [(name, it.note) for name, it in rows if it.how == REFERENCE]
        lines += [f"No compiled kernel for the {TITLES[device]}: {len(rows)}"]
        lines += [f"  {name:50} {note}" for name, note in rows] + [""]
    lacking = {name: f"CuPy lacks {what}" for name, what in device_references.LACKS.items()}
    rows = [*lacking.items(), *device_references.left_to_cpu.items()]
    lines += [f"Copied from the GPU to the CPU: {len(rows)}, and sums narrower than float32"]
    lines += [f"  {name:50} {note}" for name, note in rows] + [""]
    return "\n".join([*lines, *counts()])


# ---- one of them --------------------------------------------------------------------------------


def named(name: str) -> list[kernels.Kernel]:
    """The kernels of a name: "activation.silu_dx", "silu_dx", those of an operation, "silu", of a
    family, "activation", or of a file. Raises ArgumentError, with the nearest names, where there
    is none."""
    if name.endswith(".py"):
        return in_file(name)
    chosen = [
        kernel
        for kernel in kernels.KERNELS
        if name in (kernel.name, *kernel.name.split("."))
        or kernel.name.partition(".")[2].rpartition("_")[0] == name
    ]
    if not chosen:
        full = [kernel.name for kernel in kernels.KERNELS]
        parts = {part for n in full for part in (n, *n.split("."), stem_of(n))}
        near = nearest(name, sorted(parts))
        hint = f"did you mean {' or '.join(near)}?" if near else "`minifp kernels` lists all"
        raise ArgumentError(f"no kernel and no family of kernels {name!r}; {hint}")
    return chosen


def in_file(path: str) -> list[kernels.Kernel]:
    """The kernels that a file of somebody's own makes, which is run. Raises ArgumentError where it
    is not there, fails, or makes none."""
    if not Path(path).is_file():
        raise ArgumentError(f"no file {path!r}")
    before = len(kernels.KERNELS)
    run_file(Path(path))
    if len(kernels.KERNELS) == before:
        raise ArgumentError(f"{path!r} defines no kernel: expected one made with fp.kernel")
    return kernels.KERNELS[before:]


def stem_of(name: str) -> str:
    """The operation of a kernel: "silu" of "activation.silu_dx"."""
    return name.partition(".")[2].rpartition("_")[0]


def page(kernel, parts: tuple[str, ...], precision: str) -> str:
    """A kernel: how it is computed, its reference, and of what is derived the parts that are asked
    for: graph, expanded, llvm, asm, cuda."""
    role = kernel.rule.role
    ways = {TITLES[device]: implementation_of(kernel, device) for device in DEVICES}
    lines = [f"{kernel.name}: {role}, {ROLES[role]}"]
    lines += [f"  {title}: {it.how}{', ' * bool(it.note)}{it.note}" for title, it in ways.items()]
    where, text = source_of(kernel)
    lines += ["", f"Reference ({where})", *indented(text)]
    if DERIVED not in {it.how for it in ways.values()}:
        return "\n".join(lines)
    for part in parts:
        device = "cuda" if part == "cuda" or ways["CPU"].how != DERIVED else "cpu"
        if implementation_of(kernel, device).how == DERIVED and (part in ON[device]):
            lines += ["", *PARTS[part](kernel, device, precision)]
    return "\n".join(lines)


def indented(text: str) -> list[str]:
    """The lines of a text, two columns further in."""
    return [f"  {line}".rstrip() for line in text.splitlines()]


# ---- its parts ----------------------------------------------------------------------------------


def graph(kernel, device: str, precision: str, folds: bool = True) -> list[str]:
    """The graph: what is read, computed in float32, and stored."""
    example = example_of(kernel, device, precision, folds)
    stored = stored_formats(kernel, example.formula, precision)
    lines = Listing(example.formula, example.arguments, stored).lines()
    width = min(48, max(len(text) for text, _ in lines))
    settings = ", ".join(f"{name}={value!r}" for name, value in example.settings.items())
    head = f"Graph, of {precision} arrays{' and ' * bool(settings)}{settings}"
    body = [f"  {text.ljust(width)}  {note}".rstrip() for text, note in lines]
    return [f"{head}; all is computed in float32", *body, *notes(kernel, example, folds)]


def notes(kernel, example: Example, folds: bool) -> list[str]:
    """What the lines of a graph do not say."""
    lines = [
        f"  (this graph is for calls where {guard})"
        for guard in guards_of(example.formula, example.arguments)
    ]
    if is_rows(example):
        lines.append("  (of an array of 4 rows of 6 numbers, which are reduced)")
    elif "sum" in kernel.wants:
        lines.append("  Where broadcasting stretched the argument, the result is summed in float32")
        lines.append("  over those axes before it is rounded.")
    if folds:
        functions = {n.value for n in example.formula.nodes if n.op == "call"}
        if functions:
            lines.append(f"  {', '.join(sorted(functions))}: arithmetic too; see --show expanded")
    return lines


def is_rows(example: Example) -> bool:
    """Whether a formula is computed row by row."""
    return isinstance(example.formula, Rows) and example.formula.rows


def expanded(kernel, device: str, precision: str) -> list[str]:
    """The graph with exp, tanh and their like as the arithmetic that computes them."""
    return graph(kernel, device, precision, folds=False)


def cpu_text(kernel, precision: str) -> tuple[str, Example]:
    """LLVM's text of the kernel for contiguous arrays of one shape, and the example it is of."""
    example = example_of(kernel, "cpu", precision)
    if is_rows(example):
        outs = tuple(stored_formats(kernel, example.formula, precision))
        return dispatch.on_cpu_rows().RowText(example.formula, outs).text(), example
    forms = "a" * len(example.formula.loads)
    outs = tuple(stored_dtypes(kernel, example, precision))
    return dispatch.on_cpu().kernel_text(example.formula, forms, outs), example


def stored_dtypes(kernel, example: Example, precision: str) -> list[str]:
    """The formats of results, truth values among them."""
    stored = stored_formats(kernel, example.formula, precision)
    return ["bool" if n.type == "b" else d for n, d in zip(example.formula.results, stored)]


def legend(example: Example, comment: str) -> list[str]:
    """What generated names stand for."""
    names = [example.arguments[k] for k in example.formula.loads]
    pairs = [f"x{k} is {name}" for k, name in enumerate(names)]
    pairs += [f"y{k} is result {k}" for k in range(len(example.formula.results))]
    return [f"  {comment} {', '.join(pairs)}"]


# What marks formats in generated text: a pattern, and what is said behind a line that has it.
MARKS = {
    r"fpext half|fcvt|vcvtph2ps": "float16 to float32: exact",
    r"fptrunc float|vcvtps2ph": "float32 to float16: rounded, once",
}


def marked(lines: list[str], comment: str) -> list[str]:
    """The lines, with what happens to formats behind them."""
    return [line + mark_of(line, comment) for line in lines]


def mark_of(line, comment):
    """What is said behind a line of generated text."""
    notes = [note for pattern, note in MARKS.items() if re.search(pattern, line)]
    return f"    {comment} {notes[0]}" if notes else ""


def llvm(kernel, device: str, precision: str) -> list[str]:
    """LLVM's text, without what Python calls of it."""
    text, example = cpu_text(kernel, precision)
    body = text[text.index("define") : text.index("\ndeclare")].strip()
    head = f"LLVM, for the CPU, of contiguous {precision} arrays of one shape, as it is generated"
    return [head, *legend(example, ";"), *marked(indented(body), ";")]


def asm(kernel, device: str, precision: str) -> list[str]:
    """This processor's instructions, without what Python calls of them."""
    from minifp.runtime.cpu.compile import machine

    text, example = cpu_text(kernel, precision)
    name = text.partition('define void @"')[2].partition('"')[0]
    lines = machine.assembly(text).splitlines()
    start = next(i for i, line in enumerate(lines) if line.endswith(f"{name}:"))
    stop = next(i for i, line in enumerate(lines) if i > start and f"python_{name}" in line)
    head = f"Instructions of this processor ({machine.CPU}), in vectors where that pays"
    code = [line for line in lines[start:stop] if not line.lstrip().startswith((".cfi", ".p2"))]
    return [head, *marked(indented("\n".join(code)), "#")]


def cuda(kernel, device: str, precision: str) -> list[str]:
    """CUDA C++ for a GPU, without the header that all kernels share."""
    from minifp.runtime.cuda.source import common

    example = example_of(kernel, device, precision)
    head = "CUDA C++, for a GPU; load widens to float32, and store rounds once (common.cuh)"
    if is_rows(example):
        stored = stored_formats(kernel, example.formula, precision)
        text = dispatch.on_gpu_rows().example_text(example.formula, stored)
        return [head, *legend(example, "//"), *indented(text)]
    if len(example.formula.results) > 1:
        head = "CUDA C++, for a GPU: what a kernel around it calls for each element"
        return [head, *legend(example, "//"), *indented(results_text(example.formula, "f"))]
    dtype = np.dtype(stored_dtypes(kernel, example, precision)[0])
    module = dispatch.on_gpu().module(example.formula, "pointwise.cu", dtype)
    return [head, *legend(example, "//"), *indented(module.text.removeprefix(common()))]


PARTS = {"graph": graph, "expanded": expanded, "llvm": llvm, "asm": asm, "cuda": cuda}
ON = {"cpu": {*PARTS} - {"cuda"}, "cuda": {"graph", "expanded", "cuda"}}
