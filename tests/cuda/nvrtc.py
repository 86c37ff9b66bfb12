"""NVRTC, CUDA's compiler as a library: from wheels, through ctypes, on machines without a GPU.

What it makes is kept in a folder for temporary files, under a hash of what it was made of.
"""

import ctypes
import hashlib
import os
import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest
from build import folder

from minifp.runtime.cuda.headers import folder_of, folders
from minifp.runtime.cuda.source import OPTIONS

LIBRARIES = ("lib/libnvrtc.so.*", "bin/**/nvrtc64_*_0.dll")  # under nvidia/cu13
SPILLS = re.compile(r"properties for (\S+)\n.*?(\d+) bytes spill stores, (\d+) bytes spill loads")

REGISTERS = re.compile(r"Compiling entry function '(\S+)'.*?Used (\d+) registers", re.DOTALL)
ALL_REGISTERS, EACH = 65536, 8  # of a block; a thread gets them by the eight


@cache
def library():
    """(NVRTC, the folder of headers beside it). Skips without them, which in CI is an error."""
    spec = find_spec("nvidia")
    for place in (spec and spec.submodule_search_locations) or ():
        root = Path(place) / "cu13"
        for found in (path for pattern in LIBRARIES for path in sorted(root.glob(pattern))):
            loaded = ctypes.CDLL(str(found))
            loaded.nvrtcGetErrorString.restype = ctypes.c_char_p
            return loaded, root / "include"
    missing = "NVRTC is not installed: pip install minifp[cuda-test]"
    (pytest.fail if os.environ.get("CI") else pytest.skip)(missing)


@cache
def version():
    major, minor = ctypes.c_int(), ctypes.c_int()
    called("Version", ctypes.byref(major), ctypes.byref(minor))
    return f"NVRTC {major.value}.{minor.value}"


def compiled(text, arch, *options):
    """(cubin, log) of a CUDA text, with the options that CuPy compiles it with.

    arch: such as "sm_90". Raises RuntimeError with the log if it does not compile.
    """
    options = (*OPTIONS, "-ftz=true", f"--gpu-architecture={arch}", "--ptxas-options=-v", *options)
    known = "\n".join([version(), *options, text])
    path = folder() / f"{hashlib.sha256(known.encode()).hexdigest()[:24]}.cubin"
    if not path.exists():
        includes = [f"-I{library()[1]}"]
        if folder_of("crt/mma.h", [library()[1]]) is None:  # a package of its own, or elsewhere
            includes.append(f"-I{folder_of('crt/mma.h', folders(13))}")
        log, cubin = made(text, (*options, *includes))
        part = path.with_suffix(f".{os.getpid()}")
        part.write_bytes(log + b"\0" + cubin)
        os.replace(part, path)  # another process may have made it meanwhile
    log, _, cubin = path.read_bytes().partition(b"\0")
    return cubin, log.decode()


def made(text, options):
    program = ctypes.c_void_p()
    called("CreateProgram", ctypes.byref(program), text.encode(), b"text.cu", 0, None, None)
    try:
        given = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
        code = library()[0].nvrtcCompileProgram(program, len(options), given)
        log = result("ProgramLog", program).rstrip(b"\0")
        if code:
            raise RuntimeError(f"{error(code)}\n{log.decode()}")
        return log, result("CUBIN", program)
    finally:
        called("DestroyProgram", ctypes.byref(program))


def result(name, program):
    size = ctypes.c_size_t()
    called(f"Get{name}Size", program, ctypes.byref(size))
    found = ctypes.create_string_buffer(size.value)
    called(f"Get{name}", program, found)
    return found.raw


def called(name, *args):
    code = getattr(library()[0], f"nvrtc{name}")(*args)
    if code:
        raise RuntimeError(f"nvrtc{name}: {error(code)}")


def error(code):
    return library()[0].nvrtcGetErrorString(code).decode()


def spills(log):
    """By kernel, the bytes of registers that it moves to memory and back, where there are any."""
    found = {name: (int(out), int(back)) for name, out, back in SPILLS.findall(log)}
    return {name: moved for name, moved in found.items() if any(moved)}


def most_threads(log):
    """By kernel, the most threads of a block that there are registers for, in whole warps."""
    return {
        name: ALL_REGISTERS // (-(-int(count) // EACH) * EACH * 32) * 32
        for name, count in REGISTERS.findall(log)
    }
