"""Here "cuda" is a real GPU where there is one, or else the imitation of fake_cupy.py.

MINIFP_IMITATED_LATE=1, 2 or more: let its work be done late, in an order of this seed.
"""

import os
import sys

import numpy as np
import pytest
from real_gpu import IMITATED, why_broken

from minifp.numerics import kernels
from minifp.runtime.cuda import arrays, product

MOST_HELD = 2**26  # bytes that the imitation's pool may hold from one test to the next
# What a machine may lack on which nothing was installed for minifp.
OPTIONAL = {"click", "hypothesis", "tqdm"}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """After a failure that leaves the GPU unusable, no further test runs in this process.

    A worker of xdist ends, so that a new one takes its place; the failure is told twice then.
    """
    before = item.session.testsfailed
    result = yield
    if not IMITATED and item.session.testsfailed > before and (why := why_broken()):
        if "PYTEST_XDIST_WORKER" in os.environ:
            os._exit(1)
        item.session.shouldstop = f"the GPU cannot be used after {item.nodeid}: {why}"
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call():
    """A test that imports what is not installed is skipped."""
    try:
        return (yield)
    except ModuleNotFoundError as error:
        if error.name not in OPTIONAL:
            raise
        pytest.skip(f"{error.name} is not installed")


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
    give_back(fake_cupy.get_default_memory_pool())
    forget()


@pytest.fixture
def on_device():
    """Fail where something is computed on the CPU."""
    before = {*kernels.ran_on_host}
    kernels.ran_on_host.clear()
    yield
    assert not kernels.ran_on_host
    kernels.ran_on_host.update(before)


def give_back(pool):
    """Leave the next test no workspaces, of 32 MiB for each stream and thread, and no blocks."""
    if pool.total_bytes() > MOST_HELD:
        if product.handles.cache_info().currsize:
            product.handles().close()
            product.handles.cache_clear()
        pool.free_all_blocks()
