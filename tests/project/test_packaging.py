"""The wheel, away from the checkout: what is in it, and that it works with all and with little; and
a checkout installed in place, or not at all. New environments borrow what they need from this one.
"""

import os
import shutil
import subprocess
import sys
import tarfile
import textwrap
import venv
import zipfile
from email.parser import HeaderParser
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from minifp.teach import glossary

ROOT = Path(__file__).resolve().parents[2]
# Of lessons: that for a GPU uses programs of a checkout.
NOTEBOOKS = {*(ROOT / "notebooks").glob("*.ipynb")} - {ROOT / "notebooks" / "on-a-gpu.ipynb"}
SOURCES = (
    "minifp models exhibits notebooks docs pyproject.toml setup.cfg setup.py "
    "MANIFEST.in README.md LICENSE CHANGELOG.md CITATION.cff"
)

pytestmark = [pytest.mark.nightly, pytest.mark.packaging]


def run(*command, cwd, check=True):
    """Run a command without what the checkout or the user's settings could lend it."""
    lent = ("PYTHON", "MINIFP_")
    env = {k: v for k, v in os.environ.items() if not k.startswith(lent)}
    streams = {"capture_output": True, "encoding": "utf-8"}
    result = subprocess.run([*map(str, command)], cwd=cwd, env=env, **streams)
    assert result.returncode == 0 or not check, result.stdout + result.stderr
    return result


def copy(names, folder):
    """Copy files and folders of the checkout: a `build/` there would add what was there once."""
    for name in names.split():
        if (ROOT / name).is_dir():
            ignore = shutil.ignore_patterns("__pycache__", ".*")
            shutil.copytree(ROOT / name, folder / name, ignore=ignore)
        else:
            shutil.copy(ROOT / name, folder / name)


@pytest.fixture(scope="session")
def checkout(tmp_path_factory):
    folder = tmp_path_factory.mktemp("home") / "minifp"
    folder.mkdir()
    copy(SOURCES, folder)
    return folder


@pytest.fixture(scope="session")
def sdist(checkout, tmp_path_factory):
    folder = tmp_path_factory.mktemp("sdist")
    build = f"from setuptools.build_meta import build_sdist; build_sdist({str(folder)!r})"
    run(sys.executable, "-W", "ignore", "-c", build, cwd=checkout)
    (built,) = folder.glob("*.tar.gz")
    return built


@pytest.fixture(scope="session")
def wheel(sdist, tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    command = "pip wheel --quiet --no-deps --no-index --no-build-isolation"
    run(sys.executable, "-m", *command.split(), sdist, cwd=folder)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="session")
def metadata(wheel):
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        return HeaderParser().parsestr(archive.read(name).decode())


def requirements(texts, extra=""):
    parsed = [Requirement(text) for text in texts or ()]
    return [r for r in parsed if r.marker is None or r.marker.evaluate({"extra": extra})]


def with_all_they_need(names):
    found, todo = {}, list(names)
    while todo:
        if (name := todo.pop()) not in found:
            found[name] = distribution(name)
            todo += [r.name for r in requirements(found[name].requires)]
    return found.values()


@pytest.fixture(scope="session")
def new_environment(tmp_path_factory):
    def make(*names):
        folder = tmp_path_factory.mktemp("environment")
        venv.create(folder, symlinks=os.name != "nt")
        python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
        where = "import sysconfig; print(sysconfig.get_path('purelib'))"
        packages = Path(run(python, "-c", where, cwd=folder).stdout.strip())
        for lent in with_all_they_need(names):
            for top in {file.parts[0] for file in lent.files} - {"..", "__pycache__"}:
                lend(Path(lent.locate_file(top)), packages / top)
        return python

    return make


def install(interpreter, *what):
    pip = [sys.executable, "-m", "pip", "--quiet", "--python", interpreter]
    options = ("--no-deps", "--no-index", "--no-build-isolation")
    run(*pip, "install", *options, *what, cwd=interpreter.parent)
    return interpreter


def lend(source, target):
    try:
        target.symlink_to(source, target_is_directory=source.is_dir())
    except FileExistsError:
        pass
    except OSError:
        (shutil.copytree if source.is_dir() else shutil.copy)(source, target)


@pytest.fixture(scope="session")
def needed(metadata):
    return [r.name for r in requirements(metadata.get_all("Requires-Dist"))]


@pytest.fixture(scope="session")
def full(new_environment, wheel, needed):
    return install(new_environment(*needed), wheel)


@pytest.fixture(scope="session")
def bare(new_environment, wheel):
    return install(new_environment("numpy", "tqdm", "jsonschema", "markupsafe"), wheel)


@pytest.fixture(scope="session")
def without(new_environment):
    return new_environment("numpy", "numba", "pytest", "pytest-xdist")


@pytest.fixture(scope="session")
def in_place(new_environment, checkout, wheel, needed):
    """An environment in which the checkout is installed in place, after the wheel was built."""
    return install(new_environment("setuptools", *needed), "--editable", checkout)


def python(interpreter, code, cwd):
    warnings = ("-W", "error", "-W", "ignore:minifp runs on its NumPy references:RuntimeWarning")
    return run(interpreter, "-I", *warnings, "-c", textwrap.dedent(code), cwd=cwd).stdout


def test_the_wheel_holds_every_file_of_the_package_and_no_other(wheel):
    ours = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "minifp").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and not path.name.startswith(".")
    }
    ours |= {f"minifp/models/{path.name}" for path in (ROOT / "models").glob("[!_]*.py")}
    ours |= {f"minifp/exhibits/{path.name}" for path in (ROOT / "exhibits").glob("*.[np]*")}
    ours |= {f"minifp/teach/notebooks/{path.name}" for path in (*NOTEBOOKS, Path("glossary.md"))}
    ours |= {f"minifp/teach/notebooks/source/{path.stem}.py" for path in NOTEBOOKS}
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
        (name,) = (n for n in archive.namelist() if n.endswith("/LICENSE") and "dist-info" in n)
        assert archive.read(name).decode().startswith("MIT License")
    assert held == ours


def test_the_sources_have_the_papers_too(sdist):
    papers = {f"docs/{path.name}" for path in (ROOT / "docs").iterdir()}
    papers |= {"README.md", "CHANGELOG.md", "CITATION.cff"}
    with tarfile.open(sdist) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    assert papers <= held


def test_installing_upgrades_no_working_numpy_and_caps_nothing(metadata):
    needed = {r.name: r.specifier for r in requirements(metadata.get_all("Requires-Dist"))}
    assert needed.keys() == {
        *("numpy", "numba", "llvmlite", "tqdm", "click", "pooch", "platformdirs", "safetensors"),
        *("threadpoolctl", "loky", "jsonschema", "markupsafe", "psutil"),
    }
    assert all(needed["numpy"].contains(version) for version in ("1.26.0", "2.0.0", "2.4.0"))
    assert all(s.operator == ">=" for specifier in needed.values() for s in specifier)
    changes = (ROOT / "CHANGELOG.md").read_text("utf-8").splitlines()
    newest = next(line for line in changes if line[:3] == "## ")
    assert newest.split()[1] == metadata["Version"]


EXTRAS = """cuda12 cuda13 cudnn12 cudnn13 cudnn-frontend cuda-test cluster plot images tensorboard
translation test parity bench dev lessons site sound"""


def test_the_extras_are_there(metadata):
    extras = set(metadata.get_all("Provides-Extra"))
    assert extras == {*EXTRAS.split()}
    texts = metadata.get_all("Requires-Dist")
    named = {e: {r.name for r in requirements(texts, e)} for e in extras}
    assert named["dev"] >= named["test"] | named["parity"] | named["plot"]
    assert named["bench"] >= named["parity"] | named["plot"]
    assert "matplotlib" in named["plot"] and "torch" in named["parity"]
    for major, header in ((12, "nvcc"), (13, "crt")):
        cupy, kit = (r for r in requirements(texts, f"cuda{major}") if r not in requirements(texts))
        assert (cupy.name, cupy.extras) == (f"cupy-cuda{major}x", {"ctk"})  # its headers
        assert (kit.extras, str(kit.specifier)) == ({header}, f"=={major}.*")  # crt/mma.h
        cudnn = {f"nvidia-cudnn-cu{major}", "nvidia-cudnn-frontend"}
        assert sys.platform == "darwin" or named[f"cudnn{major}"] >= cudnn


WHERE = """
    import sys
    import minifp
    from minifp import models
    lenet = sys.modules[models.LeNet.__module__]
    print(lenet.__name__, lenet.__file__, "models" in sys.modules, minifp.models.__name__, sep="|")
"""


def imported(interpreter, cwd):
    """The file of LeNet as a program that is started in a folder sees it; and that it is one."""
    script = ("-W", "ignore", "-c", textwrap.dedent(WHERE))
    name, file, *others = run(interpreter, *script, cwd=cwd).stdout.strip().split("|")
    assert (name, others) == ("minifp.models.lenet", ["False", "minifp.models"])
    return Path(file).resolve()


def test_a_checkout_installed_in_place_is_imported_from_anywhere(in_place, checkout, tmp_path):
    for folder in (checkout.parent, checkout, tmp_path):
        assert imported(in_place, folder) == (checkout / "models" / "lenet.py").resolve()
    said = run(in_place, "-m", "minifp", "doctor", cwd=checkout.parent).stdout
    assert str(checkout / "minifp") in said
    command = in_place.with_name("minifp" + in_place.suffix)
    assert run(command, "--version", cwd=checkout.parent).stdout


@pytest.mark.parametrize("name", ["minifp", "another-name"])
def test_a_checkout_not_installed_is_imported_in_it(name, without, bare, checkout, tmp_path):
    """And a wheel beside one."""
    folder = tmp_path / name
    shutil.copytree(checkout, folder)
    assert imported(without, folder) == (folder / "models" / "lenet.py").resolve()
    done = run(without, "-W", "ignore", "-m", "minifp", cwd=folder, check=False)
    assert "pip install click" in done.stderr
    assert imported(bare, checkout.parent).is_relative_to(bare.parents[1].resolve())


CUPY = """
from types import SimpleNamespace
__version__ = "14.2.0"
class CUDARuntimeError(RuntimeError): pass
class RawModule:
    def __init__(self, **about): raise CUDARuntimeError("the first device call")
cuda = SimpleNamespace(runtime=SimpleNamespace(
    CUDARuntimeError=CUDARuntimeError, getDeviceCount=lambda: 1, deviceSynchronize=lambda: None))
"""


@pytest.mark.skipif(not shutil.which("timeout"), reason="make gpu is for Linux")
def test_make_gpu_in_a_bare_clone_comes_as_far_as_the_device(without, checkout, tmp_path):
    folder = tmp_path / "clone"
    shutil.copytree(checkout, folder)
    copy("Makefile scripts tests", folder)
    (packages,) = without.parents[1].glob("lib/python3*/site-packages")
    (packages / "cupy.py").write_text(CUPY, "utf-8")
    settings = (f"PYTHON={without}", "GPU_TESTS=tests/cuda/test_shown.py", "GPU_OUT=out")
    done = run("make", "gpu", *settings, cwd=folder, check=False)
    said = done.stdout + done.stderr
    assert done.returncode and "ModuleNotFoundError" not in said and "out of time" not in said
    reached = "cannot compile a kernel (the first device call)"
    with tarfile.open(folder / "out" / "gpu.tgz") as archive:
        for name in ("smoke.txt", "tests.xml", "bench/bench.md"):
            assert reached in archive.extractfile(f"./{name}").read().decode(), name


def test_models_of_the_users_own_are_imported_beside_a_checkout(in_place, checkout, tmp_path):
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "mine.py").write_text("x = 3\n", "utf-8")
    code = "from models.mine import x; import minifp.models; print(x)"
    assert run(in_place, "-W", "ignore", "-c", code, cwd=tmp_path).stdout == "3\n"
    for folder in (checkout, checkout.parent):
        done = run(in_place, "-c", "import models", cwd=folder, check=False)
        assert "minifp.models" in done.stderr.rpartition("ImportError")[2]


TRAIN = """
    import minifp as fp
    from minifp import optim
    from minifp.models import MLP
    import minifp.nn.functional as F

    print(fp.__file__)
    fp.manual_seed(0)
    train, test = fp.data.digits()
    text, _ = fp.data.shakespeare()
    assert (len(train) + len(test), len(text.vocabulary)) == (1797, 65)
    with fp.precision("mixed"):
        model = MLP(64, 32, 10)
        optimizer = fp.MixedOptimizer(optim.Adam(model.parameters(), lr=0.01))
        for x, t in fp.data.DataLoader(train, batch_size=64, shuffle=True):
            loss = F.cross_entropy(model(x), t)
            optimizer.minimize(loss)
            print(loss.item())
"""


@pytest.mark.parametrize("environment", ["full", "bare"])
def test_a_model_learns_the_digits_away_from_the_checkout(environment, request, tmp_path):
    interpreter = request.getfixturevalue(environment)
    where, *losses = python(interpreter, TRAIN, tmp_path).split("\n")[:-1]
    assert Path(where).is_relative_to(interpreter.parents[1])
    assert float(losses[-1]) < 0.7 * float(losses[0])


def test_the_command_is_installed_and_copies_the_lessons(full, tmp_path):
    command = full.with_name("minifp" + full.suffix)
    assert run(command, "--version", cwd=tmp_path).stdout.split()[-1]
    for name in ("compare", "demo", "doctor"):
        assert name in run(command, "--help", cwd=tmp_path).stdout
    said = run(command, "teach", "lessons", "--out", "lessons", cwd=tmp_path).stdout
    copies = {path.name: path.read_bytes() for path in (tmp_path / "lessons").iterdir()}
    assert copies and all(name in said for name in {*copies} - {"glossary.md"})
    paths = (*NOTEBOOKS, ROOT / "docs" / "teaching" / "glossary.md")
    assert copies == {p.name: glossary.beside(p.read_text("utf-8")).encode() for p in paths}


def test_precisions_are_compared_with_four_libraries_alone(bare, tmp_path):
    code = """
        import minifp as fp
        result = fp.compare("mlp", ["float32", "mixed"], seeds=2, steps=5, out="runs")
        print(result.table())
    """
    table = python(bare, code, tmp_path)
    assert "float32" in table and "mixed" in table
    assert {"results.json", "history.csv"} <= {path.name for path in (tmp_path / "runs").iterdir()}


MISSING = {
    "matplotlib": "fp.compare('mlp', ['float32'], seeds=1, steps=2).figures('pictures')",
    "pooch": "fp.data.mnist()",
}


@pytest.mark.parametrize("library", [*MISSING, "click"])
def test_what_is_missing_is_named_with_the_line_that_installs_it(library, bare, tmp_path):
    code = f"import minifp as fp; {MISSING.get(library)}"
    command = ("-m", "minifp", "demo") if library == "click" else ("-c", code)
    result = run(bare, "-I", *command, cwd=tmp_path, check=False)
    message = result.stderr.strip().rpartition("\n")[2]
    assert result.returncode != 0
    assert library in message and "pip install" in message
    assert library != "click" or result.stderr.count("\n") == 1
