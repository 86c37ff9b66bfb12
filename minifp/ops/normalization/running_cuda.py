"""Running statistics on a GPU: mixed, or left as they are, without a word to the host."""

import numpy as np

from minifp.runtime.cuda.pointwise import FLOATS
from minifp.runtime.cuda.source import Text

TEXT = Text(__name__, "running.cu")
THREADS = 512
SINGLE = np.dtype("float32")


def mix_in(running_mean, running_var, mean, var, factor, momentum):
    """As `mix_in` of batch_norm.py, for tensors on the device. False where there is no kernel."""
    held, new = [running_mean.array, running_var.array], [mean, var]
    if {a.dtype for a in held} - FLOATS or held[0].dtype != held[1].dtype:
        return False
    if {a.dtype for a in new} != {SINGLE}:
        return False
    new = [a if a.flags.c_contiguous else a.copy() for a in new]
    TEXT(R=held[0].dtype, THREADS=THREADS).launch(
        "mix_in", 1, THREADS, mean.size, *held, *new, 1.0 - momentum, float(momentum), float(factor)
    )
    for running in (running_mean, running_var):
        running.storage.version += 1
    return True
