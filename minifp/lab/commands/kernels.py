"""`minifp kernels`."""

import click

from minifp.lab.commands import kernels_text as text


@click.command()
@click.argument("name", required=False)
@click.option(
    "--show",
    type=click.Choice([*text.PARTS, "all"]),
    default="graph",
    show_default=True,
    help="What to show of a kernel that is derived from its reference.",
)
@click.option(
    "--precision",
    type=click.Choice(["float16", "float32"]),
    default="float16",
    show_default=True,
    help="The format of its arrays.",
)
def kernels(name, show, precision):
    """Show what computes each kernel, and what is generated from its NumPy reference.

    A kernel is one formula between numbers that are stored: what it reads is widened to float32,
    and each result is rounded once to its format. It is computed by a kernel that was written by
    hand, or by one that is derived from its reference, or by the reference itself, in NumPy.
    Without NAME all are listed.

    NAME is a kernel (silu_dx, or activation.silu_dx), an operation (silu), a family (activation),
    or a file of yours, soft_cap.py, which is run: all kernels that it makes with fp.kernel.

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
