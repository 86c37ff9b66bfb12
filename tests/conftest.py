"""What holds for all tests: threads, a fresh seed, the default precision, and where a GPU is."""

import ctypes
import gc
import os
import signal
import sys
import threading
from types import ModuleType

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")  # before NumPy is imported; see minifp/runtime/cpu/blas.py
os.environ.setdefault("MPLBACKEND", "agg")
os.environ.pop("MINIFP_PRECISION", None)  # a test that wants another default says so
os.environ.pop("MINIFP_DEVICE", None)
if threading.current_thread() is threading.main_thread():
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in a job that runs in the background
        signal.signal(signal.SIGINT, signal.default_int_handler)

import pytest  # noqa: E402
from real_gpu import has_gpu  # noqa: E402

pytest_plugins = ["in_browser", "in_playground", "sampling"]

try:
    import hypothesis
except ImportError:  # `make gpu` does without
    pass
else:
    # The same examples at every run; HYPOTHESIS_PROFILE=explore looks for new ones.
    hypothesis.settings.register_profile("steady", deadline=None, derandomize=True, database=None)
    hypothesis.settings.register_profile("explore", deadline=None, max_examples=1000)
    hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Tests are a million objects that stay: garbage is not looked for among them."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.collect()
        gc.freeze()


def pytest_collection_modifyitems(items):
    """Skip what needs a GPU where there is none."""
    needs_gpu = [item for item in items if item.get_closest_marker("gpu")]
    if needs_gpu and not has_gpu():
        for item in needs_gpu:
            item.add_marker(pytest.mark.skip(reason="no CUDA device"))


@pytest.fixture(autouse=True, scope="session")
def children_are_not_warned():
    """Processes that tests start import libraries whose EncodingWarnings would be errors there."""
    os.environ.pop("PYTHONWARNDEFAULTENCODING", None)


@pytest.fixture(autouse=True, scope="module")
def memory_goes_back():
    """Of what a file's tests have freed glibc keeps most, file by file more, unless it is told."""
    yield
    getattr(ctypes.pythonapi, "malloc_trim", int)(0)


@pytest.fixture(scope="session")
def torch():
    return pytest.importorskip("torch", reason="PyTorch is not installed (minifp[parity])")


@pytest.fixture(scope="session")
def torchvision():
    """torchvision's sources, also where what it compiled does not fit to the PyTorch there is."""
    pytest.importorskip("torch", reason="PyTorch is not installed (pip install minifp[parity])")
    sys.modules.setdefault("torchvision._meta_registrations", ModuleType("unused"))
    return pytest.importorskip("torchvision", reason="parity is with torchvision")


@pytest.fixture
def in_mixed():
    import minifp as fp

    with fp.precision("mixed"):
        yield


@pytest.fixture
def threads():
    import minifp as fp

    before = fp.get_num_threads()
    yield fp.set_num_threads
    fp.set_num_threads(before)


@pytest.fixture
def one_thread(threads):
    """Threads that are late to wake really hold more, which no test should depend on."""
    threads(1)


@pytest.fixture(autouse=True)
def from_seed_0():
    """Every test draws the same numbers, alone or after others."""
    from minifp.runtime import random

    random.manual_seed(0)


@pytest.fixture(autouse=True)
def nobody_was_warned():
    """What warns once in a process warns in every test that asks for it."""
    from minifp.runtime import callers

    callers.told.clear()


@pytest.fixture(autouse=True)
def leaves_no_trace():
    """A test that left a precision or an observer behind would change the tests after it."""
    from minifp.autograd.grad_mode import OUTSIDE, recording
    from minifp.numerics import policy

    before = policy.get_precision()
    yield
    after, left = policy.get_precision(), []
    policy.set_precision(before)
    for name in ("minifp.numerics.kernels", "minifp.autograd.tape", "minifp.training.mixed"):
        observers = getattr(sys.modules.get(name), "observers", [])
        left += observers
        observers.clear()
    mode = recording.get()
    recording.set(OUTSIDE)
    assert after == before, f"the test left the default precision at {after}"
    assert mode.value, "the test left gradients switched off"
    assert not left, f"the test left observers behind: {left}"
