"""Texts of CUDA C++: read from the files beside their references, compiled when they are needed.

A text is compiled once for each choice of its types, which are typedefs before it: `Text(__name__,
"conv.cu")(X=x.dtype, Y=out.dtype)` is a module with `typedef half X; typedef float Y;`.
"""

from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from minifp.derive.dtypes import CODES, name_of
from minifp.errors import CompileError
from minifp.runtime.cuda import capturing, headers
from minifp.runtime.cuda.arrays import cupy

TYPES = {  # by the name of what is stored, what C, or common.cuh, calls it
    **{"float16": "half", "float32": "float", "bool": "bool"},
    **{name: name for name in CODES},
    **{name: f"{name}_type" for name in ("int8", "uint8", "int32", "uint32", "int64")},
}
# Names of its own: NVRTC has no <stdint.h>.
INTEGERS = """
typedef signed char int8_type;
typedef unsigned char uint8_type;
typedef int int32_type;
typedef unsigned int uint32_type;
typedef long long int64_type;
"""
OPTIONS = ("--std=c++17",)
THREADS = 256  # of a block, unless a kernel needs another number
MOST_BLOCKS = 4096  # of a loop over elements: more than any GPU runs at once


def type_of(dtype: Any) -> str:
    """What a text calls numbers of a dtype, given as one or by name: `load` reads them as float32,
    and `store` rounds them once."""
    return TYPES[dtype if dtype in CODES else name_of(np.dtype(dtype))]


@cache
def common() -> str:
    """What every text begins with."""
    return (files("minifp.runtime.cuda") / "common.cuh").read_text(encoding="utf-8") + INTEGERS


class Module:
    """A text with its types, compiled at the first launch of one of its kernels."""

    def __init__(self, text: str) -> None:
        self.text = common() + text
        self.kernels: dict[str, Any] = {}

    def launch(self, name: str, blocks: Any, threads: Any, *args: Any) -> None:
        """Launch a kernel on the current stream.

        blocks, threads: numbers, or tuples of up to three. args: device arrays, Python integers
        (which enter as 64 bits), and floats (as 32).
        """
        kernel = self.kernels.get(name)
        if kernel is None:
            kernel = self.kernels[name] = compiled(self.text, name)
        grid = blocks if isinstance(blocks, tuple) else (blocks,)
        block = threads if isinstance(threads, tuple) else (threads,)
        if capturing.now is not None:
            numbers = [a for a in args if isinstance(a, (int, float, np.generic))]
            capturing.launched(name, (*grid, *numbers))
        kernel(grid, block, tuple([as_given(a) for a in args]))


def compiled(text: str, name: str) -> Any:
    """A kernel of a text. Raises CompileError where it does not compile, or for want of one of
    CUDA's headers."""
    try:
        return cupy().RawModule(code=text, options=OPTIONS).get_function(name)
    except Exception as error:  # of CuPy's, for whatever NVRTC says
        header = headers.missing(error)
        if header is None:
            raise refused(name, error) from error
        major = cupy().cuda.runtime.runtimeGetVersion() // 1000
        folder = headers.folder_of(header, headers.folders(major))
        if folder is None:
            raise CompileError(
                f"kernel {name}: CUDA's header {header} is neither where CuPy looks, nor among "
                f'pip\'s packages, nor in a CUDA installation: pip install "minifp[cuda{major}]", '
                "or set CUDA_PATH"
            ) from error
    try:
        return cupy().RawModule(code=text, options=(*OPTIONS, f"-I{folder}")).get_function(name)
    except Exception as error:
        raise refused(name, error) from error


def refused(name: str, error: Exception) -> Exception:
    """The error for a text that does not compile, with the compiler's first line. While a stream
    captures it is what was raised: nothing can be compiled then."""
    if capturing.now is not None and capturing.now.captures:
        return error
    first = next(iter(str(error).strip().splitlines()), type(error).__name__)
    return CompileError(f"kernel {name} does not compile: {first}")


def as_given(a: Any) -> Any:
    """An argument as CuPy takes it: floats are of 32 bits, and Inf where these do not hold them."""
    if type(a) is float:
        with np.errstate(over="ignore"):
            return np.float32(a)
    return a.value if type(a) is capturing.Uncounted else a


@cache
def module_of(text: str) -> Module:
    """The module of a whole text, with its typedefs."""
    return Module(text)


class Text:
    """A `.cu` file beside the Python module that launches it: Text(__name__, "conv.cu").

    headers: names of files beside this one with what it uses.
    """

    def __init__(self, module: str, name: str, *headers: str) -> None:
        self.package, self.name, self.headers = module.rpartition(".")[0], name, headers
        self.modules: dict = {}

    def read(self) -> str:
        """What is in the headers and in the file."""
        own = (files(self.package) / self.name).read_text(encoding="utf-8")
        folder = files("minifp.runtime.cuda")
        return "".join([*((folder / h).read_text(encoding="utf-8") for h in self.headers), own])

    def __call__(self, **types: Any) -> Module:
        """The module with these types: dtypes, or numbers, which become constants."""
        key = tuple(types.items())
        if key not in self.modules:
            lines = [
                f"#define {n} {v}" if isinstance(v, int) else f"typedef {type_of(v)} {n};"
                for n, v in key
            ]
            self.modules[key] = module_of("\n".join([*lines, self.read()]))
        return self.modules[key]


def blocks_for(n: int, threads: int = THREADS, each: int = 1) -> int:
    """How many blocks a loop over n elements takes, where a thread takes `each` at a time."""
    return max(1, min(MOST_BLOCKS, -(-n // (threads * each))))
