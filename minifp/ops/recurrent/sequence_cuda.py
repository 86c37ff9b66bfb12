"""What the compiled kernels of recurrent layers for a GPU share.

The products of all inputs are one, in float32, so that sums are never rounded; each step then adds
the product of the state to its rows and launches one kernel, which does everything else. The state
of all sequences is kept in one array, of which a step takes the first ones.
"""

from minifp.runtime.cuda.pointwise import FLOATS
from minifp.runtime.cuda.rows import contiguous
from minifp.runtime.cuda.source import THREADS, blocks_for


def ours(to, *arrays):
    """The arrays in C order, if all have one format, which is that of all results; or else None."""
    dtype = arrays[0].dtype
    given = [a for a in arrays if a is not None]
    alike = dtype in FLOATS and all(d == dtype for d in (*to, *(a.dtype for a in given)))
    if not alike or not all(a.size for a in given):
        return None
    return [None if a is None else contiguous(a) for a in arrays]


def before(steps, k):
    """(where its rows begin, how many they are) of the step before step k; (0, 0) of the first."""
    if k == 0:
        return 0, 0
    start, stop = steps[k - 1]
    return start, stop - start


def launch(module, name, count, width, *args):
    """Launch a kernel on `count` rows of `width` numbers."""
    module.launch(name, blocks_for(count * width), THREADS, *args)
