"""Whether a program would take a command: its own parsers read it, and it is not run."""

import argparse
import configparser
import contextlib
import importlib.metadata
import importlib.util
import io
import re
import runpy
import shutil
import sys
from collections.abc import Iterator
from pathlib import PurePosixPath
from unittest import mock

import click

from documents.blocks import ROOT

BUILTIN = {".", "sh", "umask", "!git"}
PYTHONS = {"python", "python3", "py"}


class NotUnderstood(Exception):
    """A command that its program would refuse."""


class Incomplete(NotUnderstood):
    """A command that lacks arguments, as sentences name it."""


class Parsed(BaseException):
    """Raised where a script, having read its arguments, would begin."""


def check(words: list[str]) -> None:
    """Raise NotUnderstood for a command that its program would refuse, or that is not there, and
    Incomplete where arguments are missing alone.

    The files that it reads must be in the current folder."""
    while words and re.fullmatch(r"[A-Z_]+=\S*", words[0]):
        words = words[1:]
    name = PurePosixPath(words[0].removeprefix("!")).name if words else ""
    if "&&" in words:
        at = words.index("&&")
        check(words[:at])
        check(words[at + 1 :])
    elif not words:  # variables alone
        return
    elif name in PYTHONS:
        check_python([word for word in words[1:] if not re.fullmatch(r"-3\.\d+", word)])
    elif name in PROGRAMS:
        PROGRAMS[name](words[1:])
    elif not (words[0] in BUILTIN or (ROOT / words[0]).is_file() or is_installed(name)):
        raise NotUnderstood(f"{name}: no such program")


def is_installed(name: str) -> bool:
    """Whether an installed package brings a program, or the machine has it."""
    scripts = importlib.metadata.entry_points(group="console_scripts")
    return bool(scripts.select(name=name)) or shutil.which(name) is not None


def check_python(words: list[str]) -> None:
    """python -m MODULE ..., python SCRIPT ..., or python -c PROGRAM."""
    if words[0] == "-m":
        name, rest = words[1], words[2:]
        if name in PROGRAMS:
            PROGRAMS[name](rest)
        elif importlib.util.find_spec(name) is None:
            raise NotUnderstood(f"python -m {name}: no such module")
    elif words[0] == "-c":
        compile(words[1], "-c", "exec")
    else:
        check_script(words)


def check_script(words: list[str]) -> None:
    """A program of scripts/, until it has read its arguments. One that reads none must be there."""
    if not (path := ROOT / words[0]).is_file():
        raise NotUnderstood(f"{words[0]}: no such file")
    if "ArgumentParser" not in (text := path.read_text(encoding="utf-8")) and "click." not in text:
        return
    try:
        with stopped_when_parsed([str(path), *words[1:]]):
            runpy.run_path(str(path), run_name="__main__")
    except Parsed:
        return
    except SystemExit as error:
        if not error.code:  # --help
            return
        raise NotUnderstood(f"{' '.join(words)}: refused with {error.code}") from error
    raise NotUnderstood(f"{words[0]} ended without reading its arguments")


@contextlib.contextmanager
def stopped_when_parsed(arguments: list[str]) -> Iterator[None]:
    """argparse's and click's parsers raise Parsed as soon as they have understood sys.argv."""
    parse = argparse.ArgumentParser.parse_args

    def stop(*_):
        raise Parsed

    def parse_args(self, *options):
        parse(self, *options)
        stop()

    with (
        mock.patch.object(sys, "argv", arguments),
        mock.patch.object(sys, "path", [str(ROOT / "scripts"), *sys.path]),
        mock.patch.object(argparse.ArgumentParser, "parse_args", parse_args),
        mock.patch.object(click.Command, "invoke", stop),
        contextlib.redirect_stdout(io.StringIO()),
    ):
        yield


def options(words: list[str]) -> dict:
    """The options of a command of minifp's, by name. Raises NotUnderstood."""
    from minifp.cli import main

    name, group = "minifp", main
    while words and hasattr(group, "get_command"):
        name, *words = words
        if (command := group.get_command(None, name)) is None:
            raise NotUnderstood(f"minifp {name}: no such command")
        group = command
    try:
        return group.make_context(name, list(words)).params
    except (click.MissingParameter, click.BadOptionUsage) as error:
        raise Incomplete(f"minifp {name}: {error.format_message()}") from error
    except click.ClickException as error:
        raise NotUnderstood(f"minifp {name}: {error.format_message()}") from error


def check_minifp(words: list[str]) -> None:
    """A command of minifp's with its options, its task, and its precisions."""
    from minifp.errors import MinifpError
    from minifp.lab.arms import as_arm
    from minifp.lab.tasks import load_task

    told = options(words)
    try:
        for text in told.get("precisions") or ():
            as_arm(text)
        if isinstance(task := told.get("task"), str) and ".py" not in task:
            load_task(task, told.get("data"))
    except MinifpError as error:
        raise NotUnderstood(f"minifp {' '.join(words)}: {error}") from error


def check_make(words: list[str]) -> None:
    """Targets and variables of the Makefile."""
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    for word in words:
        variable, is_set, _ = word.partition("=")
        pattern = rf"\$\({variable}\)" if is_set else rf"^{word}:"
        if not re.search(pattern, text, re.M):
            raise NotUnderstood(f"make {word}: not in the Makefile")


def check_pip(words: list[str]) -> None:
    """pip's own parser, and the extras of minifp."""
    from pip._internal.commands import create_command

    setup = configparser.ConfigParser(interpolation=None)
    setup.read(ROOT / "setup.cfg", encoding="utf-8")
    extras = setup["options.extras_require"]
    try:
        create_command(words[0]).parse_args(words[1:])
    except (SystemExit, KeyError) as error:
        raise NotUnderstood(f"pip {' '.join(words)}: {error}") from error
    for word in words:
        wanted = re.match(r"(?:minifp|\S*[./]\S*)\[(.*?)\]", word)
        if missing := [extra for extra in (wanted[1].split(",") if wanted else ())
                       if extra not in extras]:  # fmt: skip
            raise NotUnderstood(f"pip {word}: no extra {', '.join(missing)}")


PROGRAMS = {"minifp": check_minifp, "make": check_make, "pip": check_pip}
