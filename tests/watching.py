"""What tests share that look on: at the tape, and from other threads."""

import threading

from minifp.autograd import tape
from minifp.numerics import kernels


class Flow(list):
    """An observer of the tape, in its `with` block: (kind, operation, what is there then)."""

    def __enter__(self):
        tape.observers.append(self)
        return self

    def __exit__(self, *_):
        tape.observers.remove(self)

    def on_record(self, node, outputs):
        self.append(("record", node.op, outputs))

    def on_gradient(self, node, gradient):
        self.append(("gradient", getattr(node, "op", "leaf"), gradient))

    def on_release(self, node):
        self.append(("release", node.op, node.saved))


class Kernels(list):
    """An observer of kernels, in its `with` block: (kernel, arguments, results, formats)."""

    def __enter__(self):
        kernels.observers.append(self)
        return self

    def __exit__(self, *_):
        kernels.observers.remove(self)

    def on_kernel(self, *call):
        self.append(call)


def at_once(*calls):
    """What calls return, each on a thread of its own; what one of them raises is raised here."""
    results, errors = [None] * len(calls), []

    def run(i):
        try:
            results[i] = calls[i]()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return results
