"""`minifp explain`, as it is typed, in a pipe and in a terminal."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("click")
from click.testing import CliRunner

import minifp as fp
from minifp import cli
from minifp.numerics.formats import DESCRIBED
from minifp.scope.commands.explain import COLOURS

ROOT = Path(fp.__file__).parents[1]
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def call(*words):
    """What the command answers."""
    return CliRunner().invoke(cli.main, ["explain", *words])


@pytest.mark.parametrize(
    "words, text",
    [
        (["0.1"], "0.1"),
        (["-0.1"], "-0.1"),
        (["--", "-0.1"], "-0.1"),
        (["-1e-8"], "-1e-8"),
        (["-inf"], "-inf"),
        (["-.5"], "-.5"),
        (["256 - 0.009"], "256 - 0.009"),
        (["1", "+", "0.0005"], "1 + 0.0005"),
        (["1", "-", "-0.0005"], "1 - -0.0005"),
        (["-1", "-0.0005"], "-1 - 0.0005"),
        (["3e4*3"], "3e4 * 3"),
        (["0x1p3", "x", "3"], "0x1p3 * 3"),
        (["1/3"], "1 / 3"),
        (["2^-25"], "2^-25"),
        (["1e-8-3"], "1e-8 - 3"),
    ],
)
def test_words_are_a_number_or_a_calculation(words, text):
    result = call(*words)
    assert result.exit_code == 0, result.output
    assert result.output.splitlines()[0] == text
    assert [line for line in result.output.splitlines() if line in DESCRIBED] == list(DESCRIBED)
    assert result.output == f"{fp.explain(text)}\n" and "\x1b" not in result.output


@pytest.mark.parametrize(
    "words, said",
    [
        ([], "which number?"),
        (["foo"], "'foo' is no number: expected a text such as"),
        (["--fomat", "0.1"], "'--fomat 0.1' is no number"),
        (["1", "%", "2"], "two of them with +, -, * or /"),
        (["3", "a.py", "b.py", "2"], "the shell takes a bare * for files"),
        (["1e99999"], "expected an exponent"),
    ],
)
def test_what_is_no_number_ends_in_one_message(words, said):
    result = call(*words)
    assert result.exit_code == 2 and said in " ".join(result.output.split())
    assert "Traceback" not in result.output


def outside(*words, **settings):
    """The command in another process, and what a pipe gets from it."""
    command = [sys.executable, "-W", "error", "-m", "minifp", "explain", *words]
    env = {k: v for k, v in os.environ.items() if k != "NO_COLOR"} | settings
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, encoding="utf-8")


def test_a_pipe_gets_plain_ascii_whatever_its_encoding():
    result = outside("-0.1", PYTHONIOENCODING="ascii")
    assert result.returncode == 0 and result.stderr == ""
    assert "1 01011 1001100110" in result.stdout and "\x1b" not in result.stdout


def in_a_terminal(**settings):
    """What a terminal gets."""
    pty = pytest.importorskip("pty", reason="no terminals of one's own on Windows")
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "minifp", "explain", "0.1"]
    env = {k: v for k, v in os.environ.items() if k != "NO_COLOR"} | settings
    process = subprocess.Popen(command, cwd=ROOT, env=env, stdout=theirs, stderr=theirs)
    os.close(theirs)
    found = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # Linux says so that the other end is closed
            break
        if not part:
            break
        found += part
    os.close(ours)
    assert process.wait() == 0
    return found.decode().replace("\r\n", "\n")


def test_a_terminal_gets_colours_and_the_same_text():
    shown = in_a_terminal()
    assert COLOUR.sub("", shown) == f"{fp.explain('0.1')}\n"
    assert "\x1b[32m01011\x1b[0m" in shown and "\x1b[36m1001100110\x1b[0m" in shown


def test_no_color_is_respected():
    assert in_a_terminal(NO_COLOR="1") == f"{fp.explain('0.1')}\n"


def test_every_role_has_a_colour():
    texts = ("0.1", "1e-8", "70000", "256 - 0.009", "1.5 * 1.5", "nan", "1/0")
    found = {role for t in texts for name in DESCRIBED for _, pieces in fp.explain(t).rows(name)
             for role, _ in pieces}  # fmt: skip
    assert found - {""} < {*COLOURS} and {*COLOURS} - found == {"title"}
