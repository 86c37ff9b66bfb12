"""The imitation of a GPU finds what it is there to find: planted faults, and reads beyond memory.

Each fault is one change to a text that minifp launches. The check that finds it passes without.
"""

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import build
import numpy as np
import pytest
from real_gpu import IMITATED

import minifp as fp
from minifp import nn, optim
from minifp.optim.update_rule import UpdateRule
from minifp.runtime.cuda import pointwise, source
from minifp.runtime.cuda.arrays import to_device, to_host

if not IMITATED:
    pytest.skip("it is about the imitation", allow_module_level=True)

HERE = Path(__file__).parent


def in_orders(check):
    """Run a check with blocks and threads in several orders."""
    seed = ctypes.c_uint.in_dll(build.runtime(), "rig_seed")
    try:
        for seed.value in (0, 3, 5, 8):
            check()
    finally:
        seed.value = 0


def sums_are_right():
    """Sums over rows and over columns, of more than one block's share."""
    x = np.random.default_rng(0).normal(size=(37, 1000)).astype(np.float16)
    for axis in (0, 1):
        y = pointwise.summed(pointwise.identity, (to_device(x),), (axis,), np.dtype("float32"))
        assert np.allclose(to_host(y), x.astype(np.float64).sum(axis), atol=1e-3)


def norms_are_right():
    x = np.random.default_rng(0).normal(size=(3, 5000)).astype(np.float32)
    y = fp.nn.functional.layer_norm(fp.tensor(x, device="cuda"), (5000,)).numpy()
    expected = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)
    assert np.allclose(y, expected, atol=1e-4)


def steps_are_right():
    """Three steps of Adam on scaled gradients, as on the CPU."""
    found = []
    for device in ("cpu", "cuda"):
        fp.manual_seed(0)
        with fp.precision("mixed"):
            model = nn.Linear(5, 3).to(device)
            for rule in optim.Adam(model.parameters(), lr=0.1), optim.SGD(model.parameters(), lr=1):
                optimizer = fp.MixedOptimizer(rule, loss_scale=256.0)
                for _ in range(3):
                    x = fp.tensor(np.linspace(-1, 1, 20).reshape(4, 5), device=device)
                    optimizer.minimize((model(x) * 1e-2).square().mean())
        found.append(model.state_dict()["weight"].numpy())
    assert np.allclose(*found, atol=1e-4), np.abs(found[0] - found[1]).max()


BARRIER, PART = "__syncthreads();", "parts[threadIdx.x / 32] = v;"
FAULTS = {
    "no barrier before a tree": (sums_are_right, f"] = total;\n    {BARRIER}", "] = total;"),
    "no barrier in a tree": (sums_are_right, f"mine_at[o]);\n      {BARRIER}", "mine_at[o]);"),
    "a stride is wrong": (sums_are_right, "r += along)", "r += along + 1)"),
    "the last addend is left out": (sums_are_right, "r < stop;", "r + 1 < stop;"),
    "no barrier in the sum of a block": (norms_are_right, f"{PART}\n  {BARRIER}", PART),
    "a gradient is not unscaled": (steps_are_right, "_scale = sign * own[1]", "_scale = sign"),
    "a count is off by one": (steps_are_right, "base + own[2]", "base + own[2] + 1.0"),
    "a scale is not divided by": (steps_are_right, "1.0 / (state[SCALE] * dial)", "state[SCALE]"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(fault, monkeypatch):
    check, right, wrong = FAULTS[fault]
    in_orders(check)
    launched, planted = source.Module.__init__, []

    def init(self, text):
        launched(self, text)
        if right in self.text:
            planted.append(right)
            self.text = self.text.replace(right, wrong)

    monkeypatch.setattr(source.Module, "__init__", init)
    forget()
    try:
        with pytest.raises(AssertionError):
            in_orders(check)
    finally:
        forget()
    assert planted


def forget():
    source.module_of.cache_clear()
    pointwise.module.cache_clear()
    for module in list(sys.modules.values()):
        for found in vars(module).values() if module.__name__.startswith("minifp") else ():
            if isinstance(found, source.Text):
                found.modules.clear()
            elif isinstance(found, UpdateRule):
                vars(found.derived).pop("on_device", None)


SANITIZED = """
import sys
sys.path[:0] = {paths!r}
import fake_cupy
sys.modules["cupy"] = fake_cupy
import numpy as np
import minifp as fp
from minifp.runtime.cuda import pointwise, source
from minifp.runtime.cuda.arrays import to_device
if {wrong}:
    right = pointwise.template
    pointwise.template = lambda name: right(name).replace("i < n", "i <= n")
x = to_device(np.ones(1003, np.float16)[:1001])
print(pointwise.run(pointwise.identity, (x,), np.dtype("float32")).get().sum())
"""


def sanitized(command):
    """A command run with the address sanitizer in every kernel."""
    told = {"capture_output": True, "text": True, "encoding": "utf-8"}
    asked = subprocess.run([build.compiler(), "-print-file-name=libasan.so"], **told)
    library = asked.stdout.strip()
    if not os.path.isabs(library):
        (pytest.fail if os.environ.get("CI") else pytest.skip)("the compiler has no libasan")
    environment = os.environ | {
        "LD_PRELOAD": library,
        "ASAN_OPTIONS": "detect_leaks=0",
        "MINIFP_IMITATED_FLAGS": "-fsanitize=address",
    }
    return subprocess.run(command, env=environment, cwd=HERE, **told)


@pytest.mark.parametrize("wrong", [False, True])
def test_a_write_beyond_memory_is_found(wrong):
    done = sanitized([sys.executable, "-c", SANITIZED.format(paths=[str(HERE)], wrong=wrong)])
    assert (done.returncode != 0) == wrong, done.stderr
    assert ("heap-buffer-overflow" in done.stderr) == wrong


@pytest.mark.parametrize("one_in", [4, pytest.param(1, marks=pytest.mark.nightly)])
def test_kernels_stay_in_their_memory(one_in):
    """Two calls of each of the kernels that have texts of their own, with the sanitizer in it:
    of all each night, and of one in four that the commit draws always."""
    done = sanitized([sys.executable, str(HERE / "sanitized.py"), "2", str(one_in)])
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    assert int(done.stdout.split()[-4]) > 30 // one_in, done.stdout


LAUNCHED = """
import sys
sys.path[:0] = {paths!r}
import fake_cupy as cupy
import numpy as np
x = cupy.asarray(np.array({numbers}, np.float32))
y = cupy.ndarray(({threads},), np.float32)
cupy.RawModule(code={text!r}).get_function("tried")((1,), ({threads},), (x, y))
print(y.tolist())
"""
TRIED = """extern "C" __global__ void tried(const float *x, float *y) {
  int t = threadIdx.x;
%s
}"""


def launched(body, numbers=(0.0,) * 256, threads=32, **environment):
    """A process that launches a kernel, which prints what is in y."""
    text = LAUNCHED.format(
        **{"paths": [str(HERE)], "numbers": list(numbers), "threads": threads}, text=TRIED % body
    )
    environment = os.environ | environment
    told = {"capture_output": True, "text": True, "encoding": "utf-8"}
    command = [sys.executable, "-c", text]
    return subprocess.run(command, env=environment, cwd=HERE.parents[1], **told)


ENDED = " in tried: a shuffle names lanes that have ended"
REFUSED = {
    "an unaligned load of a vector": (
        "  y[t] = reinterpret_cast<const float4 *>(x + 1)[t].x;",
        "3: 16 bytes at once from an address that is 4 beyond a multiple",
    ),
    "a shuffle after the upper lanes have left": (
        *("  if (t >= 16) return;\n  y[t] = __shfl_xor_sync(0xffffffffu, x[t], 8);", f"4{ENDED}"),
    ),
    "a shuffle before the lower lanes leave": (
        *("  if (t < 16) return;\n  y[t] = __shfl_down_sync(0xffffffffu, x[t], 8);", f"4{ENDED}"),
    ),
    "lanes that leave while others wait for a shuffle": (
        *("  if (t < 31) y[t] = __shfl_sync(0xffffffffu, x[t], 8);", f"3{ENDED}"),
    ),
}


@pytest.mark.parametrize("fault", REFUSED)
def test_what_a_gpu_does_not_do_is_refused_with_its_kernel_and_line(fault):
    body, said = REFUSED[fault]
    done = launched(body)
    assert done.returncode != 0, done.stdout
    assert f"imitated GPU: kernel tried, line {said}" in done.stderr, done.stderr


def test_a_shuffle_is_done_where_another_warp_has_left():
    done = launched("  if (t < 32) y[t] = __shfl_xor_sync(0xffffffffu, x[t], 8);", range(64), 64)
    assert done.stdout.startswith(str([float(t ^ 8) for t in range(32)])[:-1]), done.stderr


@pytest.mark.parametrize(("flush", "expected"), [("0", [2.0**-131, 0.0]), ("1", [0.0, 2.0**-24])])
def test_as_for_a_gpu_subnormals_are_zero_and_products_are_added_unrounded(flush, expected):
    numbers = [2.0**-130, 1 + 2.0**-12, -(1 + 2.0**-11), 0.5]
    body = "  y[t] = t ? x[1] * x[1] + x[2] : x[0] * x[3];"
    done = launched(body, numbers, 2, MINIFP_IMITATED_FLUSH=flush)
    assert done.stdout.strip() == str(expected), done.stderr


SOME = "within_the_bound and (softmax or layer_norm or logsumexp)"
ALL = pytest.param("within_the_bound", marks=pytest.mark.nightly)


@pytest.mark.slow
@pytest.mark.parametrize("chosen", [SOME, ALL])
def test_kernels_stay_within_the_bound_with_contraction_and_without_subnormals(chosen):
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    command += [str(HERE / "test_device_kernels.py"), "-k", chosen]
    told = {"capture_output": True, "text": True, "encoding": "utf-8"}
    environment = os.environ | {"MINIFP_IMITATED_FLUSH": "1"}
    done = subprocess.run(command, env=environment, cwd=HERE.parents[1], **told)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
