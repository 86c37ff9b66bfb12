"""Where a step's time goes: by phase, by operation, by kernel; the rest is Python's.

The time of a step is cut where something is told to an observer: when an operation has been
recorded, when a gradient has arrived at an operation, when its backward is done. What lies between
two cuts belongs to the operation whose end the second is; within it, kernels are timed, and what
they leave is Python: checks, the tape, views, and NumPy outside of kernels. So all parts add up to
the step. Timing a kernel takes about a microsecond, which is in the figures.
"""

from collections import defaultdict
from time import perf_counter

from minifp import backend, tape

PYTHON = "Python"  # in the place of a kernel's name
BETWEEN = "between operations"


class Profile:
    """An observer that cuts steps into parts: (phase, operation, kernel) -> [seconds, calls]."""

    def __init__(self):
        self.steps, self.parts = [], defaultdict(lambda: [0.0, 0])
        self.pending, self.inside = [], defaultdict(lambda: [0.0, 0])
        self.nested, self.cut = [], 0.0

    def __enter__(self):
        self.original, profile = backend.Kernel.__call__, self

        def timed(kernel, *args, **params):
            start = perf_counter()
            profile.nested.append(0.0)
            try:
                return profile.original(kernel, *args, **params)
            finally:
                seconds = perf_counter() - start
                found = profile.inside[kernel.name]
                found[0] += seconds - profile.nested.pop()
                found[1] += 1
                if profile.nested:
                    profile.nested[-1] += seconds

        backend.Kernel.__call__ = timed
        tape.observers.append(self)
        return self

    def __exit__(self, *_):
        backend.Kernel.__call__ = self.original
        tape.observers.remove(self)

    def on_record(self, node, outputs):
        """An operation ends, forward."""
        self.close(node.op)

    def on_gradient(self, vertex, gradient):
        """What has summed gradients and found the way here ends."""
        self.close(BETWEEN, calls=0)

    def on_release(self, node):
        """An operation ends, backward."""
        self.close(node.op)

    def close(self, operation, calls=1):
        """End a part."""
        now, kernels = perf_counter(), sum(seconds for seconds, _ in self.inside.values())
        self.pending.append((operation, PYTHON, now - self.cut - kernels, calls))
        self.pending += [(operation, k, s, n) for k, (s, n) in self.inside.items()]
        self.inside.clear()
        self.cut = perf_counter()

    def run(self, step):
        """Profile one step, a generator that yields each phase's name when it is over."""
        self.cut, parts = perf_counter(), defaultdict(lambda: [0.0, 0])
        for phase in step:
            self.close("optimizer" if phase == "update" else BETWEEN, calls=0)
            for operation, kernel, seconds, calls in self.pending:
                part = parts[phase, operation, kernel]
                part[0] += seconds
                part[1] += calls
            self.pending.clear()
            self.cut = perf_counter()
        self.steps.append(parts)

    def found(self):
        """The mean of the middle half of the steps: a list of [phase, operation, kernel, seconds,
        calls]."""
        order = sorted(self.steps, key=lambda parts: sum(s for s, _ in parts.values()))
        quarter = len(order) // 4
        middle = order[quarter : len(order) - quarter]
        sums = defaultdict(lambda: [0.0, 0])
        for parts in middle:
            for key, (seconds, calls) in parts.items():
                sums[key][0] += seconds / len(middle)
                sums[key][1] += calls / len(middle)
        return [[*key, seconds, round(calls, 2)] for key, (seconds, calls) in sums.items()]
