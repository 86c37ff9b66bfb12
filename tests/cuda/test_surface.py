"""What the imitation has CuPy has too, wherever CuPy is installed; that takes no GPU."""

import importlib
import sys
from importlib.util import find_spec
from inspect import isclass, isfunction, signature

import pytest

OWN = {"late", "CapturedRead", "Flags", "MemoryPointer", "Stream.pointer", "MemoryPool.free"}


def missing(real, imitated, where=""):
    """Public names of classes and modules of the imitation that the real ones have not."""
    for name, value in vars(imitated).items():
        is_own = isclass(imitated) or value.__class__.__name__ == "module" or isdefined(value)
        if name.startswith("_") or where + name in OWN or not is_own:
            continue
        if not hasattr(real, name):
            yield where + name
        elif isclass(value) and isdefined(value):
            yield from missing(getattr(real, name), value, f"{name}.")


def isdefined(value):
    """Whether it is a function or a class of the imitation's."""
    return (isfunction(value) or isclass(value)) and value.__module__ == "cupy"


@pytest.fixture
def both(monkeypatch):
    monkeypatch.delitem(sys.modules, "cupy", raising=False)
    if find_spec("cupy") is None:
        pytest.skip("CuPy is not installed")
    return importlib.import_module("cupy"), importlib.import_module("fake_cupy")


def test_the_imitation_has_nothing_that_cupy_has_not(both):
    cupy, fake = both
    functions = {name: v for name, v in vars(fake).items() if isdefined(v)}
    of_cuda = {*vars(fake.cuda), *vars(fake.cuda.memory), *vars(fake.cuda.runtime)}
    top = type("Top", (), {n: v for n, v in functions.items() if n not in of_cuda})
    found = [*missing(cupy, top), *missing(cupy.cuda, fake.cuda)]
    for name in ("memory", "runtime"):
        found += missing(getattr(cupy.cuda, name), getattr(fake.cuda, name))
    assert not found


def test_numpys_functions_have_the_parameters_that_cupy_gives_them(both):
    cupy, fake = both
    for name, parameters in fake.PARAMETERS.items():
        owner, own = (cupy.ndarray, name[1:]) if name[0] == "." else (cupy, name)
        function = getattr(owner, own)
        if isfunction(function):
            assert {*parameters} <= {*signature(function).parameters}, name
    assert not [ufunc for ufunc in fake.NO_UFUNCS if hasattr(cupy, ufunc.__name__)]
