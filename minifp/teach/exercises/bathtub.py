"""Lesson 5: loss scaling in the loop, what overflows first, and what comes before clipping."""

import math

import numpy as np

import minifp.nn.functional as F
from minifp.numerics.policy import precision
from minifp.ops.creation import tensor
from minifp.teach.exercise import exercise, random_of

LESSON = "05-the-bathtub"
MAX = 65504.0  # the largest float16 number
CASES = 40


# ---- the loop ------------------------------------------------------------------------------------


def begun(seed: int, k: int):
    """The parameters of a tiny network, stored in float16, and its loss, 2^-k times as large as it
    would be. It draws nothing from the student's own random numbers."""
    random = np.random.default_rng(seed)

    def stored(*shape, trained=True):
        numbers = random.standard_normal(shape).astype(np.float16)
        return tensor(numbers, requires_grad=trained)

    with precision("mixed"):
        x, parameters = stored(4, 6, trained=False), [stored(5, 6), stored(5), stored(3, 5)]
        w, bias, v = parameters
        scores = F.linear(F.tanh(F.linear(x, w, bias)), v)
        loss = F.cross_entropy(scores, tensor([0, 1, 2, seed % 3])) * 2.0**-k
    return parameters, loss


def with_network(answer, seed: int, k: int, S: float) -> list[np.ndarray] | None:
    """What an answer returns for the network of a seed, as arrays."""
    parameters, loss = begun(seed, k)
    with precision("mixed"):
        return answer(loss, parameters, S)


def true_gradients(seed: int, k: int, S: float) -> list[np.ndarray] | None:
    """What is right, by a backward whose first gradient is S."""
    parameters, loss = begun(seed, k)
    loss.backward(seed=S)
    stored = [p.grad.numpy().astype(np.float32) for p in parameters]
    finite = all(np.isfinite(g).all() for g in stored)
    return [g / np.float32(S) for g in stored] if finite else None


@exercise(LESSON, through=with_network)
def gradients_of(answer):
    """A function (loss, parameters, S) that returns the gradients without S, or None."""
    for seed in (int(n) for n in random_of("gradients_of").integers(2**30, size=6)):
        for k, S in ((0, 1.0), (14, 1.0), (14, 8.0), (14, 2.0**20), (20, 2.0**12), (0, 2.0**40)):
            right = true_gradients(seed, k, S)  # first: it compiles what the answer needs
            said = answer(seed, k, S)
            problem = not_gradients(said, right)
            if not problem:
                continue
            if same(said, true_gradients(seed, k, 1.0)):
                problem = "these are the gradients of S = 1: S is not in backward"
            return f"with S = {S:g} and a loss of {begun(seed, k)[1].item():.2g}, {problem}"
    return None


def same(said, right) -> bool:
    """Whether they are the right gradients, to the last bit."""
    return right is not None and said is not None and not not_gradients(said, right)


def not_gradients(said, right) -> str:
    """What is wrong with gradients; "" if nothing is."""
    if said is None or right is None:
        if said is right:
            return ""
        if said is None:
            return "you say None, but all gradients are finite"
        return "a stored gradient is Inf: expected None, so that the step is skipped"
    if len(said) != len(right):
        return f"you return {len(said)} gradients for {len(right)} parameters"
    for i, (a, b) in enumerate(zip(said, right)):
        if np.asarray(a).shape != b.shape:
            return f"gradient {i} has the shape {np.shape(a)}, and its parameter has {b.shape}"
        if np.asarray(a).dtype != np.float32:
            return f"gradient {i} is {np.asarray(a).dtype}, and should be float32"
        wrong = np.flatnonzero(np.ravel(a) != np.ravel(b))
        if wrong.size:
            at = wrong[np.argmax(np.abs(np.ravel(b)[wrong]))]
            return (
                f"{wrong.size} of {b.size} numbers of gradient {i} are wrong, such as "
                f"{np.ravel(a)[at]:.6g}, which should be {np.ravel(b)[at]:.6g}"
            )
    return ""


# ---- what overflows first ------------------------------------------------------------------------


def step_of(random: np.random.Generator) -> dict[str, np.ndarray]:
    """Gradients of one step by name: of activations, and of weights, which are sums of them; of
    any sign, and in any order."""
    size = 2.0 ** random.uniform(-30, -6)
    gradients = {}
    for i in range(int(random.integers(2, 5))):
        dy = (size * random.standard_normal((64, 6))).astype(np.float32)
        x = random.random((64, 4)).astype(np.float32) * np.float32(2.0 ** random.uniform(-5, 3))
        gradients[f"activation {i}"], gradients[f"weight {i}"] = dy, dy.T @ x
    if random.random() < 0.3:  # the largest one is negative
        gradients = {name: -np.abs(g) for name, g in gradients.items()}
    names = random.permutation([*gradients])
    return {str(name): gradients[str(name)] for name in names}


@exercise(LESSON)
def ceiling_of(answer):
    """A function from gradients by name to which overflows first, and log2 of the last S."""
    random = random_of(5)
    cases = [step_of(random) for _ in range(CASES)]
    negative = np.array([1.0, -MAX], np.float32)
    cases.append({"activation": negative, "weight": np.ones(3, np.float32)})
    for gradients in cases:
        said = answer({name: g.copy() for name, g in gradients.items()})
        largest = {name: float(np.abs(g).max()) for name, g in gradients.items()}
        first = max(largest, key=lambda name: largest[name])
        right = first, math.frexp(MAX / largest[first])[1] - 1
        if not isinstance(said, (tuple, list)) or len(said) != 2:
            return f"expected a name and a power, such as {right!r}, and you say {said!r}"
        sizes = ", ".join(f"{name} {x:.3g}" for name, x in largest.items())
        if said[0] != first:
            return f"of largest magnitudes {sizes} you name {said[0]!r}, and {first!r} is first"
        if said[1] != right[1]:
            at = largest[first] * 2.0 ** float(said[1])
            return (
                f"of largest magnitudes {sizes} you say 2^{said[1]}, where {first} becomes "
                f"{at:,.6g}; the last S is 2^{right[1]}"
            )
    return None


# ---- clipping ------------------------------------------------------------------------------------

NUMBERS = 600  # at most, in all gradients of a case
# A float32 sum of n squares, in any order, is off by at most n 2^-24 of itself, its root by half of
# that; unscaling is exact, and the factor and the product are rounded twice more.
CLOSE = (NUMBERS / 2 + 4) * 2.0**-24


def stored_of(random: np.random.Generator, length: float, S: float) -> list[np.ndarray]:
    """Gradients of this length together, multiplied by S, in float16."""
    sizes = random.integers(1, NUMBERS // 3, 3)
    gradients = [random.standard_normal(n) * 2.0 ** random.uniform(-3, 3) for n in sizes]
    norm = math.sqrt(sum(float(np.sum(g * g)) for g in gradients))
    return [(g * (S * length / norm)).astype(np.float16) for g in gradients]


@exercise(LESSON)
def clipped(answer):
    """A function (stored, S, max_norm) that returns gradients without S, clipped."""
    random = random_of(17)
    for i in range(CASES):
        max_norm = float(random.choice([0.5, 1.0, 5.0]))
        length = max_norm * (0.5, 3.0, 0.9, 20.0)[i % 4]
        S = 2.0 ** int(random.integers(0, 10))
        stored = stored_of(random, length, S)
        said = answer([g.copy() for g in stored], S, max_norm)
        problem = not_clipped(said, stored, S, max_norm)
        if problem:
            return f"with a length of {length:g}, S = {S:g} and max_norm = {max_norm:g}, {problem}"
    return None


def not_clipped(said, stored, S: float, max_norm: float) -> str:
    """What is wrong with clipped gradients; "" if nothing is."""
    if len(said) != len(stored):
        return f"you return {len(said)} gradients, of {len(stored)}"
    exact = [g.astype(np.float64) / S for g in stored]
    norm = length_of(exact)
    right = [g * min(1.0, max_norm / norm) for g in exact]
    if [np.shape(g) for g in said] != [g.shape for g in stored]:
        return f"gradients have the shapes {', '.join(str(np.shape(g)) for g in said)}"
    if any(np.asarray(g).dtype == np.float16 for g in said):
        return "gradients are float16, and should be float32"
    got, expected = length_of(said), length_of(right)
    if not abs(got - expected) <= CLOSE * expected:
        return f"the length of all together becomes {got:.5g}, and should be {expected:.5g}"
    for i, (a, b) in enumerate(zip(said, right)):
        if not np.all(np.abs(a - b) <= CLOSE * np.abs(b)):
            return f"the direction has changed: gradient {i} is not as long as it should be"
    return ""


def length_of(gradients) -> float:
    """Of all together."""
    return math.sqrt(sum(float(np.sum(np.square(g, dtype=np.float64))) for g in gradients))
