"""A student's process, as the one that grades sees it: begun, asked within a time, and ended.

It is told inputs and nothing else, and trusted in nothing: what it sends is read by wire.py.
"""

import os
import queue
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from minifp.errors import DataError, MinifpError
from minifp.runtime.cpu import blas
from minifp.runtime.cpu.compile import kernel_cache
from minifp.teach.checking import NoAnswerError
from minifp.teach.exercise import Exercise
from minifp.teach.grading import wire

PACKAGE = Path(__file__).resolve().parents[2]
START = 60.0  # seconds that a process may take to import minifp
KEPT = ("PATH", "SYSTEMROOT", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")  # of the environment
PROGRAM = "import sys; sys.path[:] = {path!r}; from minifp.teach.grading.student import serve; "


@dataclass(frozen=True)
class Limits:
    """Of an exercise. seconds: until all is answered. memory: bytes beside what Python takes."""

    seconds: float = 10.0
    memory: int = 2**31


class Process:
    """One that runs a student's file. held: what the system holds of confinement.ALL. broken: what
    is wrong with cells that are no Python. is_lost: whether it will not answer any more.

    Raises NoAnswerError, with the reason, where no answer comes.
    """

    def __init__(self, cells: Sequence[tuple[str, str]], limits: Limits) -> None:
        self.limits, self.folder = limits, tempfile.mkdtemp(prefix="minifp-grade-")
        self.functions: list = []
        self.left, self.is_lost = START, False
        try:
            self._begin()
        except OSError as error:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise MinifpError(f"no process can be begun for students' code: {error}") from error
        try:
            kind, self.held = self._hear()
            self._send("cells", [[place, as_bytes(text)] for place, text in cells])
            _, self.broken = self._hear()
        except BaseException:
            self.end()
            raise

    def _begin(self) -> None:
        seconds = int(self.limits.seconds * 60 + START)  # of all exercises of a file together
        settings = self.folder, readable(), self.limits.memory, seconds
        program = PROGRAM.format(path=paths()) + f"serve(*{settings!r})"
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        own: dict[str, Any] = {"cwd": self.folder, "env": environment(self.folder), **pipes}
        command = [sys.executable, "-I", "-c", program]
        self.process = subprocess.Popen(command, bufsize=-1, start_new_session=True, **own)
        self.inbox: queue.Queue = queue.Queue(maxsize=2)
        self.outbox: queue.Queue = queue.Queue()
        out, into = self.process.stdout, self.process.stdin
        works = (receive, out, self.inbox), (transmit, into, self.outbox)
        self.threads = [threading.Thread(target=w, args=rest, daemon=True) for w, *rest in works]
        for thread in self.threads:
            thread.start()

    def _send(self, *said: Any) -> None:
        self.outbox.put(wire.packed([*said], self.functions))

    def _hear(self) -> list:
        """The next message; the time that it takes is the process's."""
        began = time.monotonic()
        try:
            content = self.inbox.get(timeout=max(self.left, 0.001))
        except queue.Empty:
            raise self._lost(f"no answer after {self.limits.seconds:g} seconds") from None
        self.left -= time.monotonic() - began
        if isinstance(content, DataError):
            raise self._lost(str(content))
        if content is None:
            raise self._lost(f"its process ended{self._how()}")
        try:
            said = wire.unpacked(content)
            if not isinstance(said, list) or not said:
                raise DataError(f"{wire.SENDER} is no message")
        except DataError as error:
            raise self._lost(str(error)) from None
        return said

    def _lost(self, why: str) -> NoAnswerError:
        """Nothing more is to be expected."""
        self.is_lost = True
        return NoAnswerError(why)

    def _how(self) -> str:
        with suppress(subprocess.TimeoutExpired):
            code = self.process.wait(1)
            return f" by signal {-code}" if code < 0 else f" with the exit code {code}"
        return ""

    def define(self, exercise: Exercise) -> Any:
        """The answer of an exercise: a value, or `self.call` where it is a function.

        Raises NotImplementedError where it is not written, KeyError where the file has none.
        """
        self.left, through = self.limits.seconds, exercise.through
        name = f"{through.__module__}:{through.__name__}" if through else ""
        self._send("define", exercise.name, name)
        kind, *rest = self._hear()
        if kind == "missing":
            raise KeyError(exercise.name)
        if kind == "function":
            return self.call
        return self._result(kind, "value", rest)

    def call(self, *inputs: Any) -> Any:
        """What the student's function returns for these inputs."""
        self.functions = []
        self._send("call", [*inputs])
        while True:
            kind, *rest = self._hear()
            if kind != "ask":
                return self._result(kind, "result", rest)
            self._reply(rest)

    def _reply(self, asked: list) -> None:
        """Answer a question at a function that was an input."""
        try:
            place, inputs = asked
            self._send("answer", self.functions[place](*inputs))
        except Exception as error:
            self._send("raise", str(error))

    def _result(self, kind: Any, expected: str, rest: list) -> Any:
        """The value of a message of the expected kind."""
        if kind == expected and len(rest) == 1:
            return rest[0]
        if kind == "unwritten":
            raise NotImplementedError
        if kind == "failed" and len(rest) == 1:
            raise NoAnswerError(str(rest[0]))
        raise self._lost("it sent what was not asked for")

    def end(self) -> None:
        """Kill the process with all of its session, whatever it is doing."""
        if os.name == "posix":
            with suppress(OSError):
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()
        self.process.wait()
        self.outbox.put(None)
        with suppress(queue.Empty):
            while True:  # room for what is still to come
                self.inbox.get_nowait()
        for thread in self.threads:
            thread.join(1)
        shutil.rmtree(self.folder, ignore_errors=True)


def as_bytes(text: str) -> np.ndarray:
    """A text in UTF-8, which JSON would not hold if it commands a terminal."""
    return np.frombuffer(text.encode("utf-8", "replace"), np.uint8)


def receive(file: BinaryIO, messages: queue.Queue) -> None:
    """Put aside what comes; None at the end, an error for what cannot be read."""
    with file:
        try:
            while True:
                messages.put(wire.read(file))
        except DataError as error:
            messages.put(error)
        except (EOFError, OSError, ValueError):
            messages.put(None)


def transmit(file: BinaryIO, messages: queue.Queue) -> None:
    """Write what is to be sent, until there is no more."""
    with suppress(OSError, ValueError), file:
        while (content := messages.get()) is not None:
            file.write(content)
            file.flush()


def paths() -> list[str]:
    """Where the process finds modules: minifp and what is installed, not the folder we are in."""
    own = str(PACKAGE.parent)
    return [*dict.fromkeys([own, *(p for p in sys.path if p in installed())])]


def installed() -> list[str]:
    """Folders of the standard library and of packages."""
    standard = [*sysconfig.get_paths().values(), sys.prefix, sys.base_prefix]
    above = {p: {Path(p), *Path(p).parents} for p in sys.path if p}
    packages, own = ("site-packages", "dist-packages"), {*map(Path, standard)}
    return [p for p, folders in above.items() if Path(p).name in packages or folders & own]


def readable() -> list[str]:
    """What a student's code may read: Python, minifp, compiled kernels, and what is installed."""
    own = [PACKAGE, PACKAGE.parent / "models", Path(sys.executable).parent]
    own += [place.parent for place in kernel_cache.places()]
    return [*map(str, own), sys.prefix, sys.base_prefix, *installed()]


def environment(folder: str) -> dict[str, str]:
    """Of the process: nothing of ours but where programs are."""
    ours = {name: os.environ[name] for name in KEPT if name in os.environ}
    own = dict.fromkeys(("HOME", "TMPDIR", "TEMP", "USERPROFILE", "MPLCONFIGDIR"), folder)
    own[kernel_cache.ENVIRONMENT] = str(kernel_cache.place().parent)
    return {**ours, **own, **dict.fromkeys(blas.THREADS, "1"), "FAST": "1", "LANG": "C.UTF-8"}
