"""The shape of the code: which room may know which, and what a room must never contain."""

import ast
import importlib
import inspect
import os
import re
import subprocess
import sys
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TAPE = ROOT / "minifp" / "autograd" / "tape.py"

# Each room, the rooms that it may import (what those may import, it may import too), and what it
# must never contain. A new file or folder directly under minifp/ needs its line here: decide where
# it stands. "minifp" itself has the public names of all, so only what nothing else imports may
# import it. "words" are errors.py, typing.py and checks.py, which all rooms may use. Each number is
# the most lines of code that a room may have (scripts/count_code.py). It only falls: who adds code
# takes as much away, there or from another room with its number, so that MOST holds.
ROOMS = {
    "words": ("", 79),  # no array and no device
    "derive": ("words", 1_582),  # no array, no machine: what references compute, as graph and text
    "runtime": ("derive", 8_077),  # no format's rule, no tensor: machines and the process only
    "numerics": ("runtime", 3_415),  # no tensor: arrays, formats and the rules of both
    "autograd": ("numerics", 2_158),  # no formula of an operation
    "ops": ("autograd", 14_562),  # no state between calls, no cast, and no library but NumPy
    "nn": ("ops", 4_421),  # no loss scale, no update rule
    "optim": ("nn", 2_630),  # no loss scale: gradients come unscaled, or with the factor to use
    "data": ("ops", 4_363),  # no model
    "training": ("optim", 1_768),  # no data set and no file: one step of whatever model
    "saving": ("training data", 1_773),  # no format of its own where a library has one
    "models": ("nn", 1_789),  # nothing but layers
    "report": ("saving", 2_019),  # no comparison, no microscope: what their pages are made of
    "lab": ("models report", 10_584),  # nothing that needs the microscope
    "exhibits": ("lab minifp", 804),  # nothing but public names: nothing imports it
    "scope": ("lab", 6_517),  # nothing that changes what it looks at
    "teach": ("scope", 4_692),  # no answer of an exercise
    "compat": ("models saving", 3_978),  # thin: other systems' names for what is here
    "run": ("compat scope shell", 450),  # PyTorch's scripts as they are: nothing imports it
    "shell": ("teach minifp", 1_847),  # the command line: no work of its own; nothing imports it
    "minifp": ("compat scope", 153),
}
MOST, MOST_SHOWING = 77_661, 25_659  # lines of code of all rooms; of those that show results
PARTICIPLES = {"autograd": 13, "derive": 10, "exhibits": 3, "lab": 26, "models": 5, "nn": 65}
PARTICIPLES |= {"numerics": 2, "ops": 161, "optim": 44, "run": 9, "runtime": 92, "scope": 1}
SHOWING = ("lab", "scope", "report", "teach", "shell")
SLACK = 200  # of a room's lines below its number, before that must follow
FLOORS = {f"minifp.runtime.cpu.{name}": n for n, name in enumerate(("compile", "emit", "kernels"))}
WORDS = {"errors", "typing", "checks"}
SHELL = {"cli", "__main__"}  # and every folder of COMMANDS, which stands beside what they run
COMMANDS = "commands"
NICKNAMES = {"functional": "nn", "utils": "data"}  # other names of these rooms' things
# What may import random itself.
DRAW_NUMBERS = set("runtime ops nn optim data lab scope saving teach compat run".split())
DECIDE_FORMATS = {"minifp", "numerics", "runtime", "derive"}
NAME_PRECISIONS = {"lab", "scope", "report", "shell", "teach"}  # "float16" is the name of one
NAMED_AFTER_FORMATS = {("bfloat16", "module"), ("bfloat16", "methods")}  # methods that convert
UNTOLD = {"kernel", "update_rule", "overload"}  # whose module's docstring speaks for them
COMPILED = {"parallel", "compiled", "native", "pointwise"}  # each kernel by itself
MANY_ARGUMENTS = {"njit", "inline", "intrinsic", "command", *COMPILED}  # may have more than eight
VAGUE = {"forward", "backward", "gradient", "gradients", "losses", "total", "read", "put", "add"}
PUBLIC = "minifp minifp.nn minifp.nn.functional minifp.optim minifp.data minifp.models".split()


@cache
def modules():
    """The file of each module, by dotted name. Those in models/ are in minifp.models, and so on."""
    found = {}
    for folder, package, files in (
        (ROOT / "minifp", "minifp", "**/*.py"),
        (ROOT / "models", "minifp.models", "[!_]*.py"),
        (ROOT / "exhibits", "minifp.exhibits", "[!_]*.py"),
    ):
        for path in sorted(folder.glob(files)):
            dotted = ".".join([package, *path.relative_to(folder).with_suffix("").parts])
            found[dotted.removesuffix(".__init__")] = path
    return found


@cache
def tree(path):
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


@pytest.fixture(autouse=True, scope="module")
def trees_go():
    yield
    tree.cache_clear()


def room(module):
    """The room of a module: "ops" of minifp.ops.products.matmul."""
    first, *inner = module.removeprefix("minifp.").split(".")
    if first in SHELL or COMMANDS in inner:
        return "shell"
    return "words" if first in WORDS else NICKNAMES.get(first, first)


def targets(path, package):
    """(dotted name, line) of all that a file in this package imports, inside functions too."""
    for node in ast.walk(tree(path)):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) + 1 - node.level] if node.level else []
            source = ".".join([*above, node.module] if node.module else above)
            names = [f"{source}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            names = [a.value for a in node.args if isinstance(a, ast.Constant)]
        yield from ((name, node.lineno) for name in names)


@cache
def imports(module):
    """(imported module of minifp, line) for every import in a module."""
    path, parts = modules()[module], module.split(".")
    every = targets(path, parts if path.name == "__init__.py" else parts[:-1])
    known = [(t if t in modules() else t.rpartition(".")[0], line) for t, line in every]
    return [(t, line) for t, line in known if t.partition(".")[0] == "minifp"]


def names_of(module):
    """{name: object} of all that a module has, also of what it imports when it is asked for."""
    found = importlib.import_module(module)
    return {name: getattr(found, name) for name in {*vars(found), *dir(found)}}


def words(path):
    """(name, attribute or text; line) of a file, without its comments and docstrings."""
    documented = ast.Module, ast.ClassDef, ast.FunctionDef
    docstrings = {
        node.body[0].value
        for node in ast.walk(tree(path))
        if isinstance(node, documented) and ast.get_docstring(node) is not None
    }
    for node in ast.walk(tree(path)):
        if node not in docstrings:
            for field in ("id", "attr", "arg", "name", "asname", "module", "value"):
                if isinstance(word := getattr(node, field, None), str):
                    yield word, getattr(node, "lineno", 0)


def place(path, line, what=""):
    return f"{path.relative_to(ROOT)}:{line} {what}"


def crossing(is_wrong):
    """The imports of which is_wrong(the module, what it imports) holds."""
    return [place(path, line, f"imports {target}") for module, path in modules().items()
            for target, line in imports(module) if is_wrong(module, target)]  # fmt: skip


def spelled(paths, is_wrong):
    """The words in files of which is_wrong(word, file) holds."""
    return [place(path, line, word) for path in paths for word, line in words(path)
            if is_wrong(word, path)]  # fmt: skip


def circle(graph):
    """The names in a circle of {name: names}, if there is one."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return " is imported by ".join(error.args[1])


def below(name, seen=()):
    direct = set(ROOMS[name][0].split()) - {*seen}
    return direct.union(*(below(other, (*seen, *direct, name)) for other in direct))


def test_every_room_has_its_place_in_the_import_order():
    missing = {room(module) for module in modules()} - {*ROOMS}
    assert not missing, f"decide which rooms these may import, in ROOMS: {missing}"


def test_imports_only_go_down():
    def is_up(module, target):
        floors = [FLOORS.get(m.rpartition(".")[0]) for m in (module, target)]
        if None not in floors and floors[0] < floors[1]:
            return True
        return module != "minifp" and room(target) not in {room(module), *below(room(module))}

    assert crossing(is_up) == []


def test_exhibits_use_public_names_alone():
    """As anybody's program would: what packages say is public, and each other."""
    places = [*PUBLIC, "minifp.lab", "minifp.lab.schedules", "minifp.data.transforms"]
    public = {f"{m}.{name}" for m in places for name in importlib.import_module(m).__all__}
    programs, private = [*(ROOT / "exhibits").glob("*.py")], []
    for path in programs:
        used = [t for t, _ in targets(path, []) if t.startswith("minifp") and room(t) != "exhibits"]
        parts = re.findall(r"\b(data|nn|optim)\.(\w+)", path.read_text(encoding="utf-8"))
        used += [f"minifp.{package}.{name}" for package, name in parts]
        private += [place(path, 1, f"uses {t}") for t in {*used} - public]
    assert len(programs) > 8 and not private


def test_only_rooms_that_draw_numbers_import_random():
    may = {"minifp", *DRAW_NUMBERS}
    assert not crossing(lambda m, t: t == "minifp.runtime.random" and room(m) not in may)


def test_the_microscope_takes_from_the_laboratory_only_what_measures_memory():
    """But for `inspecting`, which trains one of its tasks, or goes on from one's checkpoint."""
    measures = {"minifp.lab.memory"}
    trains = {f"minifp.lab.{name}" for name in ("resume", "run", "settings", "task", "tasks")}

    def is_more(module, target):
        may = measures | trains if module == "minifp.scope.inspecting" else measures
        return (room(module), room(target)) == ("scope", "lab") and target not in may

    assert crossing(is_more) == []


def test_no_module_imports_itself_in_a_circle():
    assert not circle({m: {t for t, _ in imports(m) if t != m} for m in modules()})


@pytest.mark.parametrize("device, other", [("cpu", "cuda"), ("cuda", "cpu")])
def test_the_rooms_of_the_devices_know_nothing_of_each_other(device, other):
    """Nor does anything that they import: what joins the two is in numerics/dispatch.py."""
    ways = {m: [m] for m in modules() if m.startswith(f"minifp.runtime.{device}")}
    waiting = [*ways]
    for module in waiting:
        for target, _ in imports(module):
            if target not in ways and target != "minifp":
                ways[target] = [*ways[module], target]
                waiting.append(target)
    wrong = [way for m, way in ways.items() if m.startswith(f"minifp.runtime.{other}")]
    assert len(ways) > 10 and not wrong, "\n".join(" imports ".join(way) for way in wrong)


def test_the_tape_is_at_most_150_statements():
    """Statements and not lines, so that nothing is won by putting two on one."""
    statements = [n for n in ast.walk(tree(TAPE)) if isinstance(n, ast.stmt)]
    texts = [s for s in statements if isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant)]
    assert len(statements) - len(texts) <= 150


def test_the_tape_knows_no_format_device_or_scale():
    strangers = "float16|float32|float64|cuda|cupy|cpu|scale"
    assert spelled([TAPE], lambda word, _: re.search(strangers, word.lower())) == []


def test_operations_spell_no_cast_no_format_and_no_library_but_numpy():
    others, convert = ("astype", "cupy", "numba"), ("methods", "protocols")  # to, __array__
    paths = sorted((ROOT / "minifp" / "ops").rglob("*.py"))
    plain = [p for p in paths if not p.stem.endswith("_numba") and p.stem not in convert]
    assert not spelled(plain, lambda w, _: w.partition(".")[0] in others or "float16" in w)


def test_float16_is_spelled_only_where_formats_are_decided():
    may = DECIDE_FORMATS | NAME_PRECISIONS
    paths = [p for m, p in modules().items() if room(m) not in may and p.stem[-6:] != "_numba"]
    assert not spelled(
        paths, lambda w, path: "float16" in w and (w, path.stem) not in NAMED_AFTER_FORMATS
    )


def test_every_module_function_and_class_says_what_it_is_for():
    silent = []
    for module, path in modules().items():
        silent += [module] * (ast.get_docstring(tree(path)) is None)
        if room(module) == "ops" or path.stem.endswith("_numba"):
            continue  # families of kernels, and the operations made of them
        for node in tree(path).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is None:
                if not (node.name.startswith("_") or marks(node) & UNTOLD):
                    silent.append(place(path, node.lineno, node.name))
    assert not silent, "\n".join(silent)


def test_a_compiled_kernel_is_called_what_it_computes():
    """By its name alone the line that says what is compiled tells it from others."""
    names: dict = {}
    for path in modules().values():
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.FunctionDef) and marks(node) & COMPILED:
                names.setdefault(node.name, []).append(place(path, node.lineno, node.name))
    shared = [" and ".join(places) for places in names.values() if len(places) > 1]
    vague = [place for name in VAGUE & {*names} for place in names[name]]
    assert len(names) > 50 and not shared + vague, "\n".join(shared + vague)


def test_every_compiled_kernel_is_found_by_a_reference_or_called():
    """A name that no reference has is a misspelt one: its reference would run as NumPy, unseen."""
    pytest.importorskip("numba")
    importlib.import_module("minifp")
    from minifp.numerics.kernels import KERNELS

    found = {(k.reference.__module__, k.reference.__name__) for k in KERNELS}
    texts = [p.read_text(encoding="utf-8") for m, p in modules().items() if "_numba" in m]
    texts += [p.read_text(encoding="utf-8") for m, p in modules().items() if "_cuda" in m]
    lonely = []
    for module in [m for m in modules() if m.endswith("_numba")]:
        stem = module.removesuffix("_numba")
        references = vars(importlib.import_module(stem)) if stem in modules() else {}
        for name, kernel in vars(importlib.import_module(module)).items():
            is_own = getattr(kernel, "__module__", "") == module and not isinstance(kernel, type)
            is_found = name in references or (stem, name) in found
            if is_own and getattr(kernel, "is_compiled_kernel", False) and not is_found:
                uses = sum(len(re.findall(rf"\b{name}\b", text)) for text in texts)
                lonely += [f"{module}.{name}"] * (uses < 2)
    assert not lonely, f"no reference has the name, and nothing calls: {lonely}"


def test_no_function_takes_more_than_eight_arguments_by_their_places():
    """A small structure, or their names, say which is which. Not of code that is compiled, which
    knows neither, of commands, whose arguments have names, and of what is public, as in PyTorch."""
    public, wrong = {name for module in PUBLIC for name in names_of(module)}, []
    for module, path in modules().items():
        for node in ast.walk(tree(path)):
            if not isinstance(node, ast.FunctionDef) or node.name in public:
                continue
            is_constructor = node.name == "__init__" and room(module) in ("nn", "optim")
            is_method = [a.arg for a in node.args.args[:1]] in (["self"], ["cls"])
            if len(node.args.posonlyargs + node.args.args) > 8 + is_method:
                if not marks(node) & MANY_ARGUMENTS and not is_constructor:
                    wrong.append(place(path, node.lineno, node.name))
    assert not wrong, "\n".join(wrong)


def marks(definition):
    texts = map(ast.unparse, definition.decorator_list)
    return {text.partition("(")[0].rpartition(".")[2] for text in texts}


@pytest.mark.parametrize("module", PUBLIC)
def test_every_public_name_says_what_it_is_for(module):
    public = names_of(module).items()
    functions = {name: f for name, f in public if callable(f) and not name.startswith("_")}
    silent = [name for name, function in functions.items() if not inspect.getdoc(function)]
    assert functions and not silent


def test_no_name_of_a_package_hides_a_module_of_it():
    """Else `from minifp.ops import softmax` is the one or the other, by the order of imports."""
    hidden = []
    for package in (m for m, path in modules().items() if path.name == "__init__.py"):
        names = names_of(package)
        stems = {m.rpartition(".")[2] for m in modules() if m.rpartition(".")[0] == package}
        hidden += [f"{package}.{n}" for n in stems if n in names and not inspect.ismodule(names[n])]
    assert not hidden


def test_families_of_operations_export_nothing():
    """What is public of them is in minifp.ops, which scripts/write_listings.py writes."""
    families = [p for m, p in modules().items() if m.count(".") == 2 and p.name == "__init__.py"]
    of_ops = [p for p in families if p.parents[1].name == "ops"]
    assert of_ops
    assert not [place(path, 1) for path in of_ops if len(tree(path).body) > 1]


def run_in_checkout(code, *flags):
    command = [sys.executable, "-W", "error", *flags, "-c", code]
    return subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8")


def test_import_loads_no_library_that_is_needed_later_and_so_compiles_nothing():
    late = ["numba", "llvmlite", "cupy", "matplotlib", "click", "pooch", "IPython", "minifp.cli"]
    result = run_in_checkout(f"import sys, minifp; print(*({{*{late}}} & {{*sys.modules}}))")
    assert (result.stdout.strip(), result.stderr) == ("", "")


def test_import_and_training_load_neither_the_laboratory_nor_the_microscope():
    """They are imported when they are first asked for, and stay: the names are as any others."""
    code = """
import sys, pickle
import minifp as fp

def loaded():
    return {f"minifp.{n}" for n in ("lab.comparison", "scope.microscope")} & {*sys.modules}

assert not loaded() and {"Task", "lab"} <= {*dir(fp)}
model = fp.nn.Linear(3, 2)
optimizer = fp.MixedOptimizer(fp.optim.SGD(model.parameters(), lr=0.1))
optimizer.backward(model(fp.ones(4, 3)).float().pow(2).mean())
assert not optimizer.step().skipped and not hasattr(fp, "comparr") and not loaded()
assert fp.Metric is vars(fp)["Metric"] and not loaded()
from minifp import compare
assert loaded() == {"minifp.lab.comparison"} and compare is vars(fp)["compare"] is fp.lab.compare
assert fp.microscope and len(loaded()) == 2
assert pickle.loads(pickle.dumps(fp.Comparison)) is fp.Comparison
"""
    assert run_in_checkout(code).stderr == ""


@pytest.mark.parametrize("package", ["lab", "data", "models", "utils.data"])
def test_a_package_has_what_it_imports_late_as_any_name(package):
    """Each of them, in `dir` and with a star, before anything else has asked for it."""
    code = """
import minifp.lab as lab
names = lab.__all__
assert {*names} <= {*dir(lab)} and not {*names} & {*vars(lab)}
from minifp.lab import *
assert all(globals()[name] is vars(lab)[name] for name in names)
assert not hasattr(lab, "comparr")
"""
    code = code.replace("minifp.lab", f"minifp.{package}")
    assert run_in_checkout(code).stderr == ""


def test_models_are_imported_as_minifp_models_only():
    result = run_in_checkout("import models", "-S")  # no other checkout that is installed
    assert "ImportError" in result.stderr and "minifp.models" in result.stderr


@pytest.mark.skipif(os.name == "nt", reason="Windows has no executable bit")
def test_the_ci_command_can_be_run():
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
