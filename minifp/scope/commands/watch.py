"""`minifp watch`."""

import click

from minifp.lab.tasks import load_task
from minifp.report.plain_text import fill
from minifp.scope import inspecting
from minifp.scope.live_terminal import view
from minifp.scope.page.headlines import headlines
from minifp.shell import options


@click.command()
@options.one_run
@options.every
@options.device
def watch(task, data, **how):
    """Train TASK, and watch it in the terminal: loss, loss scale, and where its numbers lie.

    TASK is one that `minifp compare` knows. The screen shows the loss, the loss scale, skipped
    steps, lost updates, and how many weights, activations and gradients lie in each power of two,
    above the range of their format. If the output is not a terminal, each observed step prints a
    line. For a page with everything, use `minifp inspect`.

    \b
    Examples:
      minifp watch charlstm --precision mixed --steps 200
      minifp watch charlstm --precision mixed,loss_scale=off --dial 11 --steps 200
      minifp watch lenet --data digits --every 5

    Ctrl-C stops it. The last picture stays.
    """
    views, precision = [], how["precision"] or inspecting.DEFAULT_PRECISION

    def begin(task, total):
        views.append(view(f"{task.name}, {precision}", total))
        return views[0].follow

    scope = inspecting.follow(load_task(task, data), begin=begin, **how)
    views[0].finish()
    click.echo("\n" + "\n".join(map(fill, headlines(scope))))
    if inspecting.INTERRUPTED in scope.about:
        raise KeyboardInterrupt(f"Stopped {scope.about[inspecting.INTERRUPTED]}.")
