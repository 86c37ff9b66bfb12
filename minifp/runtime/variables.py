"""The environment variables that minifp reads: what each is for, and what it may say.

All are looked at when minifp is imported, whatever the device: what a GPU alone would read is
refused on a CPU too. Who reads one later, when a program may have set it anew, asks `read`.
"""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from minifp.errors import ArgumentError

MOST_THREADS = 1024  # more are a mistake, and would not all be given by the system


class Variable(NamedTuple):
    """meaning: in words, for `minifp doctor`. expected: in words, what it may say. allows: whether
    a text is that; all may be empty, which is the same as not set."""

    meaning: str
    expected: str = ""
    allows: Callable[[str], object] = bool


def one_of(*choices: str) -> tuple[str, Callable[[str], object]]:
    """What a variable is expected to say, and whether it does."""
    return " or ".join(filter(None, (", ".join(choices[:-1]), choices[-1]))), choices.__contains__


def is_count(text: str) -> bool:
    """Whether it is a number of threads."""
    return text.isdecimal() and len(text) < 5 and 1 <= int(text) <= MOST_THREADS


A_FILE = "the path of a library, which is not there", os.path.isfile
GPU_MATH = "tensor_cores", "no_tensor_cores", "tf32", "float8"
VARIABLES = {
    # These two are parsed by numerics/policy.py and compat/amp/automatic.py, also at the import.
    "MINIFP_PRECISION": Variable("the default precision"),
    "MINIFP_AUTO_MIXED_PRECISION": Variable(
        "1, mixed: scripts as they are train in mixed precision"
    ),
    "MINIFP_DEVICE": Variable(
        "the default device", "cpu or cuda", lambda text: text.split(":")[0] in ("cpu", "cuda")
    ),
    "MINIFP_CONVOLUTIONS": Variable(
        '"cudnn": on a GPU, convolutions by cuDNN', *one_of("gemm", "cudnn")
    ),
    "MINIFP_CUBLAS": Variable("the cuBLAS library to use", *A_FILE),
    "MINIFP_CUBLAS_LT": Variable("the cublasLt library to use", *A_FILE),
    "MINIFP_GPU_MATH": Variable(
        "whether products on a GPU use tensor cores: " + ", ".join(GPU_MATH), *one_of(*GPU_MATH)
    ),
    "MINIFP_DATA": Variable(
        "where data sets lie", "a folder, not a file", lambda text: not os.path.isfile(text)
    ),
    "MINIFP_KERNELS": Variable(
        '"numpy": compile no kernel, compute all in NumPy; "checked": verify what is told to '
        "derived kernels",
        *one_of("numba", "numpy", "checked"),
    ),
    "MINIFP_THREADS": Variable(
        "how many threads kernels use",
        f"a number of threads, 1 to {MOST_THREADS}, or none for all cores",
        is_count,
    ),
    "MINIFP_RUN_SCRIPT": Variable("the script of minifp.run, for processes that it starts"),
    "MINIFP_TEACH": Variable(
        '"show": lessons show their answers without a prediction', *one_of("show")
    ),
    "MINIFP_TEACH_FILE": Variable(
        "where a student's progress is kept",
        "the path of a file, not a folder",
        lambda text: not Path(text).is_dir(),
    ),
    "NUMBA_CACHE_DIR": Variable("where compiled kernels are kept"),
}


def read(name: str, environment: Mapping[str, str] | None = None) -> str:
    """What a variable says, "" if nothing. Raises ArgumentError for what it may not say."""
    text = (os.environ if environment is None else environment).get(name, "")
    if text and not VARIABLES[name].allows(text):
        expected = VARIABLES[name].expected
        raise ArgumentError(f"environment variable {name}={text!r}: expected {expected}")
    return text


def check() -> None:
    """Raise ArgumentError for the first variable that says what it may not."""
    for name in VARIABLES:
        read(name)
