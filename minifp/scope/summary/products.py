"""Multiply-adds: how many products a kernel adds up, from the shapes of a call."""

from collections.abc import Callable
from math import prod

# By the name of a reference: of its arguments and its first result. A sum over K products counts K.
COUNTS: dict[str, Callable] = {
    "conv_forward": lambda args, y: y.size * prod(args[1].shape[1:]),
    "conv_transpose_forward": lambda args, y: args[0].size * prod(args[1].shape[1:]),
    "linear_forward": lambda args, y: y.size * args[1].shape[1],
    "matmul_forward": lambda args, y: y.size * args[0].shape[-1],
    "dot_forward": lambda args, y: args[0].size,
    "addmm_forward": lambda args, y: y.size * args[1].shape[-1],
    "attention_scores": lambda args, y: y.size * args[0].shape[-1],
    "lstm_forward": lambda args, y: steps(args) * (args[3].size + args[4].size),
    "lstm_projected": lambda args, y: steps(args) * sum(args[i].size for i in (3, 4, 7)),
    "gru_forward": lambda args, y: steps(args) * (args[2].size + args[3].size),
    "rnn_forward": lambda args, y: steps(args) * (args[2].size + args[3].size),
}
FORWARD = ("forward", "scores", "projected", "number")  # what names of forward kernels end with


def steps(args) -> int:
    """Of a recurrent layer: steps of all sequences, from the rows (steps, size) that it reads."""
    return args[0].shape[0]


class Counter:
    """An observer of kernels that adds up multiply-adds. unknown: kernels that it cannot count."""

    def __init__(self):
        self.total, self.unknown = 0, set()

    def on_kernel(self, kernel, args, results, formats):
        """Count one call, of a kernel that forms sums of products."""
        if kernel.rule.role != "dot":
            return
        name = kernel.reference.__name__
        if name in COUNTS:
            self.total += COUNTS[name](args, results[0])
        elif name.endswith(FORWARD):
            self.unknown.add(name)
