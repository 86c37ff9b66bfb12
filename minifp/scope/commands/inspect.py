"""`minifp inspect`."""

import click

from minifp.lab.tasks import load_task
from minifp.saving import files
from minifp.scope import inspecting
from minifp.scope.findings import places
from minifp.shell import options
from minifp.shell.results import where


@click.command()
@options.one_run
@options.every
@options.checkpoint(
    "--checkpoint",
    "Look at a single step, with one batch, from this checkpoint. The file is not changed.",
)
@click.option(
    "--check",
    is_flag=True,
    help="Check the advice: also train with constant loss scales inside and outside its range.",
)
@options.out("Write report.html, scope.npz, scope.txt and scope.png into this folder.")
@options.device
@options.quiet
def inspect(task, data, out, progress, **how):
    """Train TASK under the microscope: see where its numbers lie, and what is lost.

    TASK is one that `minifp compare` knows. The report counts weights, activations and gradients by
    power of two, with a slider for the loss scale. It says which loss scales would work, which
    operation caused a skipped step, and which updates were lost. One step is repeated some tens of
    times, to show every kernel with its format, the error that each operation adds, what holds
    memory, and what limits the speed, on this machine and on GPUs.

    \b
    Examples:
      minifp inspect charlstm --data shakespeare --steps 500 --dial 11 --out runs/scope
      minifp inspect lenet --precision float32 --steps 200 --out runs/lenet
      minifp inspect charlstm --steps 300 --dial 11 --check
      minifp train lenet --save runs/lenet.safetensors
      minifp inspect lenet --checkpoint runs/lenet.safetensors --out runs/one-batch

    After Ctrl-C, it prints and writes what it has seen so far.
    """
    if out is not None:
        files.check_writable(*places(out))
    findings = inspecting.inspect(load_task(task, data), progress=progress, **how)
    click.echo(findings.summary())
    click.echo("\n" + where(out and findings.write(out, progress=progress)))
    if inspecting.INTERRUPTED in findings.about:
        when = findings.about[inspecting.INTERRUPTED]
        raise KeyboardInterrupt(f"The results so far are above ({when}).")
