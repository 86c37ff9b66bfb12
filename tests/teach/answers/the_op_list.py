"""Of lesson 9."""

import numpy as np
from teach.answers import Answers

POLICY = {
    **dict.fromkeys(("matmul", "conv2d"), "float16"),
    **dict.fromkeys(("exp", "log", "pow", "sum", "layer_norm", "softmax"), "float32"),
    **dict.fromkeys(("relu", "tanh", "max_pool2d", "add"), "widest"),
}


def norm_of(g):
    return np.sqrt(np.sum(np.square(g.astype(np.float64))))


def clipped(g, most):
    norm = norm_of(g)
    return g * np.float32(min(1, most / norm)) if norm else g


def unscaled(g, S):
    return g.astype(np.float32) / np.float32(S)


def decay_of(w, decay):
    return np.float32(2 * decay) * w


def steps(clip=clipped, unscale=unscaled, term=decay_of):
    """What is to be done with a gradient, in its order, each step in some way."""
    return lambda g, S, w, decay, most: clip(unscale(g, S) + term(w, decay), most)


def updates_of(eps, stored=lambda x: x.astype(np.float16).astype(np.float64)):
    g = np.arange(1, 0x3C00, dtype=np.uint16).view(np.float16).astype(np.float64)
    return g / (np.sqrt(stored(0.001 * g * g) / 0.001) + eps)


ANSWERS = {
    "policy": Answers(
        (POLICY,),
        ({**POLICY, "exp": "float16"}, "exp as float16: in float16"),
        ({**POLICY, "log": "float16"}, "log as float16: in float16 its error is up to"),
        ({**POLICY, "sum": "widest"}, "in float16 100% of its results overflow"),
        (dict.fromkeys(POLICY, "float32"), "6 of 12 are wrong. You have matmul as float32"),
        ({**POLICY, "relu": "float16"}, "multiplies 0 times"),
        ({**POLICY, "add": "allow"}, "expected float16 or float32 or widest"),
        ({"exp": "float32"}, "a dict with the names"),
    ),
    "gradient_to_use": Answers(
        (steps(),),
        known=dict.fromkeys(range(6), "numbers are wrong")
        | {0: "clipped", 2: "with decay, clipped"},
    ),
    "largest_update": Answers(
        (lambda eps: float(updates_of(eps).max()),),
        known={0: "the largest update is", 1: "you say 1", 2: "you say"},
    ),
    "largest_without_decay": Answers(
        (lambda decay: 2.0**-25 / (2 * decay),),
        (lambda decay: 2.0**-26 / (2 * decay), "the next larger w also"),
        (lambda decay: 2.0**-25, "the next larger w also"),
        known={0: "which is not zero"},
    ),
}
