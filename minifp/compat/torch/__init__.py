"""What `import torch` brings to a script that `python -m minifp.run` runs: see mirror.py.

Nothing of minifp imports this package. Its modules stand where PyTorch's do (`torch.cuda` is
minifp/compat/torch/cuda.py), and have only what minifp itself has not under that path; this one
what PyTorch has in `torch`.
"""

from typing import Any

from minifp.compat.torch.files import load, save
from minifp.compat.torch.nothing import answers, call, decorator
from minifp.compat.torch.promotion import can_cast, promote_types, result_type
from minifp.compat.torch.random import (
    Generator,
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
)
from minifp.compat.torch.tensors import diag_embed
from minifp.errors import ArgumentError
from minifp.numerics import policy
from minifp.numerics.dtypes import float32, float64
from minifp.numerics.formats import TYPED, as_dtype, name_of
from minifp.runtime.callers import warn_once

__all__ = ["Generator", "__version__", "are_deterministic_algorithms_enabled", "can_cast"]
__all__ += ["compile", "diag_embed", "get_default_dtype", "get_rng_state", "initial_seed"]
__all__ += ["is_complex", "is_deterministic_algorithms_warn_only_enabled", "load", "manual_seed"]
__all__ += ["promote_types", "result_type", "save", "seed", "set_default_dtype"]
__all__ += ["set_default_tensor_type", "set_float32_matmul_precision", "set_num_interop_threads"]
__all__ += ["set_printoptions", "set_rng_state", "strided", "use_deterministic_algorithms"]

_before = [policy.SINGLE]  # the precision to which set_default_dtype(float32) goes back
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
is_complex = answers(False)
is_deterministic_algorithms_warn_only_enabled = answers(False)


def get_default_dtype() -> Any:
    """The dtype of numbers for which a script names none: torch.float64 where it has asked for
    that, else torch.float32."""
    return float64 if str(policy.get_precision()) == policy.DOUBLE else float32


def set_default_dtype(d: Any) -> None:
    """Compute in float64, or in float32 as before. Raises ArgumentError for another dtype.

    In float64 nothing is narrow, as PyTorch's autocast leaves float64 alone: said once.
    """
    name, now = name_of(as_dtype(d)), str(policy.get_precision())
    if name not in (policy.SINGLE, policy.DOUBLE):
        raise ArgumentError(
            f"set_default_dtype({d}): expected torch.float32 or torch.float64; --precision says in "
            "which format a script computes"
        )
    if (name == policy.DOUBLE) == (now == policy.DOUBLE):
        return
    if name == policy.DOUBLE:
        _before[:] = [now]
        if now != policy.SINGLE:
            warn_once("float64", f"set_default_dtype({d}): from here on nothing is in {now}")
    policy.set_precision(name if name == policy.DOUBLE else _before[0])


def set_default_tensor_type(t: Any) -> None:
    """As set_default_dtype, by a type's name or the type, such as torch.FloatTensor."""
    name = t if isinstance(t, str) else getattr(t, "__name__", str(t))
    dtype = TYPED.get(name.rpartition(".")[2])
    if dtype is None or "cuda" in name:
        raise ArgumentError(f"set_default_tensor_type({name}): expected torch.FloatTensor")
    set_default_dtype(dtype)
