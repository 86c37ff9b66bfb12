"""Write what lists the operations by name, from what each declares where it is defined (`public`):
python scripts/write_listings.py

It writes between two marks in each of the files of FILES, and, by write_tensor_stub.py, the stub of
Tensor. tests/project/test_public_names.py holds the files to it.
"""

import argparse
import pkgutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from textwrap import wrap
from types import ModuleType

ROOT = Path(__file__).resolve().parents[1]
BEGIN = "# ---- written by scripts/write_listings.py: do not edit ----\n"
END = "# ---- written until here ----\n"


def without_init(*packages: str) -> None:
    """Put packages in place of these of minifp in which nothing is imported: what is written in
    them may be out of date, and must not keep the operations from being imported."""
    for name in packages:
        package = sys.modules[name] = ModuleType(name)
        package.__path__ = [str(ROOT.joinpath(*name.split(".")))]


ATTACHING = ".methods", ".protocols", ".in_place", ".numpy_functions"  # what declares nothing


def declarations() -> list:
    """What all operations declare, by module and name; imports every file of minifp/ops."""
    public = import_module("minifp.ops.public")
    for module in pkgutil.walk_packages([str(ROOT / "minifp" / "ops")], "minifp.ops."):
        if not module.name.endswith(("_numba", "_cuda", *ATTACHING)):
            import_module(module.name)
    return sorted(public.DECLARED, key=lambda d: (d.function.__module__, d.names))


# ---- text ---------------------------------------------------------------------------------------


def statements(before: str, words: list[str], after: str = "") -> str:
    """As many statements of at most 100 columns as it takes to name all words, in their order."""
    joined = ", ".join(word.replace(" ", "\0") for word in words)  # "as" stays beside its names
    lines = wrap(joined, 100 - len(before) - len(after), break_long_words=False)
    return "".join(f"{before}{line.rstrip(',')}{after}\n" for line in lines).replace("\0", " ")


def import_of(module: str, names: list[str]) -> str:
    """The imports of names, each of which may be written "name as other"."""
    return statements(f"from {module} import ", names)


def all_of(names: list[str]) -> str:
    """What adds names to __all__, each statement for itself, as type checkers read it."""
    return statements("__all__ += [", [f'"{name}"' for name in sorted(names)], "]")


def by_kind(declared: list) -> dict[str, list[str]]:
    """Names by folder of minifp/ops, or by file for those that lie in none."""
    groups: dict[str, list[str]] = {}
    for d in declared:
        kind = d.function.__module__.split(".")[2]
        groups[kind] = sorted(groups.get(kind, []) + [*d.names])
    return groups


def imported(place: str, declared: list) -> tuple[str, list[str]]:
    """The imports of what is public in a place, from minifp.ops, and all names."""
    groups = by_kind([d for d in declared if place in d.where])
    lines = [f"# {kind}\n{import_of('minifp.ops', names)}\n" for kind, names in groups.items()]
    return "".join(lines), [name for names in groups.values() for name in names]


# ---- what is written, by file -------------------------------------------------------------------


def of_ops(declared: list) -> list[str]:
    """minifp/ops/__init__.py: everything that is public somewhere."""
    modules: dict[str, list[str]] = {}
    for d in declared:
        if d.where:
            own, *others = d.names
            names = [own, *(f"{own} as {other}" for other in others)]
            modules.setdefault(d.function.__module__, []).extend(names)
    return ["".join(import_of(module, names) for module, names in modules.items())]


def of_fp(declared: list) -> list[str]:
    """minifp/__init__.py: the imports, and what they add to __all__."""
    imports, names = imported("fp", declared)
    return [imports, all_of(names)]


def of_functional(declared: list) -> list[str]:
    """minifp/nn/functional.py."""
    imports, names = imported("F", declared)
    return [imports + all_of(names).replace("+=", "=", 1)]


def of_autocast(declared: list) -> list[str]:
    """minifp/numerics/autocast.py: the operations of each kind."""
    lines = ["OPERATIONS: dict[str, str] = {\n"]
    for kind in import_module("minifp.numerics.autocast").KINDS:
        names = sorted(d.names[0] for d in declared if d.autocast == kind)
        words = f'"{kind}": "{" ".join(names)}"'
        texts = wrap(words, 94, break_long_words=False, break_on_hyphens=False)
        lines.append("    {},\n".format(' "\n    "'.join(texts)))
    return ["".join([*lines, "}\n"])]


FILES = {
    "minifp/ops/__init__.py": of_ops,
    "minifp/__init__.py": of_fp,
    "minifp/nn/functional.py": of_functional,
    "minifp/numerics/autocast.py": of_autocast,
}


def replaced(text: str, listings: list[str]) -> str:
    """The text of a file with listings between its marks."""
    before, *marked = text.split(BEGIN)
    rests = [part.partition(END)[2] for part in marked]
    assert len(rests) == len(listings), f"expected {len(listings)} pairs of marks"
    pairs = zip(listings, rests)
    return before + "".join(f"{BEGIN}{listing}{END}{rest}" for listing, rest in pairs)


def texts() -> dict[Path, str]:
    """The text that each file should have."""
    declared = declarations()
    return {
        ROOT / file: replaced((ROOT / file).read_text(encoding="utf-8"), listings(declared))
        for file, listings in FILES.items()
    }


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    without_init("minifp", "minifp.ops")
    for path, text in texts().items():
        path.write_text(text, encoding="utf-8", newline="\n")
    stub = Path(__file__).with_name("write_tensor_stub.py")
    subprocess.run([sys.executable, str(stub)], check=True)
