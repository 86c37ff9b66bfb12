"""The threads of NumPy's BLAS.

The products of small models are too small to divide. On two threads they are hardly faster, and
where something else is busy on a core, threads that spin while they wait make them many times
slower. And how BLAS divides a product decides the order of its sums, and so the last bits.
"""

from contextlib import contextmanager

# What holds a process to one thread, set before it imports NumPy.
THREADS = (
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "OMP_NUM_THREADS",
    "MINIFP_THREADS",
)


@contextmanager
def one_thread():
    """Hold BLAS to one thread in the `with` block, for the whole process, and set it back after.

    Without threadpoolctl, or with a BLAS that it does not know (Apple's), nothing is changed.
    """
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        yield
        return
    with threadpool_limits(limits=1, user_api="blas"):
        yield
