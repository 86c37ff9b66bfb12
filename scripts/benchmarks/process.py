"""The parent's end of a child process: ask, and be answered within a time limit."""

import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[1]
THREADS = ("MINIFP_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class Failure(Exception):
    """What a child could not do, in one line."""


class Process:
    """A child that runs one implementation on so many threads. Use it in a `with` block."""

    def __init__(self, implementation, threads):
        env = dict.fromkeys(THREADS, str(threads))
        self.implementation = implementation
        self.said, self.answers = tempfile.TemporaryFile(), queue.SimpleQueue()
        self.child = subprocess.Popen(
            [sys.executable, SCRIPTS / "bench.py", "child", implementation],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.said,
            encoding="utf-8", env={**os.environ, **env},
        )  # fmt: skip
        self.listener = threading.Thread(target=self._listen, daemon=True)
        self.listener.start()

    def _listen(self):
        for line in self.child.stdout:
            self.answers.put(line)
        self.answers.put(None)

    def ask(self, do, limit=None, **given):
        """What the child answers. Raises Failure for an error of its, or after `limit` seconds."""
        try:
            print(json.dumps({"do": do, **given}), file=self.child.stdin, flush=True)
            line = self.answers.get(timeout=limit)
        except queue.Empty:
            self.close()
            raise Failure(f"no answer within {limit:g} s") from None
        except OSError:
            line = None
        if line is None:
            raise Failure(f"ended with {self.child.wait()}: {self.last_words()}")
        answer = json.loads(line)
        if "error" in answer:
            raise Failure(answer["error"])
        return answer

    def last_words(self):
        """The last line of its stderr."""
        self.said.seek(0)
        lines = self.said.read().decode("utf-8", "replace").splitlines()  # at \r, of bars, too
        return next(
            (line.strip()[:200] for line in reversed(lines) if line.strip()), "nothing said"
        )

    def close(self):
        """End the child."""
        if self.child.poll() is None:
            self.child.kill()
        self.child.wait()
        self.listener.join()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
        self.said.close()
        self.child.stdout.close()
        try:
            self.child.stdin.close()
        except OSError:  # what it was not told any more
            pass
