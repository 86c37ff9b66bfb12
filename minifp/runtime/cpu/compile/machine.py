"""Machine code of this CPU: LLVM's text of a kernel becomes object code in a file, loaded, called.

Nothing here needs numba. A module holds functions `void name(...)` of pointers and numbers, and for
each an entry that CPython calls without any wrapper in between: it reads an array's data pointer
from NumPy's own structure, converts Python's numbers, and lets go of the GIL. Entries trust their
arguments: whoever calls one has checked shapes, formats and layouts.

Object code is kept in a file, named by a hash of its text, of this CPU and its features and of
LLVM's version, with a checksum in front: what is cut off, or damaged, is compiled anew.
"""

import ctypes
import hashlib
import itertools
import os
import re
import sys
import sysconfig
import threading
from collections.abc import Callable
from functools import cache
from typing import Any

import llvmlite
import numpy as np
from llvmlite import binding as llvm
from llvmlite import ir
from llvmlite.binding import ffi, newpassmanagers

from minifp.runtime.cpu.compile.kernel_cache import keep, kept
from minifp.runtime.cpu.compile.progress import compiling

I8, I16, I32, I64 = (ir.IntType(n) for n in (8, 16, 32, 64))
F32, F64, POINTER, VOID = ir.FloatType(), ir.DoubleType(), ir.IntType(8).as_pointer(), ir.VoidType()

# ---- this CPU -----------------------------------------------------------------------------------


def cpu() -> tuple[str, str]:
    """(name, features) of the CPU that is compiled for: this one, or what numba's own variables,
    NUMBA_CPU_NAME and NUMBA_CPU_FEATURES, say."""
    name = os.environ.get("NUMBA_CPU_NAME") or "host"
    if name == "host":
        return llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
    return name, os.environ.get("NUMBA_CPU_FEATURES") or ""


CPU, FEATURES = cpu()
TRIPLE = llvm.get_process_triple()
VERSION = f"{llvmlite.__version__} {TRIPLE} {CPU} {FEATURES}"


def has_feature(name: str) -> bool:
    """Whether the CPU has a feature, by LLVM's name."""
    return f"+{name}" in FEATURES.split(",")


IS_ARM = TRIPLE.startswith(("aarch64", "arm64"))
IN_HARDWARE = IS_ARM or has_feature("f16c")  # the conversions of float16


def new_machine() -> Any:
    """What LLVM makes code with."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_triple(TRIPLE)
    options = {"cpu": CPU, "features": FEATURES, "opt": 3, "reloc": "pic", "jit": True}
    return target.create_target_machine(codemodel="default", **options)


@cache
def machine() -> Any:
    """The one that all kernels are compiled with."""
    return new_machine()


def free_pass_managers() -> None:
    """Let llvmlite free what optimises a module, 100 KiB, of numba's too: in the order of its
    classes the method that does so is hidden behind one that does nothing."""
    for manager in (newpassmanagers.ModulePassManager, newpassmanagers.FunctionPassManager):
        if manager._dispose is ffi.ObjectRef._dispose:
            manager._dispose = newpassmanagers.NewPassManager._dispose


free_pass_managers()


def object_code(text: str) -> bytes:
    """The machine code of a module."""
    return machine().emit_object(optimised(text))


def assembly(text: str) -> str:
    """The same as people read it."""
    return machine().emit_assembly(optimised(text))


def optimised(text: str) -> Any:
    """A module as it is compiled: for the width of this CPU's vectors."""
    module = llvm.parse_assembly(text)
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = options.slp_vectorization = True
    options.loop_interleaving = options.loop_unrolling = True
    builder = llvm.create_pass_builder(machine(), options)
    builder.getModulePassManager().run(module, builder)
    return module


LOCK = threading.RLock()  # LLVM's machine is one for all threads


def kept_object_code(text: str, title: str) -> bytes:
    """The same, from its file if it is there."""
    return kept_code(text, lambda: text, title)


def kept_code(name: str, text: Callable[[], str], title: str) -> bytes:
    """The object code of what a name stands for; its text is asked for only where it is new."""
    key = hashlib.sha256(f"{VERSION}\n{name}".encode()).hexdigest()[:32]
    code = kept(key)
    if code is None:
        with compiling(title), LOCK:
            code = object_code(text())
        keep(key, code)
    return code


# ---- loading ------------------------------------------------------------------------------------


@cache
def linker() -> Any:
    """What puts object code into this process."""
    return llvm.create_lljit_compiler(new_machine(), use_jit_link=False)


FUNCTIONS = {  # that entries call: what they return and take
    "PyLong_AsLongLong": (I64, [POINTER]),
    "PyFloat_AsDouble": (F64, [POINTER]),
    "PyEval_SaveThread": (POINTER, []),
    "PyEval_RestoreThread": (VOID, [POINTER]),
    "Py_IncRef": (VOID, [POINTER]),
}


@cache
def symbols() -> dict[str, int]:
    """What entries call of Python, by name: their addresses, wherever the system finds symbols."""
    if not has_entries():
        return {}
    python = ctypes.pythonapi
    return {n: ctypes.cast(getattr(python, n), ctypes.c_void_p).value or 0 for n in FUNCTIONS}


LOADED: list = []  # libraries, and what Python refers to of them, which must never go
NUMBERS = itertools.count()  # of libraries: one that could not be linked has used up its name


def loaded(code: bytes, names: list[str], called: dict[str, int] | None = None) -> dict[str, int]:
    """The addresses of a module's functions, by name. called: those that it calls of others."""
    library = llvm.JITLibraryBuilder().add_object_img(code).add_current_process()
    for name, address in (symbols() | (called or {})).items():
        library.import_symbol(name, address)
    for name in names:
        library.export_symbol(name)
    with LOCK:
        tracker = library.link(linker(), f"minifp{next(NUMBERS)}")
    LOADED.append(tracker)
    return {name: tracker[name] for name in names}


# ---- entries ------------------------------------------------------------------------------------

FASTCALL = 0x80  # of a C function that gets its arguments as an array
HEADER = 16  # bytes of a Python object before what is its own: an array's data pointer is first


class Method(ctypes.Structure):
    """PyMethodDef."""

    TYPES = ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p
    _fields_ = list(zip(("name", "call", "flags", "doc"), TYPES))


@cache
def has_entries() -> bool:
    """Whether CPython calls entries: not where its objects look different (PyPy, free threads,
    debugging builds), where ctypes calls the functions themselves."""
    if sys.implementation.name != "cpython" or sysconfig.get_config_var("Py_GIL_DISABLED"):
        return False
    x = np.zeros(3)
    pointer = ctypes.c_void_p.from_address(id(x) + HEADER).value
    return object.__basicsize__ == HEADER and pointer == x.__array_interface__["data"][0]


def entry_name(name: str) -> str:
    """What the entry of a function is called."""
    return f"python_{name}"


def add_entry(function: ir.Function) -> None:
    """Put the entry of a function into its module: entry(*arguments) returns the last argument.

    Pointers are read from arrays; i64s from integers; floats and doubles from floats. Where entries
    cannot be called there is none.
    """
    if not has_entries():
        return
    module, known = function.module, {}
    for name, (result, takes) in FUNCTIONS.items():
        known[name] = module.globals.get(name) or ir.Function(
            module, ir.FunctionType(result, takes), name
        )
    kind = ir.FunctionType(POINTER, [POINTER, POINTER.as_pointer(), I64])
    entry = ir.Function(module, kind, entry_name(function.name))
    b = ir.IRBuilder(entry.append_basic_block())
    objects = [b.load(b.gep(entry.args[1], [I64(k)])) for k in range(len(function.args))]
    values = []
    for x, argument in zip(objects, function.args):
        if isinstance(argument.type, ir.PointerType):
            at = b.bitcast(b.gep(x, [I64(HEADER)]), argument.type.as_pointer())
            values.append(b.load(at))
        elif argument.type == I64:
            values.append(b.call(known["PyLong_AsLongLong"], [x]))
        else:
            value = b.call(known["PyFloat_AsDouble"], [x])
            values.append(single(b, value) if argument.type == F32 else value)
    state = b.call(known["PyEval_SaveThread"], [])
    b.call(function, values)
    b.call(known["PyEval_RestoreThread"], [state])
    b.call(known["Py_IncRef"], [objects[-1]])
    b.ret(objects[-1])


def single(b: ir.IRBuilder, value: Any) -> Any:
    """A double as float32, and nothing else: without the fence LLVM may round it to float16 at
    once, where only its sign is asked for, by a function that no library here has."""
    kind = ir.FunctionType(F32, [F32])
    name = "llvm.arithmetic.fence.f32"
    fence = b.module.globals.get(name) or ir.Function(b.module, kind, name)
    return b.call(fence, [b.fptrunc(value, F32)])


def callable_at(name: str, address: int, owner: Any = None) -> Callable[..., Any]:
    """What Python calls of an entry, which gets `owner` as its first argument."""
    method = Method(name.encode(), address, FASTCALL, None)
    LOADED.append(method)
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.restype, new.argtypes = (
        ctypes.py_object,
        [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p],
    )
    return new(ctypes.addressof(method), owner, None)


def kernel_of(name: str, text: str, title: str) -> Callable[..., Any]:
    """What Python calls of the function `name` of a module, which has an entry for it where
    entries can be called.

    title: what is said while it is compiled. Modules of one text are loaded once.
    """
    key = hashlib.sha256(text.encode()).digest()
    with LOCK:
        if key not in KERNELS:
            code, entry = kept_object_code(text, title), entry_name(name)
            if has_entries():
                KERNELS[key] = callable_at(name, loaded(code, [name, entry])[entry])
            else:
                KERNELS[key] = by_ctypes(text, name, loaded(code, [name])[name])
        return KERNELS[key]


def address_of(name: str, text: str, title: str) -> int:
    """Where the function `name` of a module begins, for kernels that call it."""
    with LOCK:
        return loaded(kept_object_code(text, title), [name])[name]


KERNELS: dict[bytes, Callable[..., Any]] = {}  # by hashes of their texts, which are long
BY_CTYPES = {"i64": ctypes.c_int64, "float": ctypes.c_float, "double": ctypes.c_double}


def by_ctypes(text: str, name: str, address: int) -> Callable[..., Any]:
    """The same of a function without an entry, called by ctypes, which lets go of the GIL too.

    Its parameters are read from its text: what is no number is the memory of an array.
    """
    parameters = re.search(rf'define [^@]*@"?{name}"?\(([^)]*)\)', text)
    kinds = [p.split()[0] for p in parameters[1].split(",")] if parameters else []
    types: list[Any] = [BY_CTYPES.get(kind, ctypes.c_void_p) for kind in kinds]
    function = ctypes.CFUNCTYPE(None, *types)(address)
    is_memory = [type is ctypes.c_void_p for type in types]

    def call(*args: Any) -> Any:
        data = (a.__array_interface__["data"][0] if m else a for a, m in zip(args, is_memory))
        function(*data)
        return args[-1]

    return call
