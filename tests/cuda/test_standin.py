"""The real CuPy over a device in the host's memory: what only its own classes and pools refuse.

`make test` and `make nightly` install its wheel in a folder beside the environment's packages,
which only the processes that are started here have on their paths. See standin/standin.py.
"""

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
WHEEL = Path(sys.prefix) / "standin"

if (sys.platform, platform.machine()) != ("linux", "x86_64"):
    pytest.skip("the stand-in is for Linux on x86-64", allow_module_level=True)
if not WHEEL.is_dir():
    pytest.skip(f"no CuPy in {WHEEL}: make test installs it", allow_module_level=True)


def on_standin(*command, **environment):
    """Run Python there: with this folder's sitecustomize.py, and the wheel behind it."""
    path = os.pathsep.join(map(str, (HERE / "standin", WHEEL)))
    environment = os.environ | {"PYTHONPATH": path, "MINIFP_REQUIRE_GPU": "1"} | environment
    environment.pop("PYTEST_ADDOPTS", None)
    told = {"capture_output": True, "text": True, "encoding": "utf-8"}
    return subprocess.run([sys.executable, *command], env=environment, cwd=ROOT, **told)


QUICK = "one_file libraries derived_kernel product teaching_kernel capture_after_a_refused_one "
QUICK += "uploads"


@pytest.mark.parametrize("checks", [QUICK, pytest.param("", id="all", marks=pytest.mark.nightly)])
def test_the_smoke_test_passes(checks):
    done = on_standin("scripts/gpu_smoke.py", *checks.split())
    assert "FAILED" not in done.stdout and done.returncode == 0, done.stdout + done.stderr[-2000:]


# What met the real CuPy's classes, pools and streams first; by file, which of its tests.
SAMPLE = {
    "test_coded_arrays.py": "multiplied_in_a_format or moved_as_numpy or would_compute",
    "test_streams.py": "runs_out_of_memory or was_made_invalid",
    "test_capture.py": "smaller_batch",
    "test_comparisons.py": "captured and joined",
}
WHOLE = (*SAMPLE, "test_edges.py", "test_device.py", "test_operations.py", "test_scope.py")
WHOLE += ("test_references_on_cupy.py",)


def passes(*chosen):
    done = on_standin("-m", "pytest", "-q", "-p", "no:cacheprovider", *chosen)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]


def test_a_sample_of_this_folder_passes():
    chosen = " or ".join(f"({names})" for names in SAMPLE.values())
    passes(*(str(HERE / name) for name in SAMPLE), "-k", chosen)


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize("name", WHOLE)
def test_files_of_this_folder_pass(name):
    passes(str(HERE / name), "--exhaustive")


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize("lesson", ["compare", "10-memory-and-time"])
def test_lessons_have_figures_of_the_gpu(lesson, tmp_path):
    run = ("scripts/write_notebooks.py", "--run", str(tmp_path), lesson)
    done = on_standin(*run, MINIFP_DEVICE="cuda", FAST="1")
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    cells = json.loads((tmp_path / f"{lesson}.ipynb").read_text("utf-8"))["cells"]
    told = json.dumps([cell.get("outputs") for cell in cells])
    assert "one CUDA graph" in told and "On an H100" not in told


# A check of gpu_smoke.py as it is, and after a change that it is to find.
PLANTED = """
import sys
sys.path.insert(0, "scripts")
import gpu_smoke
import minifp as fp
def captured_steps(*args):
    captured = fp.capture(lambda x: x * 2.0, device="cuda")
    x = fp.ones(2**18, device="cuda", dtype="float32")
    return [captured(x) for _ in range(4)]
gpu_smoke.lenet_losses = captured_steps  # of which there are many, and which take long here
gpu_smoke.CHECKS[{check!r}]()
{change}
sys.argv = ["gpu_smoke.py", {check!r}]
gpu_smoke.main()
"""
KEEP_STEPS = """
held, capture = [], fp.capture
def keeping(*args, **settings):
    held.append(capture(*args, **settings))
    return held[-1]
fp.capture = keeping
"""
NO_HANDLE = """
from minifp.runtime.cuda import streams
streams.unused.clear()
streams.Lease.prepare = lambda self: None
"""
FAULTS = {
    "a handle is made while a stream is captured": (
        *("capture_after_a_refused_one", NO_HANDLE, "cublasCreate_v2: cuBLAS status 1"),
    ),
    "a pool grows with every step that is dropped": (
        *("dropped_steps_give_memory_back", KEEP_STEPS, "FAILED AssertionError"),
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_a_step_is_found(fault):
    check, change, said = FAULTS[fault]
    done = on_standin("-c", PLANTED.format(change=change, check=check))
    assert done.returncode == 1 and said in done.stdout, done.stdout + done.stderr[-2000:]


def test_an_attribute_of_a_class_of_cupy_is_not_set():
    done = on_standin("-c", 'import cupy; cupy.cuda.Device.compute_capability = "75"')
    assert done.returncode == 1 and "immutable type" in done.stderr, done.stderr


POOLS = """
import cupy
mib = 2**20
for free, used, limit, asked in ((3, 0, 4, 4), (3, 1, 4, 4), (3, 1, 6, 4), (3, 1, 8, 4)):
    pool = cupy.cuda.MemoryPool()
    held = [pool.malloc(used * mib)] if used else []
    pool.malloc(free * mib)
    pool.set_limit(size=limit * mib)
    try:
        held.append(pool.malloc(asked * mib))
        said = "given"
    except cupy.cuda.memory.OutOfMemoryError:
        said = "refused"
    print(free, used, limit, asked, said, pool.total_bytes() // mib, pool.free_bytes() // mib)
"""


def test_the_imitated_pool_gives_and_refuses_at_its_limit_as_cupy_does(capsys):
    exec(POOLS, {})
    done = on_standin("-c", POOLS)
    assert "refused" in done.stdout and "given" in done.stdout, done.stderr
    assert capsys.readouterr().out == done.stdout
