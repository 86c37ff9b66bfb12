"""The command line: the index of its commands, each of which stands beside what it runs.

Exit codes: 0, 2 for a wrong argument or another error that minifp explains, 130 after Ctrl-C, 143
after SIGTERM, which ends a command as Ctrl-C does.
"""

import sys

import minifp

try:
    import click

    from minifp.shell.group import Commands
except ModuleNotFoundError as error:
    if error.name != "click":
        raise
    print("minifp's command line needs click: python -m pip install click", file=sys.stderr)
    raise SystemExit(2) from None

# The command `name` of a room is the function `name` in minifp/<room>/commands/<name>.py, with an
# underscore for a hyphen, which is imported when it is called.
COMMANDS = {
    "demo": ("lab", "See each technique of mixed precision at work, on bundled data."),
    "compare": ("lab", "Train in several precisions, and say what differs."),
    "ablate": ("lab", "Find out which techniques of mixed precision a task needs."),
    "merge": ("lab", "Join the folders of a comparison that was run in parts."),
    "gallery": ("lab", "Test claims of the literature, with small networks and data."),
    "sweep": ("lab", "Compare precisions over a grid of settings, such as learning rates."),
    "train": ("lab", "Train once, and save checkpoints to resume from."),
    "evaluate": ("lab", "Judge trained weights in several number formats, without training."),
    "largest-batch": ("lab", "Find the largest batch that fits a memory size, by real steps."),
    "inspect": ("scope", "See what each number format does to a training run."),
    "watch": ("scope", "Train, and watch in the terminal where the numbers lie."),
    "summary": ("scope", "Show the layers of a model, and its memory in each precision."),
    "explain": ("scope", "Show a number or a calculation in every number format, bit by bit."),
    "new": ("lab", "Write a program to start from, which runs as it is."),
    "kernels": ("lab", "Show how each kernel is computed, and the code generated for it."),
    "warmup": ("lab", "Compile the kernels of common models now, so that no run has to wait."),
    "teach": ("teach", "Copy the lessons, and see how far you have come with them."),
    "doctor": ("lab", "Check this machine: what minifp finds, and what is missing."),
    "help": ("lab", "Explain a topic, such as how precisions are written, or a command."),
}


GREETING = """\
minifp {version}: mixed-precision training that shows what every number becomes.

Three things to try:

  minifp explain 0.1      what each number format makes of a number, bit by bit
  minifp compare lenet    float32 against mixed, five seeds, a verdict: some seconds
  minifp demo             what each technique is for, with a report: about a minute

Then: minifp teach lessons --out lessons, and minifp --help for all commands.
"""


@click.group(
    cls=Commands,
    index=COMMANDS,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="`minifp COMMAND --help` describes a command, with examples. In Python: "
    'import minifp as fp; fp.compare("lenet", seeds=5).',
)
@click.version_option(minifp.__version__, package_name="minifp")
@click.pass_context
def main(context):
    """Train the same network in float32 and in float16, and see what differs.

    minifp stores numbers as a half-precision GPU would. Each technique of mixed-precision training
    is a switch: float32 sums, loss scaling, float32 master weights.

    \b
    Start here:
      minifp demo                        four experiments in a few minutes, with a report to read
      minifp compare lenet               a small convolutional network, in float32 and mixed
      minifp inspect charlstm --out DIR  where the numbers of a run lie, and what is lost
      minifp explain 0.1                 what each number format makes of a number, bit by bit
    """
    if context.invoked_subcommand is None:
        click.echo(GREETING.format(version=minifp.__version__), nl=False)
