"""Of lesson 1."""

import numpy as np
from teach.answers import Answers


def round_f16(x, least=-13, integer=np.rint, beyond=65520):
    fraction, exponent = np.frexp(x)
    shift = np.maximum(exponent, least) - 11
    y = np.ldexp(integer(np.ldexp(x, -shift)), shift)
    return np.where(np.abs(x) >= beyond, np.copysign(np.inf, x), y).astype(np.float32)


def gap_above(x):
    exponent = np.where(x < 2.0**-14, -14, np.floor(np.log2(np.maximum(x, 2.0**-24))))
    return 2.0 ** (exponent - 10)


ANSWERS = {
    "gap_above": Answers(
        (gap_above, lambda x: np.spacing(x.astype(np.float16))),
        (lambda x: 2.0**-10, "shape ()"),
        known={0: "are wrong", 1: "and should be 5.96", 2: "0.0 became 0.0, and should be 5.96"},
    ),
    "below_normal": Answers(
        (1023, 1023.0),
        (0, "but 2^-15 is one"),
        (512, "more than 512"),
        known={0: "fewer than 1024"},
    ),
    "round_f16": Answers(
        (round_f16, lambda x: x.astype(np.float16).astype(np.float32)),
        (lambda x: round_f16(x, beyond=np.nan), "The smallest: 65520.0 became 65536.0"),
        (lambda x: np.where(np.isinf(x), np.nan, round_f16(x)), "smallest: inf became nan"),
        (lambda x: np.where(np.abs(x) <= 65504, round_f16(x), 0 * x), "65504.00390625 became 0"),
        known={0: "became 0.0, and", 1: "156,678 of", 2: "should be", 3: "should be inf"},
    ),
    "zero_up_to": Answers(
        (2.0**-25,),
        (3e-8, "not as zero"),
        (2.0**-26, "which is larger"),
        known={0: "is stored as 5.96"},
    ),
}
