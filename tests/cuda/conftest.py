"""Here "cuda" is a real GPU where there is one, or else the imitation of fake_cupy.py.

MINIFP_IMITATED_LATE=1, 2 or more: let its work be done late, in an order of this seed.
"""

import os
import sys

import numpy as np
import pytest

from minifp.cuda import arrays


def has_gpu():
    """Whether CuPy is installed and finds a GPU."""
    try:
        import cupy

        return "imitated" not in cupy.__version__ and cupy.is_available()
    except Exception:
        return False


IMITATED = not has_gpu()


@pytest.fixture(autouse=True)
def gpu(monkeypatch):
    """Let "cuda" be there in every test of this folder."""
    if not IMITATED:
        yield
        return
    import build

    build.compiler()  # skips where there is none
    import fake_cupy

    monkeypatch.setitem(sys.modules, "cupy", fake_cupy)
    monkeypatch.setenv("MINIFP_CUBLAS", str(build.library("fake_cublas.cpp")))
    forget = arrays.cupy.cache_clear  # which a test may put something else in place of
    forget()
    late = fake_cupy.late(int(os.environ.get("MINIFP_IMITATED_LATE", 0)))
    with np.errstate(all="ignore"), late:
        yield
    forget()
