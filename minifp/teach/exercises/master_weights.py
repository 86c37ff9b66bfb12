"""Lesson 3: how small updates survive."""

from dataclasses import dataclass, field

import numpy as np

from minifp.numerics.number_format import FORMATS
from minifp.teach.counterexample import wrong_shape
from minifp.teach.exercise import exercise, random_of

LESSON = "03-master-weights"
COMPARED = ("float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2")
STEPS = 200
DRAWS = 20_000  # of each number that is rounded by chance
DEVIATIONS = 5  # a right answer is farther off once in two million


# ---- masters -------------------------------------------------------------------------------------


@dataclass
class Bowl:
    """A loss whose gradient at w is slope (1 + curve w), and what it was asked.

    weights: at first, float16 (n). S: what gradients are multiplied by.
    """

    weights: np.ndarray
    slope: np.ndarray
    S: float
    lr: float
    curve: float
    asked: list = field(default_factory=list)

    def __call__(self, w):
        """S times the gradient at float16 weights, in float16."""
        if np.shape(w) != self.weights.shape:
            raise ValueError(f"the gradient was asked for at weights of shape {np.shape(w)}")
        self.asked.append(np.asarray(w).dtype)
        g = self.slope * (1 + np.asarray(w, np.float32) * np.float32(self.curve))
        return (np.float32(self.S) * g).astype(np.float16)

    def descended(self) -> np.ndarray:
        """The float16 weights after STEPS, in float64 but for what is rounded on purpose."""
        w, exact = self.weights, self.weights.astype(np.float64)
        for _ in range(STEPS):
            exact = exact - self.lr * (self(w).astype(np.float64) / self.S)
            w = exact.astype(np.float16)
        return w


def bowls() -> list[Bowl]:
    """One in which updates are too small for the weights; one in which gradients are, besides, too
    small for float16 unless they are multiplied by S; one in which updates are even then; and one
    in which the gradient changes on the way."""
    random = random_of(3)
    all_bowls = []
    for size, slope, S, lr, curve in (
        (1.0, 2.0**-4, 1.0, 2.0**-9, 1 / 64),
        (2.0**-4, 2.0**-27, 4096.0, 512.0, 1 / 64),
        (2.0**-14, 2.0**-10, 4.0, 2.0**-18, 1 / 64),
        (1.0, 2.0**-4, 8.0, 2.0**-5, 1.0),
    ):
        weights = (size * random.uniform(1, 2, 40)).astype(np.float16)
        slopes = (slope * random.uniform(1, 2, 40) * random.choice([-1, 1], 40)).astype(np.float32)
        all_bowls.append(Bowl(weights, slopes, S, lr, curve))
    return all_bowls


@exercise(LESSON)
def descend_with_master(answer):
    """A function from float16 weights, a function that gives S times the gradient, a number of
    steps, lr and S, to the float16 weights after these steps."""
    for bowl in bowls():
        result = np.asarray(answer(bowl.weights.copy(), bowl, STEPS, bowl.lr, bowl.S))
        formats, bowl.asked = bowl.asked, []
        said = wrong_calls(formats, result) or wrong_weights(bowl, result)
        if said:
            return said
    return None


def wrong_calls(formats: list, result: np.ndarray) -> str | None:
    """What is wrong with how the gradient was asked for, and with the format of the result."""
    if len(formats) != STEPS:
        return f"the gradient was asked for {len(formats)} times in {STEPS} steps"
    if others := {dtype for dtype in formats if dtype != np.float16}:
        return f"the gradient was asked for at weights in {others.pop()}, not float16"
    if result.dtype != np.float16:
        return f"it returns weights in {result.dtype}, not float16"
    return None


def wrong_weights(bowl: Bowl, result: np.ndarray) -> str | None:
    """What is wrong with the weights.

    In float32 the order of operations moves a master by less than 2^-13 of a float16 gap in each
    step, and by less than half a gap in all: so the rounded weights differ by one gap at most.
    """
    right = bowl.descended()
    if said := wrong_shape(result, right):
        return said
    away = np.abs(result.astype(np.float64) - right.astype(np.float64))
    wrong = np.flatnonzero(~(away <= np.spacing(right)))
    if not wrong.size:
        return None
    i = wrong[0]
    said = f"with S = {bowl.S:g} and lr = {bowl.lr:g}, {wrong.size} of {result.size} weights are"
    return (
        f"{said} wrong after {STEPS} steps. The first began as {bowl.weights[i]}, became "
        f"{result[i]}, and should be {right[i]}"
    )


# ---- rounding by chance --------------------------------------------------------------------------


def neighbours(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The float16 numbers below and above float32 numbers (n), or twice the number itself."""
    near = x.astype(np.float16)
    back, on = (np.nextafter(near, np.float16(end)) for end in (-np.inf, np.inf))
    return np.where(near > x, back, near), np.where(near < x, on, near)


def between(low: float, share: float) -> np.float32:
    """The number that lies at this share of the way from a float16 number to the next one."""
    high = float(np.nextafter(np.float16(low), np.float16(np.inf)))
    return np.float32(low + share * (high - low))


@exercise(LESSON)
def stochastic(answer):
    """A function from float32 numbers (n), and a NumPy Generator, to float16 numbers (n)."""
    random = random_of(7)
    numbers = random.choice([-1, 1], 2000) * 2.0 ** random.uniform(-26, 15, 2000)
    halves = numbers.astype(np.float16).astype(np.float32)
    near_powers = np.array([between(2.0**e, 0.02) for e in range(-10, 10)] * 50)
    for x in (halves, numbers.astype(np.float32), near_powers):
        if said := not_neighbours(x, np.asarray(answer(x.copy(), random))):
            return said
    for low in (1.0, -2.0, 1 - 2.0**-11, 300.0, 2.0**-20):
        for share in (0.03, 0.25, 0.5, 0.9):
            if said := wrong_share(answer, low, share, random):
                return said
    x = np.full(DRAWS, between(1.0, 0.5))
    if np.array_equal(answer(x, random), answer(x, random)):
        return "it draws the same numbers at each call: use the generator that it is given"
    return None


def not_neighbours(x: np.ndarray, result: np.ndarray) -> str | None:
    """What to say if a number became something else than one of its neighbours."""
    low, high = neighbours(x)
    if result.dtype != np.float16:
        return f"it returns numbers in {result.dtype}, not float16"
    if said := wrong_shape(result, low):
        return said
    wrong = np.flatnonzero((result != low) & (result != high))
    if not wrong.size:
        return None
    i = wrong[0]
    ends = f"{low[i]}" if low[i] == high[i] else f"{low[i]} or {high[i]}"
    return (
        f"{wrong.size} of {x.size} numbers did not go to a neighbour. The first: {x[i]!s} became "
        f"{result[i]}, and may become {ends}"
    )


def wrong_share(answer, low, share, random) -> str | None:
    """What to say if a number goes up more or less often than it should: the number that does, of
    DRAWS, has the standard deviation sqrt(DRAWS share (1 - share))."""
    x = np.full(DRAWS, between(low, share))
    result = np.asarray(answer(x.copy(), random))
    if problem := wrong_shape(result, x):
        return problem
    went_up = float(np.mean(result > x))
    if abs(went_up - share) <= DEVIATIONS * (share * (1 - share) / DRAWS) ** 0.5:
        return None
    return (
        f"{x[0]!s} lies {share:.0%} of the way to the next float16 number, and went up in "
        f"{went_up:.1%} of {DRAWS:,} draws"
    )


# ---- which format --------------------------------------------------------------------------------


@exercise(LESSON)
def masters_by_need(answer):
    """The names of COMPARED, that which loses the largest updates first."""
    if sorted(answer) != sorted(COMPARED):
        return f"expected each of {', '.join(COMPARED)} once"
    for first, second in zip(answer, answer[1:]):
        one, other = FORMATS[first], FORMATS[second]
        if one.eps < other.eps:
            return (
                f"{first} stands too early: in it a weight of 1 takes an update of {one.eps:g}, "
                f"which a format behind it loses"
            )
    return None
