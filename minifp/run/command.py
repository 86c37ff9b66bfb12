"""The command line of `python -m minifp.run`."""

import json
import os
import sys
import traceback
from pathlib import Path
from typing import Any

import click

from minifp.compat.torch import files
from minifp.errors import ArgumentError, MinifpError
from minifp.run.comparing import compare, named
from minifp.run.losses import Losses
from minifp.run.missing import missing
from minifp.run.saves import unwritable
from minifp.run.script import Script, set_precision
from minifp.run.watching import Watching
from minifp.saving.files import check_writable, write
from minifp.shell.group import Refusal


@click.command(context_settings={"allow_interspersed_args": False})
@click.option("--precision", help="The precision to train in, such as mixed.")
@click.option("--microscope", metavar="OUT", help="Write what the microscope sees to this folder.")
@click.option("--compare", "compared", metavar="P,P", help="Run once in each of these precisions.")
@click.option("--out", default="runs/compare", show_default=True, help="--compare: a new folder.")
@click.option("--steps", type=click.IntRange(1), help="End after so many calls of backward().")
@click.option("--seed", type=click.IntRange(0), help="Seed all random numbers before it starts.")
@click.option("--missing", "only_missing", is_flag=True, help="List what it lacks; run nothing.")
@click.option("--write-losses", metavar="FILE", hidden=True)
@click.option("--saves", metavar="FOLDER", hidden=True)
@click.argument("script", type=click.Path(exists=True, dir_okay=False))
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def main(script: str, args: tuple[str, ...], **options: Any) -> None:
    """Run SCRIPT, which was written for PyTorch, with its ARGS, unchanged, by minifp.

    Options stand before SCRIPT. The exit code is the script's; 1 where it lacks a name.

    \b
      python -m minifp.run --precision mixed train.py --epochs 1
      python -m minifp.run --missing train.py
      python -m minifp.run --compare float32,mixed --out runs/both --steps 200 train.py
    """
    asked = Script(script, args, options["steps"], options["seed"])
    try:
        if options["only_missing"]:
            list_missing(script)
        elif options["compared"]:
            for name in ("precision", "microscope"):
                if options[name] is not None:
                    raise ArgumentError(f"--compare and --{name}: expected one of them")
            print(compare(asked, named(options["compared"]), options["out"]))
        else:
            set_precision(options["precision"])
            if options["microscope"]:
                check_writable(Path(options["microscope"]) / "scope.txt")
    except MinifpError as error:
        raise Refusal(str(error)) from None
    if not (options["only_missing"] or options["compared"]):
        run(asked, options["microscope"], options["write_losses"], options["saves"])


def list_missing(script: str) -> None:
    """Print what a script lacks; exit code 1 where that is anything."""
    lacks = missing(script)
    print("\n".join(map(str, lacks)) or f"{script}: minifp has all that it names of PyTorch's")
    raise SystemExit(bool(lacks))


def run(script: Script, microscope: str | None, losses: str | None, saves: str | None) -> None:
    """Run a script, and afterwards write what was asked for, also where it failed."""
    # The script may change its folder.
    microscope, losses, saves = (p and os.path.abspath(p) for p in (microscope, losses, saves))
    seen = Losses(script.steps)
    watching = Watching(max(1, min(20, (script.steps or 400) // 20))) if microscope else None
    files.folder = saves
    for told in unwritable(script.path):
        print(f"minifp.run: {told}; what cannot be saved is written elsewhere", file=sys.stderr)
    try:
        script.run(seen, watching)
    except SystemExit:
        raise
    except BaseException as error:
        show(error)
        raise SystemExit(130 if isinstance(error, KeyboardInterrupt) else 1) from None
    finally:
        if script.steps and not seen.values:
            print("minifp.run: --steps: the script has not called backward()", file=sys.stderr)
        if losses:
            write(losses, json.dumps(seen.values))
        if watching is not None and microscope is not None:
            print(watching.finish(microscope), file=sys.stderr)


def show(error: BaseException) -> None:
    """Print an error as Python does, from the script's own first line on."""
    own, trace = (str(Path(__file__).parent), "<frozen runpy"), error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith(own):
        trace = trace.tb_next
    traceback.print_exception(type(error), error, trace)
