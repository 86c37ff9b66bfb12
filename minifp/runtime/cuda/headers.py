"""CUDA's headers, with which kernels are compiled: one that is missing, and where pip puts it."""

import re
import sys
from collections.abc import Iterable
from pathlib import Path

MISSING = re.compile(r'(?:cannot|could not) open source file "([^"]+)"')  # as NVRTC says it


def missing(error: BaseException) -> str | None:
    """The header that a text was not compiled for want of: "crt/mma.h"; None if that is not why."""
    found = MISSING.search(str(error))
    return found and found[1]


def folder_of(header: str, major: int, roots: Iterable[str | Path] | None = None) -> Path | None:
    """The folder of pip's in which a header is, and CuPy may not look; None where there is none.

    major: the version of CUDA. roots: folders like site-packages, else those of this process.
    """
    for root in (folder for folder in sys.path if folder) if roots is None else roots:
        folder = Path(root, "nvidia", "cuda_nvcc" if major == 12 else f"cu{major}", "include")
        if (folder / header).is_file():
            return folder
    return None
