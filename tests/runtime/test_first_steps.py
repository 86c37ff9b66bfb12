"""A first step in a precision that has a name needs no kernel that numba would have to compile."""

from dataclasses import replace

import numpy as np
import pytest

from minifp.data import TensorDataset
from minifp.lab import compile_ahead as ahead
from minifp.lab.tasks import load_task
from minifp.models import LeNet
from minifp.numerics import policy
from minifp.runtime import cpu

if not cpu.can_compile():
    pytest.skip("nothing is compiled", allow_module_level=True)

from minifp.runtime.cpu.compile import decorators, entries, shipped
from minifp.runtime.cpu.kernels import convert

if not shipped.index(convert.__file__) or not entries.can_enter() or shipped.variant() == "none":
    pytest.skip("kernels were not lowered for this machine", allow_module_level=True)

PRECISIONS = [
    *(name for name in policy.NAMED if name != "float64"),  # which computes with NumPy
    "bfloat16,master_weights=off,update_rounding=stochastic",
]
BATCH = 16  # which calls the kernels that larger ones do, and costs less


def lenet_of_large_images():
    """The network of the literature, whose windows are other ones than those of 8 by 8 digits."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2 * BATCH, 1, 28, 28)).astype("f4")
    data = TensorDataset(x, rng.integers(0, 10, len(x)))
    return replace(load_task("lenet"), model=LeNet, data=lambda: (data, data))


TASKS = {**{name: ahead.MODELS[name] for name in ahead.FIRST}, "lenet28": lenet_of_large_images}


def noted(monkeypatch):
    """(file, kernel, types) of all kernels that are called from now on."""
    calls, call = set(), decorators.Kernel.__call__

    def note(kernel, *args):
        calls.add((kernel.path, kernel.py_func.__qualname__, kernel.types_of(args)))
        return call(kernel, *args)

    monkeypatch.setattr(decorators.Kernel, "__call__", note)
    unseen = property(lambda _: [], lambda k, new: vars(k).setdefault("entries", []).extend(new))
    monkeypatch.setattr(decorators.Kernel, "entries", unseen, raising=False)
    return calls


def travels(path, name, types):
    """Whether a kernel was lowered for these types, and a CPU such as this one."""
    return shipped.variant() in shipped.index(path).get(name, {}).get(types, {})


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("task", TASKS)
def test_all_kernels_of_a_first_step_travel_lowered(task, precision, monkeypatch):
    calls = noted(monkeypatch)
    ahead.one_step(replace(TASKS[task](), batch_size=BATCH), precision)
    missing = [call for call in calls if not travels(*call)]
    assert calls
    assert not missing, "run python scripts/write_kernels.py --record"
