"""`minifp doctor`."""

import click

from minifp.lab.commands.doctor_text import doctor_text


@click.command()
def doctor():
    """Print what minifp finds on this machine, and how to install what is missing.

    That is: Python, the processor, the libraries and GPUs that minifp uses; which kernels are
    compiled; where the data sets lie; and the environment variables that minifp reads.

    \b
    Examples:
      minifp doctor
    """
    click.echo(doctor_text())
