"""A process that holds one workload in one implementation, and runs steps when it is asked to.

    python scripts/bench.py child minifp-mixed

It reads requests from stdin and answers on stdout, one JSON object a line; in between it waits, and
its threads sleep. How many threads there are was said by the environment: see process.py.
"""

import importlib
import json
import os
import sys
import traceback
from statistics import median
from time import perf_counter, process_time

import numpy as np

from . import memory, workloads

CLOCKS = {"wall": perf_counter, "processor": process_time}


class Server:
    """What can be asked of the process; each method is a request."""

    def __init__(self, implementation):
        library, _, format = implementation.partition("-")
        name = {"minifp": "ours", "torch": "theirs"}[library]
        self.side = importlib.import_module(f"benchmarks.{name}").Side(format)
        self.imported, self.runner = memory.held(), None

    def about(self):
        """Versions, and what imports hold."""
        return {"about": self.side.about(), "imported": self.imported}

    def make(self, kind, name, tiny):
        """Begin with a workload."""
        workload = workloads.find(kind, name, tiny)
        self.runner, self.inner = None, workload.inner
        self.runner = self.side.make(workload)
        return {}

    def settle(self):
        """Take steps until three in a row are not skipped: until the loss scale fits."""
        in_a_row = 0
        for _ in range(60):
            before = getattr(self.runner, "skipped", 0)
            list(self.runner.step())
            in_a_row = in_a_row + 1 if getattr(self.runner, "skipped", 0) == before else 0
            if in_a_row == 3:
                break
        return {}

    def run(self, steps, before=0, clock="wall"):
        """Seconds of each phase of each of so many steps, after some that are not counted; by a
        clock in CLOCKS."""
        now_by = CLOCKS[clock]
        for _ in range(before):
            list(self.runner.step())
        taken, skipped = [], getattr(self.runner, "skipped", 0)
        for _ in range(steps):
            phases, last = {}, now_by()
            for phase in self.runner.step():
                now = now_by()
                phases[phase] = (now - last) / self.inner
                last = now
            taken.append(phases)
        return {"steps": taken, "skipped": getattr(self.runner, "skipped", 0) - skipped}

    def loss(self):
        """The loss of the last step, if there is one."""
        return {"loss": self.runner.value() if hasattr(self.runner, "value") else None}

    def memory(self):
        """What this process holds and held."""
        return memory.held()

    def forget_peak(self):
        """See memory.py."""
        return {"forgotten": memory.forget_peak()}

    def held(self):
        """What a step of a model holds, by kind."""
        return self.runner.held()

    def trace(self):
        """What a step cannot do without: see tracing.py."""
        from .tracing import Trace

        with Trace() as trace:
            list(self.runner.step())
            if hasattr(self.runner, "optimizer"):
                trace.update(self.runner.moved_by_update())
        return trace.found()

    def profile(self, steps, clock="wall"):
        """Where the time of a step goes: see profiling.py."""
        from .profiling import Profile

        with Profile(CLOCKS[clock]) as profile:
            for _ in range(steps):
                profile.run(self.runner.step())
        return {"parts": profile.found()}

    def multiply(self, shape, seconds):
        """Seconds of a product of (M, K) and (K, N) in float32, by what computes it."""
        m, n, k = shape
        random = np.random.default_rng(0)
        a, b = (random.random(s, np.float32) for s in ((m, k), (k, n)))
        arrays = [self.side.array(x) for x in (a, b, np.empty((m, n), np.float32))]
        return {name: timed(f, arrays, seconds) for name, f in self.side.products().items()}

    def move(self, size, seconds):
        """Bytes a second that are read and written in arrays of so many bytes, by what does it."""
        x, y = (np.zeros(size // 4, np.float32) for _ in range(2))
        arrays = self.side.array(x), self.side.array(y)
        return {
            name: count * size / timed(f, arrays, seconds)
            for name, (count, f) in self.side.movers().items()
        }


def timed(call, arrays, seconds):
    """The median seconds of a call, over five samples that take so long together."""
    call(*arrays)
    start = perf_counter()
    call(*arrays)
    one = perf_counter() - start
    each, samples = max(1, round(seconds / 5 / max(one, 1e-7))), []
    for _ in range(5):
        start = perf_counter()
        for _ in range(each):
            call(*arrays)
        samples.append((perf_counter() - start) / each)
    return median(samples)


def serve(implementation):
    """Answer requests until there are no more."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what libraries print is no answer
    server = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if server is None:
                server = Server(implementation)
            answer = getattr(server, request.pop("do"))(**request)
        except Exception as error:
            traceback.print_exc()
            said = str(error).strip().splitlines() or [""]
            answer = {"error": f"{type(error).__name__}: {said[0][:200]}"}
        print(json.dumps(answer), file=answers, flush=True)
