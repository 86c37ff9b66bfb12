"""A device below the real CuPy: host memory, and kernels run by the imitation of a GPU.

sitecustomize.py calls `install` when CuPy is first imported. What CuPy asks of CUDA's runtime and
driver is then answered by device.cpp; its own kernels and minifp's texts are compiled for the host
(see ../build.py) instead of by NVRTC. Of other libraries there are the entries of cuBLAS that
minifp uses, by which cupy.matmul multiplies float32 matrices, and Thrust's sorts, by NumPy.
"""

import ctypes
import os
import re
import sys
from functools import cache
from importlib import import_module
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[2])]

KINDS = {
    **{"PyObject *": ctypes.py_object, "int": ctypes.c_int, "unsigned int": ctypes.c_uint},
    **{"size_t": ctypes.c_size_t, "intptr_t": ctypes.c_ssize_t, "float": ctypes.c_float},
}
OF_ANY_SIZE = re.compile(r"extern __shared__ ([\w ]+?) (\w+)\[\];")  # as a launch tells
FLAGS = tuple(os.environ.get("MINIFP_IMITATED_FLAGS", "").split())


@cache
def device():
    import build

    text = (HERE / "device.cpp").read_text(encoding="utf-8")
    told = ("-O2", "-Wl,-soname,libcuda.so.1", *FLAGS)
    path = build.built(text, *told, link=[build.runtime(*FLAGS).path])
    return ctypes.PyDLL(str(path), mode=ctypes.RTLD_GLOBAL)


def install():
    """Put it below CuPy, before another module takes an entry of CUDA's runtime."""
    os.environ["CUPY_ACCELERATORS"] = ""  # no CUB, which is compiled already
    import build

    library = device()
    os.environ["MINIFP_CUBLAS"] = str(build.library("fake_cublas.cpp", *FLAGS))
    os.environ["MINIFP_CUBLAS_LT"] = str(build.library("fake_cublas_lt.cpp", *FLAGS))
    late = int(os.environ.get("MINIFP_IMITATED_LATE", 0))
    build.runtime(*FLAGS).rig_set_late(ctypes.c_uint(late))
    from cupy_backends.cuda.api import runtime

    ctypes.c_void_p.in_dll(library, "standin_error").value = id(runtime.CUDARuntimeError)
    for name, entry in runtime.__pyx_capi__.items():
        if own := getattr(library, f"standin_{name}", None):
            signature = signature_of(entry)
            runtime.__pyx_capi__[name] = new_entry(own, signature)
            if hasattr(runtime, name):
                setattr(runtime, name, as_python(own, signature.decode()))


def signature_of(entry):
    """The types of a function that Cython offers to other modules, as C writes them."""
    name_of = ctypes.pythonapi.PyCapsule_GetName
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    return name_of(entry)


def new_entry(own, signature):
    """An entry of that table with another function. The signature's bytes are never freed."""
    ALIVE.append(signature)
    new = ctypes.pythonapi.PyCapsule_New
    new.restype = ctypes.py_object
    new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return new(ctypes.cast(own, ctypes.c_void_p), signature, None)


ALIVE: list = []


def as_python(own, signature):
    """The same function for callers in Python, without the arguments that Cython adds."""
    result, _, arguments = signature.rstrip(")").partition(" (")
    if result.startswith("PyObject *("):
        result, arguments = "PyObject *", result.removeprefix("PyObject *(")
    names = [name for name in arguments.split(", ") if name != "void"]
    kinds = [KINDS[name] for name in names if "__pyx" not in name]
    added = [ctypes.c_void_p if "*" in name else ctypes.c_int for name in names if "__pyx" in name]
    own.restype, own.argtypes = KINDS[result], kinds + added
    return lambda *args: own(*args[: len(kinds)], *([0] * len(added)))


def compile_for_the_host(compiler):
    """Let CuPy's compiler make libraries of the host's."""

    def compiled(source, options=(), **settings):
        from cupy.cuda import function

        module = function.Module()
        module.load(str(library_of(source)).encode())
        return module

    compiler._compile_module_with_cache = compiled


@cache
def library_of(text):
    import build
    import cupy

    if "cupy/carray.cuh" not in text:
        return build.kernel_library(text, '#include "shim.h"\n', *FLAGS)
    folders = HERE / "include", Path(cupy.__file__).parent / "_core/include"
    told = [f"-I{folder}" for folder in folders] + [f'-DCUPY="{cupy.__version__}"']
    header = '#include "standin/own_kernels.h"\n'
    text = OF_ANY_SIZE.sub(r"__shared__ \1 \2[49152 / sizeof(\1)];", text)
    return build.kernel_library(text, header, *told, *FLAGS, most_threads=1024)


def sort_by_numpy(thrust):
    """Let Thrust's sorts along the last axis, which are compiled for a GPU, be NumPy's."""
    import numpy as np

    def array_at(address, shape, dtype):
        memory = (ctypes.c_char * (np.dtype(dtype).itemsize * int(np.prod(shape)))).from_address
        return np.frombuffer(memory(address), dtype).reshape(shape)

    def sort(dtype, data, keys, shape):
        synchronize_all()
        array_at(data, shape, dtype).sort(axis=-1, kind="stable")

    def argsort(dtype, places, data, keys, shape):
        synchronize_all()
        values = array_at(data, shape, dtype)
        array_at(places, shape, np.intp)[...] = values.argsort(axis=-1, kind="stable")

    def lexsort(*args):
        raise NotImplementedError("the stand-in has no lexsort")

    def synchronize_all():
        from cupy_backends.cuda.api import runtime

        runtime.deviceSynchronize()

    thrust.sort, thrust.argsort, thrust.lexsort = sort, argsort, lexsort


def multiply_by_the_imitation(cupy):
    """Let cupy.matmul ask the cuBLAS that there is, as CuPy cannot load its own."""
    path = "minifp.runtime.cuda.product"  # which imports CuPy
    cupy.matmul = lambda a, b: import_module(path).product(a, b, "float32")


CHANGES = {
    "cupy": multiply_by_the_imitation,
    "cupy.cuda.compiler": compile_for_the_host,
    "cupy.cuda.thrust": sort_by_numpy,
}
