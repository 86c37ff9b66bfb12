"""How tests find a GPU, and go on after an error that a process does not survive (real_gpu.py)."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import real_gpu
from refusals import refuses

TESTS = Path(__file__).resolve().parents[1]
STAND_IN = """
from types import SimpleNamespace
__version__, broken = "14.2.0", []
class CUDARuntimeError(RuntimeError): pass
def call():
    if broken:
        raise CUDARuntimeError("cudaErrorIllegalAddress: an illegal memory access")
    return 1
runtime = SimpleNamespace(
    CUDARuntimeError=CUDARuntimeError, getDeviceCount=lambda: 1, deviceSynchronize=call
)
cuda = SimpleNamespace(runtime=runtime)
"""
PROGRAM = """
import cupy
def test_1(): assert cupy.cuda.runtime.deviceSynchronize()
def test_2(): cupy.broken.append(True); assert cupy.cuda.runtime.deviceSynchronize()
def test_3(): assert cupy.cuda.runtime.deviceSynchronize()
def test_4(): assert cupy.cuda.runtime.deviceSynchronize()
def test_5(): assert False
"""


class CUDARuntimeError(RuntimeError):
    """As CuPy's."""


def cupy(count, version="14.2.0"):
    def device_count():
        if isinstance(count, Exception):
            raise count
        return count

    runtime = SimpleNamespace(getDeviceCount=device_count, CUDARuntimeError=CUDARuntimeError)
    return SimpleNamespace(__version__=version, cuda=SimpleNamespace(runtime=runtime))


NO_DRIVER = CUDARuntimeError("cudaErrorInsufficientDriver: CUDA driver version is insufficient")
BAD_LUCK = CUDARuntimeError("cudaErrorUnknown: unknown error")
WITHOUT = [
    *((None, "not installed"), (cupy(0), "no device"), (cupy(NO_DRIVER), "InsufficientDriver")),
    (cupy(1, "14.0-imitated"), "imitation"),
]


@pytest.fixture
def has_gpu(monkeypatch):
    def ask(module):
        monkeypatch.setitem(sys.modules, "cupy", module)
        return real_gpu.has_gpu.__wrapped__()

    monkeypatch.delenv("MINIFP_REQUIRE_GPU", raising=False)
    return ask


@pytest.mark.parametrize("module, reason", WITHOUT)
def test_without_a_gpu_it_is_none_or_an_error_if_required(module, reason, has_gpu, monkeypatch):
    assert has_gpu(module) is False
    monkeypatch.setenv("MINIFP_REQUIRE_GPU", "1")
    refuses(RuntimeError, f"MINIFP_REQUIRE_GPU is set.*{reason}", has_gpu, module)


def test_what_else_goes_wrong_is_no_reason_for_the_imitation(has_gpu):
    assert has_gpu(cupy(1))
    refuses(CUDARuntimeError, "cudaErrorUnknown", has_gpu, cupy(BAD_LUCK))
    with pytest.raises(UserWarning):  # as CuPy warns of two installations
        has_gpu(cupy(UserWarning("CuPy may not function correctly")))


@pytest.fixture
def run(tmp_path):
    for name in ("real_gpu.py", "cuda/conftest.py"):
        shutil.copy(TESTS / name, tmp_path)
    (tmp_path / "cupy.py").write_text(STAND_IN, encoding="utf-8")
    (tmp_path / "test_program.py").write_text(PROGRAM, encoding="utf-8")

    def call(*flags):
        path = os.pathsep.join([str(tmp_path), str(TESTS.parent)])
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *flags]
        env = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
        env |= {"PYTHONPATH": path, "MINIFP_REQUIRE_GPU": "1"}
        done = subprocess.run(
            [*command, "-p", "no:randomly", "--rootdir", str(tmp_path), str(tmp_path)],
            cwd=tmp_path, env=env, capture_output=True, encoding="utf-8",
        )  # fmt: skip
        return done.stdout + done.stderr

    return call


@pytest.mark.nightly
def test_a_worker_whose_gpu_is_lost_is_replaced_and_without_workers_tests_end_there(run):
    pytest.importorskip("xdist", reason="pytest-xdist replaces workers")
    said = run("-n", "1", "--junitxml", "tests.xml")
    assert "[gw0] node down" in said and "cudaErrorIllegalAddress" in said
    assert "3 failed, 3 passed" in said  # test_2 twice: its error, and the end of its worker
    said = run("-p", "no:xdist")
    assert "1 failed, 1 passed" in said
    assert "the GPU cannot be used after" in said and "test_2: cudaErrorIllegalAddress" in said
