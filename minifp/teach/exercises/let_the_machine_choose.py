"""Lesson 7: a loss scale that finds itself."""

import math
from statistics import NormalDist

import numpy as np

from minifp.teach.exercise import exercise, random_of
from minifp.training.loss_scale import DynamicLossScale

LESSON = "07-let-the-machine-choose"
LARGEST = 65504.0  # of float16
MOST_OVERFLOW = 0.001  # how likely an overflow may be
RUNS = 40
DEFAULTS = {  # S of the first step, and after how many good steps it doubles
    "nnabla": (2.0**3, 2000),
    "TensorFlow": (2.0**15, 2000),
    "PyTorch": (2.0**16, 2000),
    "minifp": (2.0**16, 2000),
    "fastai's lesson": (2.0**24, 500),
    "this lesson": (2.0**16, 100),
}
BEARABLE = 2.0**20  # what the network of steps_to_find bears


def rule(S: float, interval: int, least: float, most: float) -> DynamicLossScale:
    """minifp's own, which answers are held against."""
    return DynamicLossScale(S, growth_interval=interval, min_scale=least, max_scale=most)


@exercise(LESSON)
def next_scale(answer):
    """A function (S, good, finite, interval, least, most) -> (S, good)."""
    random = random_of("next_scale")
    for _ in range(RUNS):
        interval, low = int(random.integers(1, 6)), int(random.integers(-3, 4))
        bounds = interval, 2.0**low, 2.0 ** int(low + random.integers(2, 9))
        share = random.choice([0.0, 0.1, 0.5, 1.0])  # of steps that overflow
        first = 2.0 ** math.floor(math.log2(bounds[1] * bounds[2]) / 2)
        scale, S, good, steps = rule(first, *bounds), first, 0, []
        for finite in random.random(60) >= share:
            steps.append("good" if finite else "overflow")
            scale.update(bool(finite))
            right = scale.value, scale.good_steps
            said = tuple(answer(S, good, bool(finite), *bounds))
            if said != right:
                return (
                    f"interval={bounds[0]}, least={bounds[1]:g}, most={bounds[2]:g}, after the "
                    f"steps {', '.join(steps[-6:])}: S={S:g}, good={good} became {said!r}, and "
                    f"should be {right!r}"
                )
            S, good = right
    return None


def stored_gradients(random):
    """(what they are, gradients in float16) such as a step meets them."""
    usual = (random.normal(0, 1, 40) * 2.0 ** random.integers(-18, 10)).astype(np.float16)
    yield "ordinary gradients", usual
    large = random.choice([-60000.0, 60000.0], 40, p=[0.2, 0.8]).astype(np.float16)
    yield "finite gradients of 60000, whose sum is not finite", large
    yield "gradients that are subnormal in float16", (usual * 0 + 2.0**-24).astype(np.float16)
    for bad in (np.inf, -np.inf, np.nan):
        spoilt = usual.copy()
        spoilt[random.integers(40)] = bad
        yield f"one {bad} among 40 gradients", spoilt
    spoilt = usual.copy()
    spoilt[:2] = np.inf, -np.inf
    yield "Inf and -Inf among 40 gradients", spoilt


@exercise(LESSON)
def careful_step(answer):
    """A function (w, v, g, S, lr) -> (w, v): SGD with momentum 0.9; g is float16, S times."""
    random = random_of("careful_step")
    for _ in range(8):
        S, lr = 2.0 ** int(random.integers(8, 20)), 0.1
        w, v = random.normal(0, 1, (2, 40)).astype(np.float32)
        for what, g in stored_gradients(random):
            said = answer(w.copy(), v.copy(), g.copy(), S, lr)
            problem = wrong_step(w, v, g, S, lr, *(np.asarray(a) for a in said))
            if problem:
                return f"{what}, S = {S:g}: {problem}"
    return None


def wrong_step(w, v, g, S, lr, new_w, new_v):
    """What is wrong with a step; "" if nothing is."""
    for name, old, new in (("w", w, new_w), ("v", v, new_v)):
        if new.shape != old.shape or new.dtype != old.dtype:
            return f"{name} is {new.dtype} {new.shape}, and should be {old.dtype} {old.shape}"
        if not np.isfinite(g).all() and new.tobytes() != old.tobytes():
            return f"the step should be skipped, and {name} has changed"
    if not np.isfinite(g).all():
        return ""
    exact_v = 0.9 * v.astype(np.float64) + g.astype(np.float64) / S
    exact_w = w - lr * exact_v
    for name, new, exact, size in (
        ("v", new_v, exact_v, np.abs(v) + np.abs(g.astype(np.float64)) / S),
        ("w", new_w, exact_w, np.abs(w) + lr * (np.abs(v) + np.abs(exact_v))),
    ):
        off = np.abs(new - exact) > 4 * 2.0**-24 * size  # at most four roundings in float32
        if off.any():
            i = int(np.argmax(off))
            return (
                f"{off.sum()} of {len(off)} numbers of {name} are wrong; the first is "
                f"{new[i]:.9g}, and should be {exact[i]:.9g}"
            )
    return ""


def chance_of_overflow(S, mean, deviation):
    """That S 2^x is above float16's largest, where x is normally distributed."""
    off = math.log2(LARGEST / S) - mean
    return 1 - NormalDist().cdf(off / deviation) if deviation else float(off < 0)


@exercise(LESSON)
def log_normal_scale(answer):
    """A function from x, an array of log2 max |g|, to the largest power of two S whose chance of
    overflow is at most 0.001."""
    random = random_of("log_normal_scale")
    for n in (1, 2, *random.integers(3, 200, RUNS)):
        x = random.normal(random.uniform(-30, 12), random.uniform(0.1, 3), int(n))
        S, mean, deviation = answer(x.copy()), x.mean(), x.std()
        if not (isinstance(S, (int, float, np.number)) and S > 0 and math.frexp(S)[0] == 0.5):
            return f"{n} steps: you say S = {S!r}, which is no power of two"
        case = f"x has mean {mean:.2f} and standard deviation {deviation:.2f}: S = {S:g} overflows"
        chance = chance_of_overflow(S, mean, deviation)
        if chance > MOST_OVERFLOW * (1 + 1e-9):
            return f"{case} with a probability of {chance:.2g}"
        larger = chance_of_overflow(2 * S, mean, deviation)
        if larger <= MOST_OVERFLOW * (1 - 1e-9):
            return f"{case} with a probability of {chance:.2g}, but 2 S with only {larger:.2g}"
    return None


def steps_until_found(S, interval):
    """After how many steps S is BEARABLE for the first time; twice that overflows."""
    scale, steps = rule(S, interval, 1.0, 2.0**24), 0
    while scale.value != BEARABLE:
        scale.update(scale.value <= BEARABLE)
        steps += 1
    return steps


@exercise(LESSON)
def steps_to_find(answer):
    """A dict: for each of DEFAULTS, the number of steps until S is 2^20 for the first time."""
    if not isinstance(answer, dict) or set(answer) != set(DEFAULTS):
        return f"it should be a dict with the names {', '.join(DEFAULTS)}"
    right = {name: steps_until_found(*settings) for name, settings in DEFAULTS.items()}
    wrong = [name for name in DEFAULTS if answer[name] != right[name]]
    if not wrong:
        return None
    S, interval = DEFAULTS[wrong[0]]
    kind = "overflows at first" if S > BEARABLE else f"doubles after {interval} steps"
    return (
        f"{len(wrong)} of {len(right)} are wrong. {wrong[0]} begins with S = {S:g}, which {kind}: "
        f"it does not come to 2^20 first after {answer[wrong[0]]} steps"
    )
