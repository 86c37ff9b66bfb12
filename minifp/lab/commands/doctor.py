"""`minifp doctor`."""

import click

from minifp.lab.commands.doctor_text import doctor_text
from minifp.lab.commands.kernels_text import left_to_numpy


@click.command()
@click.option(
    "--kernels", is_flag=True, help="List the kernels that are not compiled instead, and say why."
)
def doctor(kernels):
    """Print what minifp finds on this machine, and how to install what is missing.

    That is: Python, the processor, the libraries and GPUs that minifp uses; which kernels are
    compiled; where the data sets lie; and the environment variables that minifp reads.

    \b
    Examples:
      minifp doctor
      minifp doctor --kernels
    """
    click.echo(left_to_numpy() if kernels else doctor_text())
