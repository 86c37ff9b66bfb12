"""Texts of CUDA C++ and what imitates its runtime, as libraries of the host's C++ compiler.

A library is kept in a folder for temporary files, under a hash of its text, its flags and shim.h.
"""

import ctypes
import getpass
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import pytest

HERE = Path(__file__).parent
KERNEL = re.compile(r'extern\s+"C"\s+__global__\s+void\s+(?:__launch_bounds__\([^)]*\)\s*)?(\w+)')
BOUND = re.compile(r"__launch_bounds__\(\s*(\w+)\s*\)\s*(\w+)")
UNBOUND = 256  # threads of a block that 65,536 registers do for, were it 255 of them for each
FLAGS = ("-std=c++17", "-O1", "-fPIC", "-shared", "-w", "-ffp-contract=off", "-fno-math-errno")


def compiler():
    """The C++ compiler's path. Skips where there is none, which in CI is an error."""
    found = os.environ.get("CXX") or shutil.which("g++") or shutil.which("clang++")
    if not found:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("no g++ or clang++: apt install g++")
    return found


@cache
def folder():
    """Where libraries are kept: one for each user, as others must not write into it."""
    path = Path(tempfile.gettempdir()) / f"minifp-imitated-gpu-{getpass.getuser()}"
    path.mkdir(mode=0o700, exist_ok=True)
    return path


def built(text, *flags, link=()):
    """The path of a library made of a C++ text. link: libraries that it needs."""
    command = [compiler(), *FLAGS, *flags]
    headers = [path.read_text() for path in sorted([HERE / "shim.h", *HERE.glob("include/*")])]
    known = "\n".join([*command, *headers, *map(str, link), text])
    path = folder() / f"{hashlib.sha256(known.encode()).hexdigest()[:24]}.so"
    if not path.exists():
        with tempfile.TemporaryDirectory(dir=folder()) as made:
            source = Path(made) / "text.cpp"
            source.write_text(text)
            command += [f"-I{HERE}", f"-I{HERE / 'include'}", str(source), *map(str, link)]
            command += ["-o", f"{made}/it.so"]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                (folder() / "refused.cpp").write_text(text)
                raise RuntimeError(f"{done.stderr[:2000]}\n(see {folder() / 'refused.cpp'})")
            os.replace(f"{made}/it.so", path)  # another process may have made it meanwhile
    return path


@cache
def runtime(*flags):
    """The library of runtime.cpp, loaded."""
    path = built((HERE / "runtime.cpp").read_text(), "-O2", *flags)
    library = ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
    for name in ("rig_stream", "rig_end_capture", "rig_event"):
        getattr(library, name).restype = ctypes.c_void_p
    library.path = path
    return library


def kernels(text, *flags):
    """The library of a CUDA text, loaded, with an entry for each kernel in it."""
    runtime()  # which these libraries call
    names = KERNEL.findall(text)
    exports = "\n".join(f"RIG_EXPORT({name})" for name in names)
    plain = KERNEL.sub(lambda found: found[0].replace('extern "C"', ""), text)
    return ctypes.CDLL(str(built(f'#include "shim.h"\n{plain}\n{exports}\n', *flags)))


def bounds(text):
    """By kernel of a CUDA text, the most threads of a block that it may be launched with.

    A compiler that is told of more threads keeps to the registers that are there for so many.
    """
    told = {name: bound for bound, name in BOUND.findall(text)}
    return {name: number_of(told[name], text) if name in told else UNBOUND
            for name in KERNEL.findall(text)}  # fmt: skip


def number_of(word, text):
    """A number, or what a text defines a word as."""
    return int(word if word.isdigit() else re.search(rf"\b{word}\s*=?\s*(\d+)", text)[1])


def library(name, *flags):
    """One of the C++ files here, built with the runtime, such as "fake_cublas.cpp": its path."""
    return built((HERE / name).read_text(), "-O3", "-march=native", *flags, link=[runtime().path])
