"""Arguments that PyTorch's scripts give and that change nothing here, or have another name here.

Each row of NOTHING: names, with blanks between, and with which values they are taken: ANY, or one
of some. Where there is more to decide, a function does. All others are refused by name, with what
advice.py says. A call without such arguments comes nowhere near: runtime/unknown_arguments.py looks
when one has failed.
"""

import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from minifp.autograd.grad_mode import is_recording, no_grad
from minifp.autograd.tape import Tensor
from minifp.checks import check_flag
from minifp.errors import DeviceError, DTypeError, ShapeError, TapeError
from minifp.nn import Module
from minifp.numerics.formats import as_dtype, is_float
from minifp.numerics.policy import get_precision
from minifp.ops.binding import overwritten
from minifp.runtime.callers import level_of_user
from minifp.runtime.device import as_device
from minifp.runtime.unknown_arguments import Call, title

channels_last, contiguous_format = "channels_last", "contiguous_format"  # memory is in C order
preserve_format = "preserve_format"
ANY = ()
NOTHING: tuple[tuple[str, tuple], ...] = (
    # how something is done, which decides no number
    ("non_blocking pin_memory foreach fused _stacklevel", ANY),
    ("memory_format", (None, channels_last, contiguous_format, preserve_format)),
    # what is asked for by another value than these
    ("generator layout max_norm inputs map_location destination _weight", (None,)),
    ("create_graph capturable differentiable scale_grad_by_freq sparse", (None, False)),
    ("keep_vars assign is_grads_batched materialize_grads verbose", (None, False)),
    ("_freeze", (None, False)),
    ("only_inputs", (True,)),
    ("norm_type", (2.0,)),
)
LAYERS = """
    AdaptiveLogSoftmaxWithLoss _BatchNorm _InstanceNorm _Straight _Transposed RNNCellBase GroupNorm
    LayerNorm Linear MultiheadAttention PReLU RMSNorm Transformer _Layer
"""
OLD = "size_average reduce reduction"
BEYOND = (  # names of functions and classes, and what PyTorch has after what they have by position
    (LAYERS, "device dtype"),
    ("Embedding", "max_norm norm_type scale_grad_by_freq sparse _weight _freeze device dtype"),
    ("embedding", "max_norm norm_type scale_grad_by_freq sparse"),
    ("MSELoss L1Loss BCELoss CosineEmbeddingLoss mse_loss l1_loss binary_cross_entropy", OLD),
    ("cosine_embedding_loss", OLD),
    ("BCEWithLogitsLoss binary_cross_entropy_with_logits", f"{OLD} pos_weight"),
    ("KLDivLoss kl_div", f"{OLD} log_target"),
    ("SmoothL1Loss smooth_l1_loss", f"{OLD} beta"),
    (
        "CrossEntropyLoss cross_entropy",
        "size_average ignore_index reduce reduction label_smoothing",
    ),
    ("NLLLoss nll_loss", "size_average ignore_index reduce reduction label_smoothing"),
    (
        "celu dropout dropout1d dropout2d elu hardsigmoid hardswish hardtanh leaky_relu mish relu "
        "relu6 selu silu",
        "inplace",
    ),
    ("softmax log_softmax", "_stacklevel dtype"),
    ("copy_", "non_blocking"),
    ("backward", "retain_graph create_graph inputs"),
    (
        "DataLoader",
        "sampler batch_sampler num_workers collate_fn pin_memory drop_last timeout worker_init_fn "
        "multiprocessing_context generator",
    ),
)


def take_out(call: Call, name: str, values: tuple) -> None:
    """Leave out an argument with a value that changes nothing."""
    value = call.settings[name]
    if not values or any(type(value) is type(v) and value == v for v in values):
        del call.settings[name]


def take_place(call: Call, name: str) -> None:
    """Leave out the device or the dtype of a layer whose parameters have it anyway, or None."""
    value = call.settings[name]
    if value is not None:
        if call.function.__name__ != "__init__" or not isinstance(call.args[0], Module):
            return
        if name == "device" and not is_default(value):
            return
        if name == "dtype" and {as_dtype(value)} != formats_of_parameters():
            return
    del call.settings[name]


def is_default(device: Any) -> bool:
    """Whether it is the device on which tensors are made that ask for none."""
    with suppress(DeviceError):
        return as_device(device) == as_device(None)
    return False


def formats_of_parameters() -> set:
    """Those in which parameters are stored that are made now."""
    precision = get_precision()
    return {as_dtype(precision.weights), as_dtype(precision.norm_parameters)}


def take_reduction(call: Call, name: str) -> None:
    """size_average and reduce, as PyTorch reads them: they decide the reduction."""
    if "reduction" not in call.known:
        return take_out(call, name, (None,))
    average, reduces = (call.settings.pop(n, None) for n in ("size_average", "reduce"))
    if average is None and reduces is None:
        return
    reduction = "none" if reduces not in (None, True) else "sum"
    if reduction == "sum" and average in (None, True):
        reduction = "mean"
    call.settings["reduction"] = reduction
    warnings.warn(
        f"{title(call.function, call.args)}: size_average and reduce are older arguments: write "
        f"reduction={reduction!r}",
        DeprecationWarning,
        stacklevel=level_of_user(),
    )


def take_out_tensors(call: Call, name: str) -> None:
    """out=: None, or the tensor, of an operation, into which its result is then written; of
    several results, a tuple of them."""
    out, function = call.settings[name], call.function
    tensors = out if isinstance(out, (tuple, list)) else (out,)
    if out is not None:
        is_operation = function.__module__.startswith("minifp.ops.")
        writes = function.__name__.endswith("_")  # into its tensor
        if not is_operation or writes or not all(isinstance(t, Tensor) for t in tensors):
            return
        call.finish = partial(write_results, title(function, call.args), tensors)
    del call.settings[name]


def write_results(function: str, out: Any, result: Any) -> Any:
    """Write results into tensors, and return these. A tensor of no elements takes any shape.

    Raises TapeError where one of both requires a gradient, ShapeError and DTypeError for a tensor
    that the result does not fit; nothing is written then.
    """
    results = result if isinstance(result, tuple) else (result,)
    if len(results) != len(out):
        raise ShapeError(f"{function}: out has {len(out)} tensors: expected {len(results)}")
    for new, tensor in zip(results, out):
        if is_recording() and (new.requires_grad or tensor.requires_grad):
            raise TapeError(
                f"{function}: out with a tensor that requires a gradient, which it would lose: "
                "use fp.no_grad(), or assign the result"
            )
        if tensor.numel() and tensor.shape != new.shape:
            raise ShapeError(f"{function}: out of shape {tensor.shape}: expected {new.shape}")
        if is_float(new.dtype) and not is_float(tensor.dtype):
            raise DTypeError(f"{function}: out of {tensor.dtype} for a result of {new.dtype}")
    with no_grad():
        for new, tensor in zip(results, out):
            (tensor if tensor.shape == new.shape else tensor.resize_(*new.shape)).copy_(new)
    return type(result)(*out) if hasattr(result, "_fields") else out[0] if len(out) == 1 else out


def take_inplace(call: Call, name: str) -> None:
    """inplace: whether the input becomes the result."""
    value, function = call.settings.pop(name), title(call.function, call.args)
    check_flag(f"{function}: inplace", value)
    if value:
        x: Any = call.args[0] if call.args else call.settings.get("input")
        call.finish = partial(overwritten, x, name=f"{function}(inplace=True)")


TAKEN: dict[str, Callable[[Call, str], None]] = {  # by an argument's name: what takes it
    **{n: partial(take_out, values=values) for names, values in NOTHING for n in names.split()},
    **dict.fromkeys(("device", "dtype"), take_place),
    **dict.fromkeys(("size_average", "reduce"), take_reduction),
    "out": take_out_tensors,
    "inplace": take_inplace,
}
ORDER = {name: beyond.split() for names, beyond in BEYOND for name in names.split()}
