"""reproduce.sh: the commands that make the results of a folder again, and compare the two."""

from shlex import join, quote

from minifp.lab.page.again import option_words

TEXT = """\
#!/bin/sh
# Makes the results of this folder again in a new one, and holds the two against each other:
# every run must have the same results, to the last bit.
#
#     {usage}
#
# PYTHON=... says which Python, JOBS=... how many runs at a time: the results are the same.
#
{about}
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
{task}again=${{1:-"$here-again"}}
python=${{PYTHON:-python}}
{commands}
"$python" -m minifp merge "$here" "$again"
"""
NO_TASK = """\
task=${1:?"the task was made in a program: give it as FILE.py:NAME, then perhaps a new folder"}
shift
"""
NO_FILE = """\
test -f {file} || {{ echo {told} >&2; exit 2; }}
"""


def script(comparison) -> str:
    """The text of reproduce.sh."""
    origin = comparison.origin
    usage, task, named = "sh reproduce.sh [NEW_FOLDER]", "", ""
    if origin.task is None:
        usage, task, named = "sh reproduce.sh FILE.py:NAME [NEW_FOLDER]", NO_TASK, '"$task"'
    else:
        named = join([origin.task, *(["--data", origin.data] if origin.data else [])])
        if origin.file:
            hint = quote(f"run this in the folder where {origin.file} is")
            task = NO_FILE.format(file=quote(origin.file), told=hint)
    lines = [f"export {name}={quote(value)}" for name, value in origin.variables.items()]
    lines += [command(comparison, named, arms, seeds) for arms, seeds in grids(comparison)]
    texts = {"about": "\n".join(about(comparison)), "commands": "\n".join(lines)}
    return TEXT.format(usage=usage, task=task, **texts)


def about(comparison) -> list[str]:
    """What it was made with, as comments."""
    config, environment = comparison.config, comparison.environment
    facts = {
        "task": comparison.task.name,
        "task file": config.get("task file") and f"sha256 {config['task file']}",
        "training data": config.get("training data"),
        "test data": config.get("test data"),
        "commit": comparison.origin.commit,
        **environment,
    }
    lines = [f"# {name}: {value}" for name, value in facts.items() if value]
    return [" ".join(line.split()) for line in lines]


def grids(comparison) -> list[tuple[list[str], list[int]]]:
    """The runs that were asked for or are there, as arms that have the same seeds."""
    seeds: dict[str, set] = {}
    for arm, seed in [*comparison.asked, *sorted(comparison.done())]:
        seeds.setdefault(arm, set()).add(seed)
    arms: dict[tuple, list[str]] = {}
    for arm in comparison.precisions:
        if arm in seeds:
            arms.setdefault(tuple(sorted(seeds[arm])), []).append(arm)
    return [(names, list(which)) for which, names in arms.items()]


def command(comparison, task, arms, seeds) -> str:
    """The call that makes these arms with these seeds."""
    options = option_words(comparison, arms, seeds)
    options += [] if comparison.dial else ["--dial", "0"]  # the task may have one of its own
    device = comparison.origin.device
    options += ["--device", device] if device else []
    lines = [f'"$python" -m minifp compare {task}', join(options)]
    lines += ['--jobs "${JOBS:-1}" --figures none --out "$again"']
    return " \\\n    ".join(lines)
