"""Write requirements.lock: the versions of all packages with which the tests passed here.

    python scripts/write_lock.py      # after `make nightly`, in its environment

`make locked` installs these. On another system or Python some may not be there: then leave out what
pip names. PyTorch is not among them: setup.cfg pins it.
"""

import platform
import subprocess
import sys
from pathlib import Path

LOCK = Path(__file__).resolve().parents[1] / "requirements.lock"
HEAD = """\
# What the tests passed with: Python {python} on {system}. Written by scripts/write_lock.py;
# `make locked` installs it.
"""
FREEZE = [sys.executable, "-m", "pip", "list", "--format=freeze", "--exclude-editable"]


def text() -> str:
    """The lock of this environment."""
    done = subprocess.run(FREEZE, stdout=subprocess.PIPE, encoding="utf-8", check=True)
    system = f"{platform.system()} {platform.machine()}"
    pinned = [line for line in done.stdout.splitlines() if not line.startswith("minifp==")]
    return HEAD.format(python=platform.python_version(), system=system) + "\n".join([*pinned, ""])


if __name__ == "__main__":
    LOCK.write_text(text(), encoding="utf-8")
