"""`minifp warmup`."""

import time
from importlib.util import find_spec

import click

from minifp.lab import warm_record
from minifp.lab.compile_ahead import MODELS, Compiled, compile_ahead, jobs_for
from minifp.lab.workers.local import checked_jobs
from minifp.runtime import cpu
from minifp.runtime.cpu.compile import kernel_cache
from minifp.runtime.cpu.threads import cores
from minifp.shell import options
from minifp.teach.warming import jobs_for_lessons


@click.command()
@click.argument("models", nargs=-1, metavar="[MODEL]...")
@options.flag("--all everything", "Compile for all models in minifp.models.")
@options.count("-j --jobs", "How many processes to use.  [default: one per core]")
@options.quiet
def warmup(models, everything, jobs, progress):
    """Compile what lessons or models need now, so that no first step has to wait.

    MODEL is one or more of mlp, lenet, charlstm, gpt, resnet, vgg and chargru. Without MODEL,
    everything that the lessons need is compiled. Each model is trained for two steps, on little
    data, in several precisions. Compiled kernels are kept on disk. A second call takes a second and
    compiles nothing.

    \b
    Examples:
      minifp warmup
      minifp warmup lenet charlstm
    """
    if cpu.why_not_derived():
        click.echo(f"Nothing can be compiled here: {cpu.why_not_derived()}.")
        return
    names = MODELS if everything else models
    jobs_of_all, began = jobs_for(names) if names else jobs_for_lessons(), time.perf_counter()
    there = warm_record.warmed()
    todo = [job for job in jobs_of_all if str(job) not in there]
    processes = checked_jobs(jobs or cores()) if find_spec("loky") else 1
    parts = compile_ahead(todo, progress, processes)
    if todo:
        warm_record.write_down(map(str, todo))
    for line in lines_of(parts):
        click.echo(line)
    count, seconds = sum(len(part.kernels) for part in parts), time.perf_counter() - began
    if count:
        click.echo(f"Compiled {count} kernels in {seconds:.1f} s. This is needed only once.")
    else:
        click.echo(f"All kernels were compiled already ({seconds:.1f} s).")
    click.echo(f"The cache: {kernel_cache.summary()}")


def lines_of(parts: list[Compiled]) -> list[str]:
    """What was compiled for each model and precision."""
    new = [part for part in parts if part.kernels]
    widths = [max((len(getattr(p, n)) for p in new), default=0) for n in ("model", "precision")]
    return [
        f"{part.model:{widths[0]}} {part.precision:{widths[1]}} {len(part.kernels):4} kernels "
        f"compiled, {part.seconds:5.1f} s: {shortened(part.kernels)}"
        for part in new
    ]


def shortened(names: list[str], most: int = 40) -> str:
    """Names in about so many characters, and how many are left out."""
    text = ", ".join(names)
    if len(text) <= most:
        return text
    first = text[:most].rpartition(", ")[0]
    return f"{first}, and {len(names) - first.count(', ') - 1} more"
