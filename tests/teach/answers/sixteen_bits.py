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


def not_halved(x):
    """Takes what frexp gives for the binade."""
    return np.ldexp(1.0, np.maximum(np.frexp(x)[1] - 10, -24))


ANSWERS = {
    "gap_above": Answers(
        (gap_above, lambda x: np.spacing(x.astype(np.float16))),
        (lambda x: x * 2.0**-10, "0.0 became 0.0, and should be 5.96"),
        (not_halved, "are wrong"),
        (lambda x: np.ldexp(1.0, np.frexp(x)[1] - 11), "and should be 5.96"),  # also below 2^-14
        (lambda x: 2.0**-10, "shape ()"),
    ),
    "below_normal": Answers(
        (1023, 1023.0), (0, "but 2^-15 is one"), (1024, "fewer than 1024"), (512, "more than 512")
    ),
    "round_f16": Answers(
        (round_f16, lambda x: x.astype(np.float16).astype(np.float32)),
        (lambda x: round_f16(x, least=-9999), "and should be"),  # goes on shrinking below 2^-14
        (lambda x: round_f16(x, integer=np.trunc, beyond=65536), "became 0.0, and should be 5.96"),
        (lambda x: round_f16(x, beyond=np.inf), "should be inf"),
    ),
    "zero_up_to": Answers(
        (2.0**-25,),
        (2.0**-24, "is stored as 5.96"),
        (3e-8, "not as zero"),
        (2.0**-26, "which is larger"),
    ),
}
