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

from minifp.runtime.cpu import formats_ir, machine
from minifp.runtime.cpu.kernel_cache import ROOT, digest_of

INDEX = "index.json"
ENTRY = "minifp_entry"  # the function that Python calls in each


def variant() -> str:
    """What in the text depends on the CPU: how wide its vectors are, and whether it has halves."""
    if formats_ir.IS_ARM:
        return "neon"
    wide = "avx512" if machine.has_feature("avx512f") else "avx2"
    return wide if formats_ir.IN_HARDWARE and machine.has_feature("fma") else "none"


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
            found = json.loads(members.read(INDEX))
    except (OSError, zipfile.BadZipFile, KeyError, ValueError):
        return {}
    fits = found["sources"] == digest_of(path) and found["llvm"] <= binding.llvm_version_info[0]
    return found["kernels"] if fits else {}


def lowered(path: str, member: str) -> str:
    """The text of a kernel, for this machine."""
    with zipfile.ZipFile(archive(path)) as members:
        text = members.read(member).decode()
    layout = machine.machine().target_data
    return f'target datalayout = "{layout}"\ntarget triple = "{machine.TRIPLE}"\n{text}'


def code_of(path: str, member: str, title: str) -> bytes:
    """The object code of a kernel: from its file, or made now."""
    return machine.kept_code(member, lambda: lowered(path, member), title)
