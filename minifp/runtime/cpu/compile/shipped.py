"""Kernels that were lowered before: LLVM's text, beside the file that has their source.

scripts/write_kernels.py wrote them, for the types that training calls them with. Of them LLVM
alone makes code for this CPU, in a tenth of the time that numba takes, and numba is not imported.
A file of kernels that has changed since is no longer what they were made of: numba compiles it.
"""

import json
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

from llvmlite import binding

from minifp.runtime.callers import warn_once
from minifp.runtime.cpu.compile import machine
from minifp.runtime.cpu.compile.kernel_cache import ROOT, digest_of

INDEX = "index.json"
ENTRY = "minifp_entry"  # the function that Python calls in each


def variant() -> str:
    """What in the text depends on the CPU: how wide its vectors are, and whether it has halves."""
    if machine.IS_ARM:
        return "neon"
    if not (machine.has_feature("avx2") and machine.has_feature("fma") and machine.IN_HARDWARE):
        return "none"
    return "avx512" if machine.has_feature("avx512f") else "avx2"


def archive(path: str) -> Path:
    """Where the kernels of a source file are."""
    return Path(path).with_suffix(".kernels.zip")


@cache
def index(path: str) -> dict[str, Any]:
    """{kernel: {types: {variant: [member, symbols it calls]}}} of a source file.

    {} where there is none, or it is of other sources, or of a newer LLVM than this one.
    """
    file = archive(path)
    if not Path(path).is_relative_to(ROOT) or not file.is_file():
        return {}
    try:
        with zipfile.ZipFile(file) as members:
            content = json.loads(members.read(INDEX))
    except MemoryError:
        raise
    except Exception as error:  # reading what is damaged raises anything
        warn_unusable(file, error)
        return {}
    fits = content["sources"] == digest_of(path) and content["llvm"] <= binding.llvm_version_info[0]
    return content["kernels"] if fits else {}


def address(path: str, name: str, types: str, symbol: str, natives: dict[str, Any]) -> int | None:
    """Where a function of a kernel's module is, now loaded; None if it was not lowered before.

    natives: the functions of C that kernels call, by symbol.
    """
    place = index(path).get(name, {}).get(types, {}).get(variant())
    if place is None:
        return None
    member, symbols = place
    try:
        title = name.rpartition(".")[2]
        code = machine.kept_code(member, lambda: lowered(path, member), title)
        called = {native: natives[native].address for native in symbols}
        return machine.loaded(code, [symbol], called)[symbol]
    except MemoryError:
        raise
    except Exception as error:  # of a damaged file; of LLVM, which does not say which
        warn_unusable(archive(path), error)
        return None


def lowered(path: str, member: str) -> str:
    """The text of a kernel, for this machine."""
    with zipfile.ZipFile(archive(path)) as members:
        text = members.read(member).decode()
    layout = machine.machine().target_data
    return f'target datalayout = "{layout}"\ntarget triple = "{machine.TRIPLE}"\n{text}'


def warn_unusable(file: Path, error: Exception) -> None:
    """Warn, once, that numba compiles what should have been lowered already."""
    warn_once(
        "lowered kernels",
        f"kernels in {file} cannot be used ({type(error).__name__}: {error}), so numba compiles "
        "them, which takes longer: install minifp anew",
        category=RuntimeWarning,
    )
