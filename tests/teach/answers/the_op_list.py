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


def gradient_to_use(g, S, w, decay, most):
    return clipped(unscaled(g, S) + np.float32(2 * decay) * w, most)


def clips_first(g, S, w, decay, most):
    """Before unscaling."""
    return unscaled(clipped(g.astype(np.float32), most), S) + np.float32(2 * decay) * w


def decays_first(g, S, w, decay, most):
    """Decay is divided by S."""
    return clipped(unscaled(g.astype(np.float32) + np.float32(2 * decay) * w, S), most)


def decays_last(g, S, w, decay, most):
    """Decay is not clipped."""
    return clipped(unscaled(g, S), most) + np.float32(2 * decay) * w


def decays_in_half(g, S, w, decay, most):
    """OpenSeq2Seq's warning."""
    term = (np.float16(2 * decay) * w.astype(np.float16)).astype(np.float32)
    return clipped(unscaled(g, S) + term, most)


def unscales_in_half(g, S, w, decay, most):
    """What loss scaling saved is lost."""
    g = (g / np.float16(S)).astype(np.float32)
    return clipped(g + np.float32(2 * decay) * w, most)


def always_scales(g, S, w, decay, most):
    """Small gradients are made larger."""
    g = unscaled(g, S) + np.float32(2 * decay) * w
    return g * np.float32(most / max(norm_of(g), 1e-30))


def updates_of(eps, stored):
    g = np.arange(1, 0x3C00, dtype=np.uint16).view(np.float16).astype(np.float64)
    return g / (np.sqrt(stored(g) / 0.001) + eps)


def half(x):
    return x.astype(np.float16).astype(np.float64)


def largest_update(eps):
    return float(updates_of(eps, lambda g: half(0.001 * g * g)).max())


def of_the_smallest(eps):
    """The update of the smallest gradient."""
    return float(updates_of(eps, lambda g: half(0.001 * g * g))[0])


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
        (gradient_to_use,),
        (clips_first, "clipped"),
        (decays_first, "numbers are wrong"),
        (decays_last, "with decay, clipped"),
        (decays_in_half, "numbers are wrong"),
        (unscales_in_half, "numbers are wrong"),
        (always_scales, "numbers are wrong"),
    ),
    "largest_update": Answers(
        (largest_update,),
        (lambda eps: 1.0, "you say 1"),
        (lambda eps: 1 / eps, "the largest update is"),
        (lambda eps: float(updates_of(eps, lambda g: 0.001 * g * g).max()), "you say"),
        (of_the_smallest, "you say"),
    ),
    "largest_without_decay": Answers(
        (lambda decay: 2.0**-25 / (2 * decay),),
        (lambda decay: 2.0**-24 / (2 * decay), "which is not zero"),
        (lambda decay: 2.0**-26 / (2 * decay), "the next larger w also"),
        (lambda decay: 2.0**-25 / decay, "which is not zero"),
    ),
}
