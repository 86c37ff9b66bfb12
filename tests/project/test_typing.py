"""The types of the public interface: they are there, mypy understands them, they say something."""

import ast
import importlib
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from loading import script

import minifp as fp

ROOT = Path(__file__).resolve().parents[2]
TYPED = ROOT / "tests" / "project" / "typed"

# Modules whose names are public: all of them, or only those that they define themselves.
GATHERING = (
    *("minifp", "minifp.nn", "minifp.nn.functional", "minifp.nn.utils", "minifp.models"),
    *("minifp.optim", "minifp.optim.lr_scheduler", "minifp.data", "minifp.data.transforms"),
)
DEFINING = ("minifp.errors", "minifp.nn.init", "minifp.nn.utils.rnn")
# Imported, because that attaches methods to Tensor, or names to a package.
FOR_THEIR_EFFECT = {"in_place", "methods", "protocols", "numpy_functions", "in_notebooks", "late"}
FOR_THEIR_EFFECT |= {"unknown_names", "variables", "_refused"}
FOR_TYPES = {"TYPE_CHECKING"}
# Methods with an underscore that users call, by a name or by an operator.
CALLED = {"__init__", "__call__", "__len__", "__iter__", "__getitem__", "__setitem__"}


def public():
    found = {}
    for name in (*GATHERING, *DEFINING):
        module = importlib.import_module(name)
        for key in dict.fromkeys([*vars(module), *dir(module)]):  # `dir`: also what comes late
            value = getattr(module, key)
            home = getattr(value, "__module__", None) or ""
            wanted = home == name if name in DEFINING else home.startswith("minifp")
            if wanted and not key.startswith("_"):
                found.setdefault(id(value), (f"{name}.{key}", value))
    return found.values()


def functions_of(name, value):
    if not inspect.isclass(value):
        return [(name, value, False)] if inspect.isroutine(value) else []
    found = []
    for kind in value.__mro__:
        for key, method in vars(kind).items():
            operator = value is fp.Tensor and key.startswith("__")
            if kind.__module__.startswith("minifp") and (
                not key.startswith("_") or key in CALLED or operator
            ):
                bound = getattr(method, "__func__", method)  # of a classmethod
                parts = [bound.fget, bound.fset] if isinstance(bound, property) else [bound]
                found += [(f"{name}.{key}", f, True) for f in parts if inspect.isfunction(f)]
    return found


def unannotated(function, has_self):
    signature = inspect.signature(function)
    parameters = list(signature.parameters.values())[int(has_self) :]
    missing = [p.name for p in parameters if p.annotation is p.empty]
    return missing + ["its result"] * (signature.return_annotation is signature.empty)


def test_every_public_function_and_method_has_types_for_all_it_takes_and_gives():
    functions = [f for name, value in public() for f in functions_of(name, value)]
    missing = {name: unannotated(function, has_self) for name, function, has_self in functions}
    assert len(missing) > 700
    silent = [f"{name}: {', '.join(what)}" for name, what in missing.items() if what]
    assert not silent, "\n".join(silent)


@pytest.mark.parametrize("name", GATHERING)
def test_what_a_package_gathers_is_in_its_all(name):
    """To type checkers other imported names are its own business."""
    module = importlib.import_module(name)
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    imported = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    held = getattr(module, "__all__", [])
    assert sorted(imported - FOR_THEIR_EFFECT - FOR_TYPES) == sorted(held)


def test_the_stub_of_tensor_has_the_methods_that_tensor_has():
    writer = script("write_tensor_stub")
    same = writer.STUB.read_text(encoding="utf-8") == writer.stub()
    again = "run python scripts/write_tensor_stub.py"
    assert same, f"minifp/autograd/tape.pyi is not of this code: {again}"


def reported(folder):
    pytest.importorskip("mypy", reason="mypy is in the extra `test`: pip install 'minifp[test]'")
    options = "--config-file= --strict --follow-imports=silent --hide-error-context --no-pretty"
    command = [sys.executable, "-m", "mypy", *options.split(), f"--cache-dir={folder}"]
    files, env = sorted(map(str, TYPED.glob("*.py"))), {**os.environ, "MYPYPATH": str(ROOT)}
    streams = {"capture_output": True, "encoding": "utf-8"}
    done = subprocess.run([*command, *files], cwd=folder, env=env, **streams)
    assert not done.stderr, done.stderr
    found = {Path(file).name: {} for file in files}
    for line in done.stdout.splitlines():
        if match := re.match(r"(.*\.py):(\d+): error: (.*)", line):
            found[Path(match[1]).name][int(match[2])] = match[3]
    return found


@pytest.mark.nightly
def test_mypy_finds_every_planted_mistake_of_a_user_and_no_other(tmp_path):
    told = reported(tmp_path)
    assert told["user_program.py"] == {}
    lines = (TYPED / "mistakes.py").read_text(encoding="utf-8").splitlines()
    planted = {n: line for n, line in enumerate(lines, 1) if line.endswith("  # wrong")}
    found = told["mistakes.py"]
    unseen = [line for n, line in planted.items() if n not in found]
    unexpected = [f"{lines[n - 1]}: {found[n]}" for n in found if n not in planted]
    assert len(planted) > 50 and (unseen, unexpected) == ([], [])
