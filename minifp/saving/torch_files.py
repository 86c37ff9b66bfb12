"""PyTorch's own files (.pt, .pth): read by a list of what they may name, and written for PyTorch.

`torch.save` writes a pickle, and unpickling can run any code in a file. Here nothing of it runs
(pytorch/opcodes.py). Whoever runs a program may allow the classes of that program (pytorch/
objects.py); `fp.load` allows none.
"""

import os
from pathlib import Path
from typing import Any

from minifp.errors import CheckpointError, MinifpError
from minifp.runtime.file_kinds import kind_of
from minifp.saving import files, tensor_file
from minifp.saving.pytorch.archive import START
from minifp.saving.pytorch.objects import Classes
from minifp.saving.pytorch.reader import read
from minifp.saving.pytorch.writer import written


def save(path: str | os.PathLike, value: Any, classes: Classes | None = None) -> Path:
    """Write a value as `torch.save` does, aside first; return the path.

    value: tensors, parameters, arrays and plain values, in lists, tuples, dicts and sets; with
        `classes`, modules of minifp's and objects of these too.
    Tensors on the same memory share it in the file. Raises ArgumentError, with nothing written, for
    what cannot be saved, and FileError for a disk that is full or protected.
    """
    return files.write(path, written(value, classes))


def load(path: str | os.PathLike, classes: Classes | None = None) -> Any:
    """What a file holds, on the CPU: tensors (those of one storage share memory), parameters,
    containers and plain values.

    classes: by dotted name the classes, and functions, that it may name beside: objects of them,
        and modules of minifp's, are made without a call of their own code. None allows neither.
    Raises CheckpointError for a file that is missing, damaged, not PyTorch's, or names anything
    else, saying which.
    """
    return loads(tensor_file.content(path), path, classes)


def loads(content: bytes, path: Any, classes: Classes | None = None) -> Any:
    """The same of the content of a file; `path` is what errors name."""
    if not content.startswith(START):
        what = kind_of(content) or "no zip archive, as torch.save writes"
        raise CheckpointError(f"checkpoint {str(path)!r}: this is {what}")
    try:
        return read(content, classes)
    except MemoryError:
        raise
    except MinifpError as error:
        raise CheckpointError(f"checkpoint {str(path)!r}: {error}") from None
    except Exception as error:  # zipfile, pickletools and NumPy have one for each way to be damaged
        raise CheckpointError(
            f"checkpoint {str(path)!r}: damaged, or not as PyTorch writes it: "
            f"{error or type(error).__name__}"
        ) from None
