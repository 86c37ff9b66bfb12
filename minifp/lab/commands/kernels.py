"""`minifp kernels`."""

import click

from minifp.lab.commands import kernels_text as text
from minifp.shell import options


@click.command()
@click.argument("name", required=False)
@options.choice(
    "--show",
    [*text.PARTS, "all"],
    "What to show of a kernel that is compiled from its NumPy reference.",
    default="graph",
)
@options.choice(
    "--precision", ["float16", "float32"], "The format of the kernel's arrays.", default="float16"
)
def kernels(name, show, precision):
    """Show how each kernel is computed, and the code generated from its NumPy reference.

    A kernel is one formula: it reads stored numbers, widens them to float32, computes, and rounds
    each result once to its format. It runs as code written by hand, as code generated from its
    NumPy reference, or as that reference itself. Without NAME, all kernels are listed.

    NAME is a kernel (silu_dx, or activation.silu_dx), an operation (silu), a family (activation),
    or a Python file of yours (soft_cap.py). Such a file is run, and all kernels that it defines
    with fp.kernel are shown.

    \b
    What --show takes:
      graph     what is read, computed and stored, line by line, as it was traced
      expanded  the same, with exp, tanh and their like as the arithmetic that computes them
      llvm      LLVM's text, which is compiled for the CPU
      asm       what LLVM makes of it: instructions of this processor
      cuda      CUDA C++ for a GPU (none need be there)
      all       all of these

    \b
    Examples:
      minifp kernels
      minifp kernels silu
      minifp kernels gelu_dx --show expanded
      minifp kernels leaky_relu_forward --show all --precision float16
    """
    if name is None:
        click.echo(text.overview())
        return
    parts = tuple(text.PARTS) if show == "all" else (show,)
    click.echo("\n\n\n".join(text.page(k, parts, precision) for k in text.named(name)))
