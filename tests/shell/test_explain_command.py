"""`minifp explain`, as it is typed, in a pipe and in a terminal."""

import os
import re
import subprocess
import sys
from functools import partial

from terminals import ROOT, call, in_a_terminal

import minifp as fp
from minifp.numerics.formats import DESCRIBED
from minifp.scope.commands.explain import COLOURS

COLOUR = re.compile(r"\x1b\[[0-9;]*m")
explain = partial(call, "explain")


def test_words_are_a_number_or_a_calculation():
    for words, text in (
        *(("0.1", "0.1"), ("-0.1", "-0.1"), ("-- -0.1", "-0.1"), ("-1e-8", "-1e-8")),
        *(("-inf", "-inf"), ("-.5", "-.5"), ("256 - 0.009", "256 - 0.009")),
        *(("1 + 0.0005", "1 + 0.0005"), ("1 - -0.0005", "1 - -0.0005")),
        *(("-1 -0.0005", "-1 - 0.0005"), ("3e4*3", "3e4 * 3"), ("0x1p3 x 3", "0x1p3 * 3")),
        *(("1/3", "1 / 3"), ("2^-25", "2^-25"), ("1e-8-3", "1e-8 - 3")),
    ):
        for given in (words.split(), [words]) if "--" not in words else [words.split()]:
            result = explain(*given)
            assert result.exit_code == 0, result.output
            lines = result.output.splitlines()
            assert lines[0] == text
            assert [line for line in lines if line in DESCRIBED] == list(DESCRIBED)
            assert result.output == f"{fp.explain(text)}\n" and "\x1b" not in result.output


def test_what_is_no_number_ends_in_one_message():
    for words, said in (
        *(([], "no number: try"), (["foo"], "'foo' is not a number: expected a string such as")),
        (["--fomat", "0.1"], "'--fomat 0.1' is not a number"),
        (["1", "%", "2"], "two of them with +, -, * or /"),
        (["3", "a.py", "b.py", "2"], "the shell takes a bare * for files"),
        (["1e99999"], "expected an exponent"),
    ):
        result = explain(*words)
        assert result.exit_code == 2 and said in " ".join(result.output.split())
        assert "Traceback" not in result.output


def test_a_pipe_gets_plain_ascii_whatever_its_encoding():
    command = [sys.executable, "-W", "error", "-m", "minifp", "explain", "-0.1"]
    env = os.environ | {"PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, encoding="utf-8")
    assert done.returncode == 0 and done.stderr == ""
    assert "1 01011 1001100110" in done.stdout and "\x1b" not in done.stdout


def test_a_terminal_gets_colours_and_the_same_text():
    code, shown = in_a_terminal("explain", "0.1")
    assert code == 0 and COLOUR.sub("", shown) == f"{fp.explain('0.1')}\n"
    assert "\x1b[32m01011\x1b[0m" in shown and "\x1b[36m1001100110\x1b[0m" in shown
    assert in_a_terminal("explain", "0.1", NO_COLOR="1") == (0, f"{fp.explain('0.1')}\n")
    texts = ("0.1", "1e-8", "70000", "256 - 0.009", "1.5 * 1.5", "nan", "1/0")
    roles = {role for t in texts for name in DESCRIBED for _, pieces in fp.explain(t).rows(name)
             for role, _ in pieces}  # fmt: skip
    assert roles - {""} < {*COLOURS} and {*COLOURS} - roles == {"title"}
