"""Lesson 9: which operations may be float16, and in which order gradients are treated."""

import math
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from minifp.autograd.tape import Tensor
from minifp.nn import functional as F
from minifp.numerics.policy import precision
from minifp.teach.exercise import exercise, random_of

LESSON = "09-the-op-list"
CHOICES = ("float16", "float32", "widest")
MOST_ERROR = 16  # times that of one rounding
ROUNDING = 2.0**-11
LEAST_WORK = 8  # multiplications for each number that is read or written


# ---- a list --------------------------------------------------------------------------------------


class Suspect(NamedTuple):
    """An operation with what it is given. work: its multiplications."""

    call: Any
    inputs: tuple
    work: int = 0


class Facts(NamedTuple):
    """overflow: the share of results that are Inf or NaN. error: the largest relative one of the
    others, in units of one rounding. intensity: multiplications for each number."""

    overflow: float
    error: float
    intensity: float

    @property
    def choice(self) -> str:
        if self.overflow or self.error > MOST_ERROR:
            return "float32"
        return "float16" if self.intensity >= LEAST_WORK else "widest"

    def __str__(self) -> str:
        if self.overflow:
            return f"in float16 {self.overflow:.0%} of its results overflow"
        return (
            f"in float16 its error is up to {self.error:.3g} times that of one rounding, and it "
            f"multiplies {self.intensity:.3g} times for each number"
        )


def suspects() -> dict[str, Suspect]:
    """The twelve, with inputs as networks have them: always the same, as the choices are."""
    random = np.random.default_rng([*b"policy"])
    normal, uniform = random.normal, random.uniform

    def positive(*shape):
        return np.abs(normal(0, 1, shape))

    matrices = positive(64, 256), positive(256, 64)
    pictures, filters = positive(2, 32, 8, 8), positive(32, 32, 3, 3)
    pixels = uniform(0, 255, (4, 256))
    return {
        "matmul": Suspect(lambda a, b: a @ b, matrices, 64 * 64 * 256),
        "conv2d": Suspect(F.conv2d, (pictures, filters), 2 * 36 * 32 * 32 * 9),
        "exp": Suspect(lambda x: x.exp(), (normal(0, 5, 1000),)),
        "log": Suspect(lambda x: x.log(), (uniform(0.99, 1.01, 1000),)),
        "pow": Suspect(lambda x: x**4, (uniform(0, 16, 1000),), 3000),
        "sum": Suspect(lambda x: x.sum(1), (uniform(0, 40, (4, 4096)),)),
        "layer_norm": Suspect(lambda x: F.layer_norm(x, (256,)), (pixels,), 1024),
        "softmax": Suspect(lambda x: F.softmax(x, dim=1), (normal(0, 8, (10, 100)),)),
        "relu": Suspect(F.relu, (normal(0, 1, 1000),)),
        "tanh": Suspect(F.tanh, (normal(0, 1, 1000),)),
        "max_pool2d": Suspect(lambda x: F.max_pool2d(x, 2), (positive(1, 1, 32, 32),)),
        "add": Suspect(lambda a, b: a + b, (positive(1000), positive(1000))),
    }


@cache
def measured() -> dict[str, Facts]:
    """What float16 does to each of them, sums in float32; against float64."""
    return {name: facts_of(name, suspect) for name, suspect in suspects().items()}


def facts_of(name: str, suspect: Suspect) -> Facts:
    """Of one operation."""
    with precision(f"autocast,{name}=float16"):
        y = suspect.call(*(Tensor(x.astype(np.float32)) for x in suspect.inputs)).numpy()
    with precision("float64"):
        exact = suspect.call(*(Tensor(x.astype(np.float64)) for x in suspect.inputs)).numpy()
    good = np.isfinite(y)
    compared = good & (exact != 0)
    error = np.abs(y[compared] / exact[compared] - 1).max() / ROUNDING if compared.any() else 0.0
    moved = sum(x.size for x in suspect.inputs) + y.size
    return Facts(1 - float(good.mean()), float(error), suspect.work / moved)


@exercise(LESSON)
def policy(answer):
    """A dict from the names of the twelve operations to one of CHOICES."""
    facts = measured()
    if not isinstance(answer, dict) or set(answer) != set(facts):
        return f"it should be a dict with the names {', '.join(facts)}"
    unknown = [name for name, choice in answer.items() if choice not in CHOICES]
    if unknown:
        return f"{unknown[0]} is {answer[unknown[0]]!r}; expected {' or '.join(CHOICES)}"
    wrong = [name for name in facts if answer[name] != facts[name].choice]
    if not wrong:
        return None
    first = wrong[0]
    said = f"You have {first} as {answer[first]}: {facts[first]}"
    return f"{len(wrong)} of {len(facts)} are wrong. {said}"


# ---- between backward and the update -------------------------------------------------------------


def steps(random):
    """(what they are, g, S, w, decay, most): gradients before an update."""
    for S in (128.0, 1.0, 1024.0, 65536.0):
        for size in (1e-3, 1e-6, 0.1):
            g = (random.normal(0, size, 50) * S).astype(np.float16)
            w = random.normal(0, 1, 50).astype(np.float32)
            if np.isfinite(g).all():
                yield f"S = {S:g}, gradients of about {size:g}", g, S, w, 1e-4, 1e9
                yield f"S = {S:g}, gradients of about {size:g}, clipped", g, S, w, 0.0, 1e-3
                yield f"S = {S:g}, with decay, clipped", g, S, w, 0.01, 0.05
    small = random.normal(0, 1e-3, 50).astype(np.float32)
    g = np.zeros(50, np.float16)
    yield "no gradients, weights of about 0.001", g, 1024.0, small, 1e-5, 1.0
    yield "no gradients and no decay", g, 1024.0, small, 0.0, 1.0


@exercise(LESSON)
def gradient_to_use(answer):
    """A function (g, S, w, decay, most) -> gradients, float32 (n)."""
    for what, g, S, w, decay, most in steps(random_of("gradient_to_use")):
        said = np.asarray(answer(g.copy(), S, w.copy(), decay, most))
        if said.shape != g.shape or said.dtype != np.float32:
            return f"it is {said.dtype} {said.shape}, and should be float32 {g.shape}"
        parts = g.astype(np.float64) / S, 2 * decay * w.astype(np.float64)
        norm = math.sqrt(np.square(parts[0] + parts[1]).sum())
        factor = min(1.0, most / norm) if norm else 1.0
        exact = factor * (parts[0] + parts[1])
        # At most 8 roundings of each part, and as many of the norm: 50 squares, added in pairs.
        bound = 16 * 2.0**-24 * factor * (np.abs(parts[0]) + np.abs(parts[1])) + 2.0**-140
        wrong = ~(np.abs(said - exact) <= bound)
        if wrong.any():
            at = int(np.argmax(wrong))
            return (
                f"{what}: {wrong.sum()} of {len(g)} numbers are wrong; the first is "
                f"{said[at]:.6g}, and should be {exact[at]:.6g}"
            )
    return None


# ---- Adam ----------------------------------------------------------------------------------------


def largest_first_update(eps: float) -> float:
    """In units of the learning rate."""
    below_one = np.arange(1, 0x3C00, dtype=np.uint16).view(np.float16).astype(np.float64)
    stored = (0.001 * below_one * below_one).astype(np.float16).astype(np.float64)
    return float(np.max(below_one / (np.sqrt(stored / 0.001) + eps)))


@exercise(LESSON)
def largest_update(answer):
    """A function from eps to the largest update."""
    for eps in (1e-8, 1e-7, 1e-4, *np.geomspace(1e-6, 1.0, 25)):
        said, right = answer(float(eps)), largest_first_update(float(eps))
        if not abs(said - right) <= 1e-9 * right:
            return f"eps = {eps:.3g}: the largest update is {right:.6g} lr, and you say {said:.6g}"
    return None


@exercise(LESSON)
def largest_without_decay(answer):
    """A function from decay, a power of two, to the largest w whose decay becomes zero."""
    for k in range(1, 24):
        decay = 2.0**-k
        w = answer(decay)
        larger = math.nextafter(w, math.inf)
        rounded, above = (float(np.float16(2 * decay * v)) for v in (w, larger))
        case = f"decay = 2^-{k}: you say {w!r}"
        if rounded:
            return f"{case}, whose decay becomes {rounded!r}, which is not zero"
        if not above:
            return f"{case}, but the next larger w also has a decay of zero"
    return None
