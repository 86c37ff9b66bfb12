"""minifp's command, in this process or in a terminal of its own, and what it answers."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from minifp import cli

ROOT = Path(__file__).resolve().parents[1]


def call(*words, **settings):
    """What the command answers: exit_code, stdout, stderr, output."""
    return CliRunner().invoke(cli.main, [str(word) for word in words], **settings)


def in_a_terminal(*words, until=None, **settings):
    """(exit code, what a terminal gets); Ctrl-C is sent when `until` was seen."""
    pty = pytest.importorskip("pty", reason="no terminals of one's own on Windows")
    ours, theirs = pty.openpty()
    env = {k: v for k, v in os.environ.items() if k != "NO_COLOR"}
    env |= {"COLUMNS": "90", "PYTHONIOENCODING": "utf-8", **settings}
    command = [sys.executable, "-m", "minifp", *words]
    process = subprocess.Popen(command, cwd=ROOT, env=env, stdout=theirs, stderr=theirs)
    os.close(theirs)
    text = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # Linux says so that the other end is closed
            break
        if not part:
            break
        text += part
        if until is not None and until in text:
            process.send_signal(signal.SIGINT)
            until = None
    os.close(ours)
    return process.wait(), text.decode().replace("\r\n", "\n")
