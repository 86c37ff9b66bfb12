"""`minifp warmup`."""

import time

import click

from minifp.lab.compile_ahead import FIRST, MODELS, PRECISIONS, compile_ahead
from minifp.runtime import cpu
from minifp.runtime.cpu import kernel_cache, threads
from minifp.shell import options


@click.command()
@click.argument("models", nargs=-1, metavar="[MODEL]...")
@click.option("--all", "everything", is_flag=True, help="All models that minifp.models has.")
@click.option(
    "-j", "--jobs", type=click.IntRange(1), metavar="N",
    help="How many processes compile at a time, each for another precision.  [default: one for "
    f"each core, at most {len(PRECISIONS)}]",
)  # fmt: skip
@options.quiet
def warmup(models, everything, jobs, quiet):
    """Compile what a model needs now, so that its first step does not wait for it later.

    MODEL is mlp, lenet, charlstm, resnet, vgg or chargru, one or more; mlp, lenet, charlstm and
    resnet (which has batch normalisation) where none is named. Each is trained for two steps on
    little data in float32, mixed, bfloat16 and float16. What is compiled is kept on disk: doing it
    again takes seconds, and compiles nothing.

    \b
    Examples:
      minifp warmup
      minifp warmup lenet charlstm
    """
    if cpu.why_not_derived():
        click.echo(f"Nothing can be compiled here: {cpu.why_not_derived()}.")
        return
    since, jobs = time.perf_counter(), jobs or threads.get_num_threads()
    parts = compile_ahead(MODELS if everything else models or FIRST, not quiet, jobs)
    count, seconds = sum(len(part.kernels) for part in parts), time.perf_counter() - since
    for part in parts:
        if part.kernels:
            click.echo(
                f"{part.model:10} {part.precision:8} {len(part.kernels):4} kernels compiled, "
                f"{part.seconds:5.1f} s: {shortened(part.kernels)}"
            )
    if count:
        click.echo(f"Compiled {count} kernels in {seconds:.1f} s, for once.")
    else:
        click.echo(f"All kernels are there: nothing was compiled ({seconds:.1f} s).")
    click.echo(f"They are kept: {kernel_cache.summary()}")


def shortened(names: list[str], most: int = 40) -> str:
    """Names in about so many characters, and how many are left out."""
    text = ", ".join(names)
    if len(text) <= most:
        return text
    shown = text[:most].rpartition(", ")[0]
    return f"{shown}, and {len(names) - shown.count(', ') - 1} more"
