"""Write requirements.lock: the versions of all packages with which the tests passed here.

    python scripts/write_lock.py            # after `make nightly`, in its environment
    python scripts/write_lock.py --check    # writes nothing; fails where setup.cfg asks for others

`make locked` installs these. On another system or Python some may not be there: then leave out what
pip names. PyTorch is not among them: setup.cfg pins it.
"""

import argparse
import platform
import re
import subprocess
import sys
from configparser import ConfigParser
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
LOCK = ROOT / "requirements.lock"
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


def problems() -> list[str]:
    """What setup.cfg asks for, for the tests on Linux, that the lock has not."""
    lock, declared = LOCK.read_text(encoding="utf-8"), ConfigParser()
    python = re.findall(r"Python (\d+\.\d+)", lock)[0]
    pins = {called(name): pin for name, pin in re.findall(r"^([\w.-]+)==(.+)$", lock, re.M)}
    declared.read(ROOT / "setup.cfg", encoding="utf-8")
    asked = declared["options"]["install_requires"], declared["options.extras_require"]["test"]
    found, place = [], {"python_version": python, "sys_platform": "linux"}
    for one in map(Requirement, filter(None, "\n".join(asked).splitlines())):
        pin = pins.get(called(one.name))
        is_asked = one.marker is None or one.marker.evaluate(place)
        if is_asked and (pin is None or pin not in one.specifier):
            found.append(f"{LOCK.name}: {one.name} {pin or 'is not there'}, expected {one}")
    return found


def called(name: str) -> str:
    """A package's name as all who name it agree on."""
    return re.sub(r"[-_.]+", "-", name).lower()


def main(arguments: list[str] | None = None) -> int:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--check", action="store_true", help="write nothing, and say what differs")
    if not parser.parse_args(arguments).check:
        LOCK.write_text(text(), encoding="utf-8")
        return 0
    print(*problems(), sep="\n", end="")
    return min(len(problems()), 1)


if __name__ == "__main__":
    sys.exit(main())
