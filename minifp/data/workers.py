"""Processes that decode pictures: started when first needed, ended with who owns them.

They are plain interpreters that run `decoding`, and not those of `multiprocessing`, which would
import the user's program again and need an `if __name__ == "__main__"` in it.
"""

import json
import subprocess
import sys
import threading
import weakref
from collections.abc import Generator

import numpy as np

from minifp.data import decoding
from minifp.errors import DataError
from minifp.runtime.callers import warn_once
from minifp.runtime.file_kinds import kind_of_file

AHEAD = 2  # requests that a worker has: one to work on, and the next


class Workers:
    """`count` processes; `pictures` may be called from any thread, one call at a time."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._processes: list[subprocess.Popen] = []
        self._lock = threading.Lock()
        self._end = weakref.finalize(self, end, self._processes)

    def pictures(self, requests: list[tuple]) -> Generator[np.ndarray, None, None]:
        """Yield for each request (path, size, mode, crop, ...) its pixels, in order.

        Raises DataError that names the file, for one that cannot be read, and where a process has
        been ended from outside.
        """
        with self._lock:
            try:
                self._start()
                for i in range(min(len(requests), AHEAD * self.count)):
                    self._ask(i, requests[i])
                for i, request in enumerate(requests):
                    pixels = self._answer(i, request)
                    if i + AHEAD * self.count < len(requests):
                        self._ask(i + AHEAD * self.count, requests[i + AHEAD * self.count])
                    yield pixels
            except BaseException:  # what is still on its way would be taken for later answers
                end(self._processes)
                raise

    def close(self) -> None:
        """End the processes; the next pictures start others."""
        with self._lock:
            end(self._processes)

    def _start(self):
        if self._processes:
            return
        # This process's path, wherever it is from, so that the same Pillow is found.
        code = f"import sys; sys.path[:] = {sys.path!r}; import runpy; "
        code += f"runpy.run_path({decoding.__file__!r}, run_name='__main__')"
        for _ in range(self.count):
            command, pipe = [sys.executable, "-c", code], subprocess.PIPE
            # A new session: Ctrl-C is for this process, which ends them.
            process = subprocess.Popen(command, stdin=pipe, stdout=pipe, start_new_session=True)
            self._processes.append(process)

    def _ask(self, i, request):
        process = self._processes[i % self.count]
        try:
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
        except OSError:  # it has ended; its answer, which will not come, says so
            pass

    def _answer(self, i, request):
        process = self._processes[i % self.count]
        head = process.stdout.read(decoding.HEAD.size)
        if len(head) == decoding.HEAD.size:
            state, *shape, size = decoding.HEAD.unpack(head)
            body = process.stdout.read(size)
            if len(body) == size and state == decoding.FAILED:
                raise DataError(unreadable(request[0], body.decode("utf-8", errors="replace")))
            if len(body) == size and state == decoding.NO_MEMORY:
                raise MemoryError(f"{request[0]}: {body.decode('utf-8', errors='replace')}")
            if len(body) == size:
                if state == decoding.TRANSPARENT:
                    warn_of_transparent(request[0])
                return np.frombuffer(body, np.uint8).reshape(shape)
        raise DataError(
            f"the worker process for {request[0]} ended with exit code {process.wait()}. It may "
            "have run out of memory: try fewer workers, or workers=0 to see the error"
        )


def unreadable(path, error) -> str:
    """What is said of a file that is no picture."""
    kind = kind_of_file(path)
    what = f": it is {kind}" if kind and ": " in kind else ""
    return f"{path} cannot be read as a picture{what}{'. ' if what else ': '}{error}"


def warn_of_transparent(path) -> None:
    """Say once that pictures are transparent in parts, and what is read of these."""
    warn_once(
        "transparent",
        f"{path} is partly transparent: there, the stored but invisible colour is read, often "
        "black. If that matters, put pictures on a background first",
    )


def end(processes: list) -> None:
    """End processes and forget them."""
    for process in processes:
        process.kill()  # it only reads, and may be in the middle of it
    for process in processes:
        process.wait()
        for pipe in (process.stdin, process.stdout):
            try:
                pipe.close()
            except OSError:  # what was not flushed has nowhere to go
                pass
    processes.clear()
