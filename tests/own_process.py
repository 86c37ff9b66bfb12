"""Python in a process of its own, from this checkout."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def python(code, *arguments, check=True, **environment):
    """The process once it has ended: well, unless it is said that it need not."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *arguments], cwd=ROOT, timeout=600,
        env={**os.environ, **environment}, capture_output=True, encoding="utf-8",
    )  # fmt: skip
    assert not check or done.returncode == 0, done.stderr
    return done
