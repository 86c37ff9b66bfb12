"""`minifp doctor`."""

import json
from dataclasses import asdict

import click

from minifp.lab.commands.doctor_text import doctor_text
from minifp.lab.commands.kernels_text import left_to_numpy
from minifp.shell import options


@click.command()
@options.flag("--kernels", "List the kernels that are not compiled, and say why.")
@options.flag("--lab", "Check whether this seat is ready for lessons (then the exit code is 0).")
@options.flag("--json as_json", "With --lab: print the result as JSON.")
@click.pass_context
def doctor(ctx, kernels, lab, as_json):
    """Check this machine: what minifp finds, and how to install what is missing.

    It prints Python, the processor, the libraries and GPUs that minifp uses; which kernels are
    compiled; where the data sets are; and the environment variables that minifp reads.

    With --lab it takes a few seconds and prints a line for each thing that lessons need, with the
    command that installs or repairs it. The last line is GREEN or NOT READY, and the exit code 0 or
    1.

    \b
    Examples:
      minifp doctor
      minifp doctor --kernels
      minifp doctor --lab
    """
    if (kernels and lab) or (as_json and not lab):
        raise click.UsageError("use --kernels or --lab, not both; --json needs --lab")
    if lab:
        ctx.exit(told_of_seat(as_json))
    click.echo(left_to_numpy() if kernels else doctor_text())


def told_of_seat(as_json: bool) -> int:
    """Tell whether this seat is ready, each line as soon as it is known; return the exit code."""
    from minifp.lab.commands.doctor_lab import checks, line, verdict

    results = []
    for check in checks():
        results.append(check)
        if not as_json:
            click.echo(line(check))
    ready = all(check.ok for check in results)
    if as_json:
        rows = [{**asdict(check), "ok": check.ok} for check in results]
        click.echo(json.dumps({"ready": ready, "checks": rows}, indent=1, ensure_ascii=False))
    else:
        click.echo(verdict(results))
    return 0 if ready else 1
