"""CUDA's headers, with which kernels are compiled: one that is missing, and where it may be."""

import os
import re
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

MISSING = re.compile(r'(?:cannot|could not) open source file "([^"]+)"')  # as NVRTC says it


def missing(error: BaseException) -> str | None:
    """The header that a text was not compiled for want of: "crt/mma.h"; None if that is not why."""
    found = MISSING.search(str(error))
    return found and found[1]


def folder_of(header: str, folders: Iterable[Path]) -> Path | None:
    """The first of the folders in which a header is, None where it is in none."""
    return next((folder for folder in folders if (folder / header).is_file()), None)


def folders(major: int) -> list[Path]:
    """Where headers of a version of CUDA may be and CuPy may not look, the best first: where pip
    puts them; a CUDA installation (CUDA_PATH, CUDA_HOME, that of nvcc, /usr/local/cuda)."""
    package = "cuda_nvcc" if major == 12 else f"cu{major}"
    found = [Path(root, "nvidia", package, "include") for root in sys.path if root]
    named = [os.environ[name] for name in ("CUDA_PATH", "CUDA_HOME") if os.environ.get(name)]
    compiler = shutil.which("nvcc")
    beside = [str(Path(compiler).resolve().parents[1])] if compiler else []
    return found + [Path(kit, "include") for kit in [*named, *beside, "/usr/local/cuda"]]
