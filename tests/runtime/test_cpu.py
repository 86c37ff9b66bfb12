"""What compiled kernels stand on: half conversions, threads, the cache, and machines without."""

import importlib.util
import io
import os
import platform
import shutil
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from own_process import python
from refusals import refuses
from watching import at_once

import minifp as fp
from minifp.errors import ArgumentError
from minifp.numerics.compiled import compiled_kernels_in
from minifp.numerics.kernels import KERNELS, kernel
from minifp.runtime import cpu, variables
from minifp.runtime.cpu import heap
from minifp.runtime.cpu.compile import progress
from minifp.runtime.cpu.threads import cores, from_environment
from minifp.runtime.cuda.math_modes import MODES

compiled = pytest.mark.skipif(not cpu.can_compile(), reason="needs numba")
ROOT = Path(__file__).resolve().parents[2]


def run(code, *arguments, **environment):
    done = python(code, *arguments, **environment)
    return done.stdout, done.stderr


TRAIN = """
    import numpy as np, minifp as fp, minifp.nn.functional as F
    from minifp import nn, optim
    fp.manual_seed(0)
    x = np.random.default_rng(0).standard_normal((8, 1, 8, 8))
    with fp.precision("mixed"):
        layers = nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(256, 3)
        model = nn.Sequential(*layers)
        optimizer = fp.MixedOptimizer(optim.SGD(model.parameters(), lr=0.1))
        for _ in range(2):
            loss = F.cross_entropy(model(fp.tensor(x)), np.arange(8) % 3)
            assert optimizer.minimize(loss).stepped
    print(repr(loss.item()))
"""


CONVERT = """
    import sys, pytest
    from minifp.runtime.cpu.emit import formats_ir
    assert not formats_ir.IN_HARDWARE or "arm" in __import__("os").uname().machine
    sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", "tests/numerics/test_formats.py"]))
"""


@pytest.mark.nightly
@compiled
def test_halves_are_converted_as_numpy_does_without_hardware_for_them_too(tmp_path):
    """On a CPU without F16C, whose instructions would end the process there."""
    run(CONVERT, NUMBA_CPU_NAME="generic", NUMBA_CACHE_DIR=str(tmp_path))


@pytest.mark.nightly
@compiled
def test_a_cpu_without_vector_units_of_its_own_trains_to_nearly_the_same_loss():
    """Sums run in another order, and are not fused: the last bits of float32 may differ."""
    plain, generic = (float(run(TRAIN, NUMBA_CPU_NAME=name)[0]) for name in ("", "generic"))
    assert generic == pytest.approx(plain, abs=2.0**-9)  # of one flipped rounding to float16


def test_as_many_threads_as_cores_unless_it_is_said(threads, monkeypatch):
    monkeypatch.delenv("MINIFP_THREADS", raising=False)
    assert from_environment() == cores() >= 1
    monkeypatch.setenv("MINIFP_THREADS", "3")
    assert from_environment() == 3
    threads(2)
    assert fp.get_num_threads() == 2


@pytest.mark.parametrize("given", ["0", "-1", "many", "1.5", "1025", "1000000", "9" * 99])
def test_a_number_of_threads_that_is_none_or_absurd_is_refused(given, monkeypatch):
    monkeypatch.setenv("MINIFP_THREADS", given)
    refuses(ArgumentError, "MINIFP_THREADS=.*1 to 1024", from_environment)
    before = fp.get_num_threads()
    for other in (0, -2, True, 1.0, "2", 10**6):
        refuses(ArgumentError, "set_num_threads", fp.set_num_threads, other)
    assert fp.get_num_threads() == before


def test_variables_are_refused_at_the_import_whatever_the_device(monkeypatch, tmp_path):
    assert set(variables.GPU_MATH) == set(MODES)
    wrong = {n: "foo" for n, variable in variables.VARIABLES.items() if variable.expected}
    wrong |= {"MINIFP_DATA": __file__, "MINIFP_TEACH_FILE": str(tmp_path)}
    for name, text in wrong.items():
        monkeypatch.setenv(name, text)
        refuses(ArgumentError, f"environment variable {name}=.*: expected", variables.check)
        monkeypatch.delenv(name)
    for name in ("MINIFP_GPU_MATH", "MINIFP_PRECISION"):
        said = python("import minifp", check=False, **{name: "foo"}).stderr.splitlines()[-1]
        assert f"environment variable {name}" in said


@compiled
def test_every_chunk_is_done_once_however_many_callers_and_threads_there_are(threads):
    from minifp.runtime.cpu.kernels.pool import parallel

    @parallel
    def count(chunk, scratch, done, work):
        x = np.float32(0)
        for i in range(work):
            x += np.float32(i)
        done[chunk] += 1 + (x < 0)

    wrong = []

    def call():
        for _ in range(50):
            done = np.zeros(37, np.int64)
            count(37, done, 3000, cost=1e9)
            if not (done == 1).all():
                wrong.append(done)

    for number in (1, 2, 7):
        threads(number)
        at_once(call, call, call)
    assert not wrong


@compiled
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_has_workers_of_its_own():
    code = """
        import os, numpy as np, minifp as fp
        fp.set_num_threads(3)
        x = fp.ones(4096, 64)
        y = (x @ fp.ones(64, 512)).sum().item()
        child = os.fork()
        if child == 0:
            os._exit(0 if (x @ fp.ones(64, 512)).sum().item() == y else 1)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """
    assert run(code, PYTHONWARNINGS="ignore")[0].strip() == "0"


@pytest.mark.slow
@compiled
def test_compiled_kernels_are_kept_and_found_again(tmp_path):
    def files():
        told = run(TRAIN, NUMBA_CACHE_DIR=str(tmp_path))[1]
        assert "compiles" not in told  # as it is no terminal
        return {path: path.stat().st_mtime_ns for path in tmp_path.glob("minifp-kernels/*/*.o")}

    first = files()
    assert first and files() == first


def test_a_terminal_is_told_that_kernels_are_compiled(monkeypatch):
    terminal = type("Terminal", (io.StringIO,), {"isatty": lambda self: True})
    monkeypatch.setattr(sys, "stderr", terminal())
    progress.Progress()._show("a kernel")
    assert "compiles its kernels" in sys.stderr.getvalue()


@pytest.mark.nightly
@compiled
def test_a_folder_that_cannot_be_written_costs_one_warning_and_no_result(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder", encoding="utf-8")
    printed, told = run(TRAIN, NUMBA_CACHE_DIR=str(blocked))
    assert told.count("cannot be kept") == 1 and "NUMBA_CACHE_DIR" in told
    assert printed == run(TRAIN)[0]


@compiled
def test_a_change_in_a_file_that_kernels_are_made_of_makes_them_anew(tmp_path, monkeypatch):
    from minifp.runtime.cpu.compile import kernel_cache as cache

    base, front_end = (tmp_path / "runtime" / "cpu" / name for name in ("emit/base.py", "compile"))
    for folder in (base.parent, front_end, tmp_path / "ops"):
        folder.mkdir(parents=True)
    one, two, three = (tmp_path / "ops" / f"{n}_numba.py" for n in ("one", "two", "three"))
    text = "from minifp.ops.two_numba import x\nfrom minifp.runtime.cpu.emit import base\n"
    one.write_text(text, encoding="utf-8")
    two.write_text("x = 1\n", encoding="utf-8")
    three.write_text("from minifp.runtime.cpu.emit.base import z\n", encoding="utf-8")
    base.write_text("z = 1\n", encoding="utf-8")
    for name in cache.FRONT_END:
        (front_end / f"{name}.py").write_text("", encoding="utf-8")
    monkeypatch.setattr(cache, "ROOT", tmp_path)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))

    def forget():
        for cached in (cache.sources, cache.digest_of, cache.cache_folder):
            cached.cache_clear()

    def folders():
        forget()
        return [cache.cache_folder(str(file)) for file in (one, three)]

    try:
        before = folders()
        two.write_text("x = 2\n", encoding="utf-8")
        after = folders()
        assert after[0] != before[0] and after[1] == before[1]
        base.write_text("z = 2\n", encoding="utf-8")
        last = folders()
        assert last[0] != after[0] and last[1] != after[1]
    finally:
        forget()


KERNEL = """
from minifp.runtime.cpu.compile.decorators import compiled, native

@compiled
def twice(x):
    for i in range(len(x)):
        x[i] = 2 * x[i]

@native("float64(float64)", "minifp_test_half")
def half(x):
    return x / 2
"""


@pytest.fixture
def kernels(tmp_path, monkeypatch):
    """A function that uses a file of kernels as a new process would, and where it is kept."""
    from minifp.runtime.cpu.compile import kernel_cache as cache

    file = tmp_path / "of_tests.py"
    file.write_text(KERNEL, encoding="utf-8")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "kept"))

    def use(*dtypes):
        cache.cache_folder.cache_clear()
        spec = importlib.util.spec_from_file_location("of_tests", file)
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, "of_tests", module)
        spec.loader.exec_module(module)
        for dtype in dtypes:
            x = np.arange(3, dtype=dtype)
            module.twice(x)
            assert x.tolist() == [0, 2, 4]
        return sum(module.twice.of_numba.stats.cache_hits.values())

    yield use, tmp_path / "kept"
    cache.cache_folder.cache_clear()


def kept(folder, end):  # .nbi is numba's index, .nbc the code
    return sorted(folder.rglob(f"*{end}"))


@compiled
@pytest.mark.parametrize("end", [".nbi", ".nbc"])
@pytest.mark.parametrize("part", [0.0, 0.3, 0.999, "noise"])
def test_kernels_that_are_damaged_are_compiled_anew_and_kept_again(kernels, end, part):
    use, folder = kernels
    use("float32")
    assert use("float32") == 1
    for path in kept(folder, end):
        content = path.read_bytes()
        path.write_bytes(b"c" * 99 if part == "noise" else content[: int(part * len(content))])
    with pytest.warns(RuntimeWarning, match="NUMBA_CACHE_DIR") as told:
        assert use("float32") == 0
    assert len(told) == 1 and str(folder) in str(told[0].message)
    use("float32")
    assert use("float32") == 1


@compiled
def test_code_for_other_types_is_not_called(kernels):
    """As two processes may leave it that compile a kernel for two types at the same time."""
    use, folder = kernels
    use("float32", "int16")
    first, second = (path for path in kept(folder, ".nbc") if "twice" in path.name)
    first.write_bytes(second.read_bytes())
    assert (use("float32", "int16"), use("float32", "int16")) == (0, 2)


@compiled
@pytest.mark.parametrize("what", ["_save_index", "_save_data", "_load_index"])
def test_a_full_or_broken_disk_costs_one_warning(kernels, monkeypatch, what):
    from minifp.runtime.cpu.compile.numba_cache import Files

    def fail(*given):
        raise OSError(28, "No space left on device")

    use, folder = kernels
    monkeypatch.setattr(Files, what, fail)
    with pytest.warns(RuntimeWarning, match="No space left on device.*make room") as told:
        use("float32", "int16")
    assert [w.category for w in told if w.category is not EncodingWarning] == [RuntimeWarning]
    monkeypatch.undo()


@compiled
def test_a_folder_that_goes_away_while_a_program_runs_is_made_again(kernels):
    from minifp.runtime.cpu.compile import kernel_cache as cache

    use, folder = kernels
    use("float32")
    shutil.rmtree(folder)
    use("float32")
    assert kept(folder, ".nbc") and cache.size_of(folder) > 0


def test_old_folders_of_kernels_go_first_and_others_stay(tmp_path, monkeypatch):
    from minifp.runtime.cpu.compile import kernel_cache as cache

    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    place = tmp_path / "minifp-kernels"
    for age, name in enumerate(["conv_numba-" + "a" * 16, "pool-" + "b" * 16, "mine"]):
        folder = place / name / "ops"
        folder.mkdir(parents=True)
        (folder / "x.nbc").write_bytes(b"x" * 1000)
        os.utime(place / name, (1e9 - age, 1e9 - age))  # the first was used last
    cache.shrink(2000)
    assert len(list(place.iterdir())) == 3
    cache.shrink(1999)
    assert sorted(p.name[:4] for p in place.iterdir()) == ["conv", "mine"]
    cache.shrink(0)
    assert [p.name for p in place.iterdir()] == ["mine"]
    assert "0 MiB, of at most 256" in cache.summary() and str(place) in cache.summary()


@compiled
def test_a_checkout_that_is_not_installed_compiles_without_platformdirs_and_tqdm(tmp_path):
    code = """
    import sys
    sys.modules.update(platformdirs=None, tqdm=None)
    from pathlib import Path
    Path.home = lambda: Path(sys.argv[-1])
    from minifp.runtime.cpu.compile import kernel_cache, progress
    folder = kernel_cache.cache_folder(kernel_cache.__file__)
    print(folder.is_relative_to(Path.home() / ".cache" / "minifp"))
    progress.Progress()._show("a kernel")
    """.replace("sys.argv[-1]", repr(str(tmp_path)))
    printed, told = run(textwrap.dedent(code), NUMBA_CACHE_DIR="")
    assert (printed.strip(), told) == ("True", "")


def test_without_numba_one_warning_says_what_to_install_and_training_works():
    block = "import sys; sys.modules['numba'] = None\n"
    told = run(block + textwrap.dedent(TRAIN), MINIFP_KERNELS="")[1]
    assert told.count("pip install numba") == 1
    assert "numba" not in run(block + textwrap.dedent(TRAIN), MINIFP_KERNELS="numpy")[1]


@pytest.mark.parametrize(
    "refusal, what",
    [("", "runs products, convolutions and all else"), ("no LLVM", "runs on its NumPy references")],
)
def test_where_only_numba_is_missing_kernels_are_still_derived(monkeypatch, refusal, what):
    monkeypatch.delenv("MINIFP_KERNELS", raising=False)
    monkeypatch.setattr(cpu, "numba_error", lambda: ImportError("No module named 'numba'"))
    monkeypatch.setattr(cpu, "why_not_derived", lambda: refusal)
    with pytest.warns(RuntimeWarning, match=f"{what}.*No module named 'numba'; install numba"):
        assert not cpu.can_compile.__wrapped__()
    assert cpu.can_derive() == (not refusal)


@compiled
def test_what_is_derived_needs_no_kernel_of_numba(monkeypatch):
    monkeypatch.setattr(cpu, "can_compile", lambda: False)
    compiled_kernels_in.cache_clear()
    try:
        halved = kernel("map", "x")(lambda x: x / 2)
        assert halved.compiled is halved.derived is not None
        assert halved(np.ones(3, np.float16)).tolist() == [0.5, 0.5, 0.5]
    finally:
        KERNELS.pop()
        compiled_kernels_in.cache_clear()


def test_importing_minifp_compiles_nothing_and_numpy_alone_derives_nothing():
    assert run("import sys, minifp; print('numba' in sys.modules)")[0].strip() == "False"
    code = "from minifp.numerics.kernels import KERNELS; print({k.compiled for k in KERNELS})"
    assert run(code, MINIFP_KERNELS="numpy")[0].strip() == "{None}"


FAULTS = """
    import resource
    import numpy as np
    import minifp.runtime.cpu.kernels.pool

    def faults():
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        for _ in range(20):
            np.ones(1_500_000)
        return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

    faults()
    print(faults())
"""


@compiled
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="a setting of glibc's")
def test_freed_memory_is_used_again_unless_the_environment_says_otherwise(monkeypatch):
    for name in heap.SETTINGS:
        monkeypatch.delenv(name, raising=False)
    pages = 20 * 12_000_000 / 4096
    assert int(run(FAULTS)[0]) < pages / 100
    assert int(run(FAULTS, MALLOC_MMAP_THRESHOLD_="1000000")[0]) > pages / 100
