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


def always_scaled(g, most):
    """Small gradients are made larger."""
    return g * np.float32(most / max(norm_of(g), 1e-30))


def unscaled(g, S):
    return g.astype(np.float32) / np.float32(S)


def in_half(g, S):
    """What loss scaling saved is lost."""
    return (g / np.float16(S)).astype(np.float32)


def decay_of(w, decay):
    return np.float32(2 * decay) * w


def narrow(w, decay):
    """OpenSeq2Seq's warning."""
    return (np.float16(2 * decay) * w.astype(np.float16)).astype(np.float32)


def steps(clip=clipped, unscale=unscaled, term=decay_of):
    """What is to be done with a gradient, in its order, each step in some way."""
    return lambda g, S, w, decay, most: clip(unscale(g, S) + term(w, decay), most)


def clips_first(g, S, w, decay, most):
    return unscaled(clipped(g.astype(np.float32), most), S) + decay_of(w, decay)


def decays_first(g, S, w, decay, most):
    return clipped(unscaled(g.astype(np.float32) + decay_of(w, decay), S), most)


def decays_last(g, S, w, decay, most):
    return clipped(unscaled(g, S), most) + decay_of(w, decay)


def updates_of(eps, stored=lambda x: x.astype(np.float16).astype(np.float64)):
    g = np.arange(1, 0x3C00, dtype=np.uint16).view(np.float16).astype(np.float64)
    return g / (np.sqrt(stored(0.001 * g * g) / 0.001) + eps)


ANSWERS = {
    "policy": Answers(
        (POLICY,),
        ({**POLICY, "exp": "float16"}, "exp as float16: in float16"),
        ({**POLICY, "sum": "widest"}, "in float16 100% of its results overflow"),
        (dict.fromkeys(POLICY, "float32"), "6 of 12 are wrong. You have matmul as float32"),
        ({**POLICY, "relu": "float16"}, "multiplies 0 times"),
        ({**POLICY, "add": "allow"}, "expected float16 or float32 or widest"),
        ({"exp": "float32"}, "a dict with the names"),
    ),
    "gradient_to_use": Answers(
        (steps(),),
        (clips_first, "clipped"),
        (decays_first, "numbers are wrong"),
        (decays_last, "with decay, clipped"),
        (steps(term=narrow), "numbers are wrong"),
        (steps(unscale=in_half), "numbers are wrong"),
        (steps(clip=always_scaled), "numbers are wrong"),
    ),
    "largest_update": Answers(
        (lambda eps: float(updates_of(eps).max()),),
        (lambda eps: 1.0, "you say 1"),
        (lambda eps: 1 / eps, "the largest update is"),
        (lambda eps: float(updates_of(eps, lambda x: x).max()), "you say"),
        (lambda eps: float(updates_of(eps)[0]), "you say"),  # of the smallest gradient
    ),
    "largest_without_decay": Answers(
        (lambda decay: 2.0**-25 / (2 * decay),),
        (lambda decay: 2.0**-24 / (2 * decay), "which is not zero"),
        (lambda decay: 2.0**-26 / (2 * decay), "the next larger w also"),
        (lambda decay: 2.0**-25 / decay, "which is not zero"),
    ),
}
