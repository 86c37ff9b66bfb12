"""What `import torch` brings to a script that `python -m minifp.run` runs: see mirror.py.

Nothing of minifp imports this package. Its modules stand where PyTorch's do (`torch.cuda` is
minifp/compat/torch/cuda.py), and have only what minifp itself has not under that path; this one
what PyTorch has in `torch`.
"""

from typing import Any

from minifp.compat.torch.files import load, save
from minifp.compat.torch.nothing import answers, call, decorator
from minifp.compat.torch.random import (
    Generator,
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
)
from minifp.errors import ArgumentError
from minifp.numerics.dtypes import float32
from minifp.numerics.formats import as_dtype

__all__ = [
    "Generator", "__version__", "are_deterministic_algorithms_enabled", "compile",
    "get_default_dtype", "get_rng_state", "initial_seed",
    "is_deterministic_algorithms_warn_only_enabled", "load", "manual_seed", "save", "seed",
    "set_default_dtype", "set_default_tensor_type", "set_float32_matmul_precision",
    "set_num_interop_threads", "set_printoptions", "set_rng_state", "strided",
    "use_deterministic_algorithms",
]  # fmt: skip

__version__ = "2.13.0+minifp"  # the PyTorch whose names these are
strided = None
compile = decorator("compile", "kernels are compiled when they are first called")
set_printoptions = call("set_printoptions", "tensors print as NumPy's arrays do")
set_float32_matmul_precision = call(
    "set_float32_matmul_precision", "--precision says in which format products are computed"
)
set_num_interop_threads = call("set_num_interop_threads", "operations run one after the other")
use_deterministic_algorithms = answers(None)  # they are
are_deterministic_algorithms_enabled = answers(True)
is_deterministic_algorithms_warn_only_enabled = answers(False)


def get_default_dtype() -> Any:
    """torch.float32, the dtype of numbers for which a script names none."""
    return float32


def set_default_dtype(d: Any) -> None:
    """Take float32, which is the default. Raises ArgumentError for another dtype."""
    if as_dtype(d) != as_dtype(float32):
        raise ArgumentError(
            f"set_default_dtype({d}): expected torch.float32; --precision says in which format a "
            "script computes"
        )


def set_default_tensor_type(t: Any) -> None:
    """As set_default_dtype, by a type's name or the type, such as torch.FloatTensor."""
    name = t if isinstance(t, str) else getattr(t, "__name__", str(t))
    if name.rpartition(".")[2] != "FloatTensor" or "cuda" in name:
        raise ArgumentError(f"set_default_tensor_type({name}): expected torch.FloatTensor")
