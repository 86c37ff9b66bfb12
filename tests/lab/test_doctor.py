"""What minifp says about the machine it runs on, and about what is missing."""

import importlib.util
import platform
import re
import shutil
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from own_process import python

import minifp
from minifp.data.whereabouts import SETS
from minifp.lab.commands import doctor_text as doctor
from minifp.numerics import kernels
from minifp.numerics.implementations import implementation_of
from minifp.runtime import cpu


def at_night(*values):
    return pytest.param(*values, marks=pytest.mark.nightly)


def row(text, name):
    return re.search(rf"^  {re.escape(name)} +(.*)$", text, flags=re.MULTILINE)[1]


@pytest.fixture
def lacking(monkeypatch):
    find = importlib.util.find_spec

    def lack(*names):
        monkeypatch.setattr(doctor, "find_spec", lambda n: None if n in names else find(n))

    return lack


def test_it_names_what_runs_and_which_kernels_are_live_for_which_device(monkeypatch, tmp_path):
    monkeypatch.setenv("MINIFP_DATA", str(tmp_path / "nowhere"))
    monkeypatch.setenv("MINIFP_PRECISON", "mixed")
    text = doctor.doctor_text()
    assert "nowhere" in text and "reads no such variable" in row(text, "MINIFP_PRECISON")
    assert row(text, "MINIFP_DEVICE").startswith("not set")
    assert not [x for x in text.splitlines() if len(x) > 100 and "/" not in x]
    assert row(text, "minifp").startswith(minifp.__version__)
    assert row(text, "Python").startswith(platform.python_version()) and sys.executable in text
    assert row(text, "NumPy").startswith(np.__version__) and "products on" in row(text, "NumPy")
    assert re.match(r"\d+ for this process", row(text, "cores"))
    for device, name in (("cpu", "in NumPy"), ("cuda", "run on the CPU")):
        ways = [implementation_of(kernel, device) for kernel in kernels.KERNELS]
        left = sum(way.how == "reference" for way in ways)
        assert f"{left} {name}" in row(text, device) if left else name not in row(text, device)
    told = r"^\d+ compiled by numba, \d+ derived by LLVM"
    assert not cpu.can_compile() or re.search(told, row(text, "cpu"))
    assert row(text, "threads") == str(minifp.get_num_threads())
    assert row(text, "float16 sums").startswith(("compiled by numba", "in NumPy, slow"))
    assert row(text, "formats").startswith(("compiled for float16, float32", "all, computed"))


def test_what_is_missing_is_named_with_the_line_that_installs_it(lacking):
    lacking()
    if all(importlib.util.find_spec(module) for module, *_ in doctor.OPTIONAL):
        assert doctor.missing() == ["Nothing is missing."]
    lacking("numba", "matplotlib")
    said = "\n".join(doctor.missing())
    assert "Missing: numba (compiled kernels, many times as fast)" in said
    assert said.endswith("-m pip install numba matplotlib") and sys.executable in said


def test_a_gpu_is_named_and_a_cupy_without_one_is_no_error(monkeypatch):
    def fails():
        raise RuntimeError("no CUDA-capable device is detected\nand more")

    runtime = SimpleNamespace(getDeviceCount=fails, getDeviceProperties=lambda i: {"name": b"K80"})
    of_device = SimpleNamespace(compute_capability="37")
    cuda = SimpleNamespace(runtime=runtime, Device=lambda i: of_device)
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(__version__="14.0", cuda=cuda))
    assert doctor.cupy_text() == "installed, but it sees no GPU: no CUDA-capable device is detected"
    runtime.getDeviceCount = lambda: 0
    assert doctor.on_gpu().startswith("no GPU here; on one, ")
    runtime.getDeviceCount = lambda: 1
    assert doctor.on_gpu() == doctor.counted("cuda")
    assert doctor.cupy_text().startswith("14.0, GPUs: K80; ")
    assert "Volta" in doctor.cupy_text()  # the first that will do
    of_device.compute_capability, runtime.runtimeGetVersion = "70", lambda: 13000
    text = doctor.cupy_text()
    assert "Volta" in text and "no tensor cores for bfloat16" in text
    assert "CUDA 13 no longer compiles for" in text and "pip install cupy-cuda12x" in text


@pytest.mark.parametrize("name", SETS)
def test_data_sets_are_found_where_minifp_data_says(name, monkeypatch, tmp_path):
    names, inside, _, megabytes = SETS[name]
    folder = tmp_path / name / inside
    folder.mkdir(parents=True)
    monkeypatch.setenv("MINIFP_DATA", str(tmp_path))
    monkeypatch.setattr(pytest.importorskip("pooch"), "os_cache", lambda _: tmp_path / "cache")
    assert f"will be downloaded into {tmp_path / 'cache' / name} ({megabytes} MB)" in rows()[name]
    (folder / names[0]).touch()
    assert f"lacks {names[1]}" in rows()[name]
    for file in names[1:]:
        (folder / file).touch()
    assert rows()[name] == f"in {folder}"
    if name == "cifar10":
        shutil.rmtree(tmp_path / name)
        for file in ("train.npz", "test.npz"):
            (tmp_path / file).touch()
        assert rows()[name] == f"in {tmp_path}, packed as JPEG"


def rows():
    return dict(doctor.data_places())


def test_every_variable_that_the_code_reads_is_listed():
    folder = doctor.Path(minifp.__file__).parent
    texts = [path.read_text("utf-8") for path in folder.rglob("*.py")]
    named = {name for text in texts for name in re.findall(r'"(MINIFP_[A-Z_]+)"', text)}
    assert named == {name for name in doctor.VARIABLES if name.startswith("MINIFP_")}


BROKEN = "raise AttributeError('no attribute bool8')"


@pytest.mark.parametrize("block, told", [
    ("sys.modules['click'] = sys.modules['numba'] = None", "Missing: numba"),
    at_night("sys.modules['llvmlite'] = None", "Broken: numba"),
    at_night("sys.path.insert(0, sys.argv[1])", "AttributeError: no attribute bool8"),
], ids=["no numba and no click", "no llvmlite", "broken"])  # fmt: skip
def test_without_numba_or_with_a_broken_one_it_says_so(tmp_path, block, told):
    (tmp_path / "numba.py").write_text(BROKEN, encoding="utf-8")
    code = f"import runpy, sys; {block}; name = 'minifp.lab.commands.doctor_text'"
    code += "; runpy.run_module(name, run_name='__main__')"
    text = python(code, str(tmp_path)).stdout
    assert told in text and row(text, "cuda").startswith("none: they need numba")
    assert "numba" in text.splitlines()[-1] and "-m pip install" in text.splitlines()[-1]
    assert row(text, "float16 sums") == "in NumPy, slow: numba is not there"
    assert row(text, "formats").endswith("no kernel is compiled")
