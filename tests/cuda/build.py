"""Texts of CUDA C++ and what imitates its runtime, as libraries of the host's C++ compiler.

Libraries stay between runs in a cache folder of the user's, under a hash of the compiler, its
flags and all that was compiled. Those that were longest not used go when they become too many. What
all texts begin with is compiled once, as a header.
"""

import ctypes
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import time
from contextlib import suppress
from functools import cache
from pathlib import Path

import pytest

from minifp.runtime.cpu.compile import kernel_cache
from minifp.runtime.cuda.source import common

HERE = Path(__file__).parent
KERNEL = re.compile(r'extern\s+"C"\s+__global__\s+void\s+(?:__launch_bounds__\([^)]*\)\s*)?(\w+)')
BOUND = re.compile(r"__launch_bounds__\(\s*(\w+)\s*\)\s*(\w+)")
UNBOUND = 256  # threads of a block that 65,536 registers do for, were it 255 of them for each
FLAGS = ("-std=c++17", "-O1", "-march=native", "-fPIC", "-w", "-pipe")
FLAGS += ("-ffp-contract=off", "-fno-math-errno")
# Of texts: a load from an address that its type does not allow ends the process. And with
# MINIFP_IMITATED_FLUSH=1, as for a GPU: products and sums are rounded at once, and runtime.cpp
# flushes subnormals.
CHECKED = ("-fsanitize=alignment", "-fno-sanitize-recover=alignment")
CONTRACTED = ("-ffp-contract=fast", "-mfma", "-fexpensive-optimizations")
FLUSHED = os.environ.get("MINIFP_IMITATED_FLUSH", "0") not in ("", "0")
INCLUDED = (f"-I{HERE}", f"-I{HERE / 'include'}")
KEPT = 3600.0  # seconds that a file stays after its last use
ROOM = 256 * 2**20  # bytes of all libraries together; those of one commit take some 90 MiB


@cache
def compiler():
    """The C++ compiler's path. Skips where there is none, which in CI is an error."""
    path = os.environ.get("CXX") or shutil.which("g++") or shutil.which("clang++")
    if not path:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("no g++ or clang++: apt install g++")
    return path


@cache
def target():
    """Which compiler it is and what -march=native means here: all that it defines."""
    command = [compiler(), "-march=native", "-dM", "-E", "-x", "c++", os.devnull]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8").stdout


@cache
def folder():
    """The folder where libraries are kept, with room for new ones."""
    path = kernel_cache.place().with_name("minifp-imitated-gpu")
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        path = Path(tempfile.mkdtemp(prefix=path.name))
    forget(path, ROOM)
    return path


def forget(path, room):
    """Delete the files that were longest not used, if all together are larger than `room`, until
    they are half of it. What was used within an hour stays: another process may go on to use it.
    """
    files = []
    for entry in os.scandir(path):
        with suppress(FileNotFoundError):  # another process deletes them too
            files.append((entry.stat().st_mtime, entry.stat().st_size, entry.path))
    total = sum(size for _, size, _ in files)
    is_full = total > room
    for used, size, file in sorted(files):
        if is_full and total > room / 2 and used < time.time() - KEPT:
            Path(file).unlink(missing_ok=True)
            total -= size


@cache
def headers():
    return "".join(path.read_text(encoding="utf-8") for path in sorted(HERE.glob("**/*.h")))


def file_for(ending, known, make):
    """The path of a file under a hash of what is known of it: make(path) writes a new one."""
    digest = hashlib.sha256("\n".join(known).encode()).hexdigest()[:24]
    path = folder() / f"{digest}.{ending}"
    try:
        os.utime(path)  # it is used
    except FileNotFoundError:
        part = folder() / f"{digest}-{os.getpid()}.{ending}"
        make(part)
        os.replace(part, path)  # another process may have made it meanwhile
    return path


def built(text, *flags, link=()):
    """The path of a library made of a C++ text. link: libraries that it needs."""
    command = [compiler(), *FLAGS, "-shared", *flags]

    def make(path):
        source = path.with_suffix(".cpp")
        source.write_text(text, encoding="utf-8")
        run([*command, *INCLUDED, str(source), *map(str, link), "-o", str(path)])
        source.unlink()

    return file_for("so", [target(), headers(), *command, *map(str, link), text], make)


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8")
    if done.returncode:
        raise RuntimeError(f"{done.stderr[:2000]}\n({' '.join(command)})")


@cache
def beginning(text, *flags):
    """A header of what texts begin with, whose compiled form for these flags lies beside it."""
    known = [target(), headers(), *FLAGS, *flags, text]
    path = file_for("h", known, lambda part: part.write_text(text, encoding="utf-8"))
    command = [compiler(), *FLAGS, *INCLUDED, *flags, "-x", "c++-header", str(path), "-o"]
    file_for("h.gch", known, lambda part: run([*command, str(part)]))
    return path


@cache
def runtime(*flags):
    path = built((HERE / "runtime.cpp").read_text(encoding="utf-8"), "-O2", *flags)
    library = ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
    for name in ("rig_stream", "rig_end_capture", "rig_event"):
        getattr(library, name).restype = ctypes.c_void_p
    library.path = path
    return library


def kernels(text, *flags):
    """The library of a CUDA text, loaded, with an entry for each kernel in it."""
    runtime()  # which these libraries call
    return ctypes.CDLL(str(kernel_library(text, '#include "shim.h"\n', *flags)))


def kernel_library(text, header, *flags, most_threads=UNBOUND):
    """Its path. header: what is before the text, compiled once with what all of ours begin with."""
    bound = bounds(text, most_threads)
    exports = "\n".join(f"RIG_EXPORT({name}, {bound[name]})" for name in bound)
    plain = KERNEL.sub(lambda kernel: kernel[0].replace('extern "C"', ""), text)
    shared = common() if text.startswith(common()) else ""
    flags = (*CHECKED, *(CONTRACTED if FLUSHED else ()), *flags)
    flags = (*flags, "-include", str(beginning(header + shared, *flags)))
    plain = plain.removeprefix(shared)
    return built(f"{plain}\n{exports}\n", "-nostdlib", *flags, link=["-lgcc"])


def bounds(text, unbound=UNBOUND):
    """By kernel of a CUDA text, the most threads of a block that it may be launched with.

    A compiler that is told of more threads keeps to the registers that are there for so many.
    """
    told = {name: bound for bound, name in BOUND.findall(text)}
    return {name: number_of(told[name], text) if name in told else unbound
            for name in KERNEL.findall(text)}  # fmt: skip


def number_of(word, text):
    """A number, or what a text defines a word as."""
    return int(word if word.isdigit() else re.search(rf"\b{word}\s*=?\s*(\d+)", text)[1])


def library(name, *flags):
    """One of the C++ files here, built with the runtime, such as "fake_cublas.cpp": its path."""
    return built((HERE / name).read_text(encoding="utf-8"), "-O3", *flags, link=[runtime().path])
