"""A machine that has next to nothing: an empty HOME, python3, make and what these call (a shell,
coreutils, grep, sed), and a clean clone of the checkout. Nothing is activated.

minifp as it would be published is a wheel of the clone, which pip finds by its name.
"""

import contextlib
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from documents.blocks import ROOT, Block, blocks

# What make, the Makefile and the scripts that minifp writes call.
TOOLS = "cat cp dirname env expand grep ls make mkdir mv rm sed sh sleep test touch uname".split()
# How the machine reaches its package index is its own affair.
NETWORK = ("PIP_", "SSL_", "REQUESTS_", "HTTP_", "HTTPS_", "NO_PROXY", "http_", "https_")
INSTALLS, INSTALLING = re.compile(r"\bmake |-m (?:pip|venv) |warmup"), 900  # seconds
# Blocks of one document run one after the other in this, so that each has its seconds.
INTERPRETER = """
import json, os, sys, traceback
path = sys.argv[1]
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
__file__ = path
for span in sys.stdin:
    first, last = json.loads(span)
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    code = "\\n" * first + "\\n".join(lines[first:last])
    try:
        exec(compile(code, path, "exec"), globals())
        print("ok", file=answers, flush=True)
    except BaseException:
        traceback.print_exc()
        print("failed", file=answers, flush=True)
"""


class Outcome(NamedTuple):
    """What came of a command: seconds, how it ended, and what it printed."""

    seconds: float
    text: str
    printed: str = ""


class Machine:
    """A clone, a shell that remembers what was activated, and an interpreter for each document."""

    def __init__(self, folder: Path, limit: float) -> None:
        """folder: an empty one. limit: the seconds that a command may take. Raises
        CalledProcessError where there is no git, or the clone cannot be made into a wheel."""
        self.folder, self.limit = folder, limit
        self.clone, self.published = folder / "minifp", folder / "published"
        self.printed, self.said = folder / "printed.txt", folder / "said.txt"  # by shell and Python
        self.state = folder / "state.sh"
        self.interpreter: subprocess.Popen | None = None
        for name in ("home", "bin", "tmp"):
            (folder / name).mkdir()
        (folder / "bin" / "python3").symlink_to(Path(sys.base_prefix, "bin", "python3").resolve())
        for name in TOOLS:
            (folder / "bin" / name).symlink_to(shutil.which(name) or f"/bin/{name}")
        self.fresh_clone()
        subprocess.run([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir",
                        self.published, self.clone], check=True)  # fmt: skip

    def fresh_clone(self) -> None:
        """Put a clone of the checkout, as it was committed, in the place of the last one."""
        shutil.rmtree(self.clone, ignore_errors=True)
        subprocess.run(["git", "clone", "--quiet", ROOT, self.clone], check=True)

    def begin(self, *commands: str) -> None:
        """Forget what was activated, and do what a document takes for granted."""
        self.close()
        self.state.write_text("", encoding="utf-8")
        for command in commands:
            if (outcome := self.shell(command)).text != "ok":
                raise RuntimeError(f"{command}: {outcome.text}\n{outcome.printed}")

    def environment(self) -> dict[str, str]:
        """Of all that is run."""
        told = {name: value for name, value in os.environ.items() if name.startswith(NETWORK)}
        links = f"{self.published} {told.get('PIP_FIND_LINKS', '')}".strip()
        home, tmp = str(self.folder / "home"), str(self.folder / "tmp")
        return told | {"HOME": home, "TMPDIR": tmp, "LANG": "C.UTF-8", "PIP_FIND_LINKS": links,
                       "PATH": str(self.folder / "bin")}  # fmt: skip

    def start(self, command: str, **streams) -> subprocess.Popen:
        """Start a command of a shell in the clone, where the one before has left the shell."""
        text = f". {self.state}; set -a\n{command}\n"
        return subprocess.Popen(["sh", "-c", text], cwd=self.clone, env=self.environment(),
                                start_new_session=True, **streams)  # fmt: skip

    def shell(self, command: str) -> Outcome:
        """Run a command, and remember the variables that it sets."""
        keep = f"code=$?; export -p > {self.state}; exit $code"
        with self.printed.open("w") as printed:
            streams = {"stdout": printed, "stderr": subprocess.STDOUT, "stdin": subprocess.DEVNULL}
            process, began = self.start(f"{command}\n{keep}", **streams), time.monotonic()
            try:
                code = process.wait(INSTALLING if INSTALLS.search(command) else self.limit)
                text = "ok" if code == 0 else f"failed with {code}"
            except subprocess.TimeoutExpired:
                text = self.late()
            finally:
                kill(process)
        return outcome(began, text, self.printed)

    def python(self, block: Block) -> Outcome:
        """Run a block of Python after those of its document before it, with warnings as errors.

        Its lines have the numbers that they have in the document."""
        if self.interpreter is None:
            self.interpreter = self.started(block.document)
        began = time.monotonic()
        os.truncate(self.said, 0)
        span = block.line - 1, block.line - 1 + len(block.text.splitlines())
        with contextlib.suppress(BrokenPipeError):  # it has ended: then it answers nothing
            print(json.dumps(span), file=self.interpreter.stdin, flush=True)
        text = self.late()
        if select.select([self.interpreter.stdout], [], [], self.limit)[0]:
            text = self.interpreter.stdout.readline().strip() or "failed: the interpreter ended"
        if text not in ("ok", "failed"):
            self.close()
        return outcome(began, text, self.said)

    def started(self, document: str) -> subprocess.Popen:
        """An interpreter for the Python of a document."""
        path = self.folder / f"{document.replace('/', '_')}.py"
        path.write_text(program(document), encoding="utf-8")
        streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        with self.said.open("a") as said:
            words = f"exec python3 -u -W error -c '{INTERPRETER}' {path}"
            return self.start(words, stderr=said, **streams)

    def late(self) -> str:
        """The outcome of what is ended at the limit."""
        return f"still running after {self.limit:.0f} s"

    def close(self) -> None:
        """End the interpreter."""
        if self.interpreter is not None:
            kill(self.interpreter)
            with contextlib.suppress(BrokenPipeError):
                self.interpreter.stdin.close()
            self.interpreter.stdout.close()
            self.interpreter = None


def outcome(began: float, text: str, path: Path) -> Outcome:
    """Of what began then, and printed into path; where it failed, with its last line."""
    seconds, printed = time.monotonic() - began, path.read_text(encoding="utf-8", errors="replace")
    if text.startswith("failed") and printed.strip():
        text += f": {printed.strip().splitlines()[-1]}"
    return Outcome(seconds, text, printed)


def program(document: str) -> str:
    """All Python of a document, each line where it stands there."""
    lines: list[str] = []
    for block in blocks(document):
        if block.language == "python":
            lines += [""] * (block.line - 1 - len(lines)) + block.text.splitlines()
    return "\n".join(lines) + "\n"


def kill(process: subprocess.Popen) -> None:
    """End a process and all that it has started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()
