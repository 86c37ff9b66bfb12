"""PyTorch's autocast: the "autocast" precision, entered and left by PyTorch's names.

It casts at the door of each operation as the table of minifp/numerics/autocast.py says; `print(
fp.op_list())` shows it. A module that was made inside of `with fp.precision(...)` keeps that.
"""

from dataclasses import replace
from functools import cache, partial, wraps
from typing import Any

from minifp.autograd import cast_cache
from minifp.autograd.tape import Tensor
from minifp.checks import check_flag
from minifp.errors import ArgumentError, DeviceError, PrecisionError
from minifp.numerics import policy
from minifp.numerics.autocast import LOW
from minifp.numerics.formats import as_dtype, is_float
from minifp.numerics.policy import Precision, get_precision
from minifp.runtime.callers import warn_once
from minifp.runtime.contexts import Context
from minifp.runtime.device import as_device
from minifp.typing import F

DEVICES = "cuda", "cpu"


class autocast(Context[Precision]):
    """Let operations cast their inputs to float16 or float32 by the table, in this region.

    device_type: "cuda", "cpu" or None. Operations cast alike on both; a warning says so once for
        "cuda" where there is no GPU. dtype: float16, which is also what None means.
    enabled: False inside of an autocast region has operations work in the formats that they are
        given; elsewhere it changes nothing. cache_enabled: whether a weight is cast once for all
        operations of the outermost region that read it.
    A context and a decorator, which may be nested. Raises ArgumentError for another device,
    PrecisionError for another dtype (without autocast, computing in float32 is `enabled=False`).
    (`torch.autocast` of PyTorch 2.13.)
    """

    def __init__(
        self, device_type: str | None = None, dtype: Any = None, enabled: bool = True,
        cache_enabled: bool | None = True,
    ) -> None:  # fmt: skip
        if device_type is not None:
            check_device("autocast", device_type)
        if device_type == "cuda" and enabled and not _has_gpu():
            warn_once(
                "autocast without a GPU",
                'autocast("cuda") on a machine without a GPU: operations on the CPU cast as those '
                'on a GPU would (PyTorch would not cast at all); autocast("cpu") says that',
            )
        if dtype is not None and as_dtype(dtype).name != LOW:
            raise PrecisionError(
                f"autocast: dtype={as_dtype(dtype)}: expected {LOW}; for no casts at all "
                "say enabled=False"
            )
        check_flag("autocast: enabled", enabled)
        self.enabled, self.cache_enabled = bool(enabled), cache_enabled is not False
        super().__init__(policy.entered, policy.as_precision("autocast"))

    def entering(self) -> Precision:
        """The precision of the region: the one around it where that is an autocast too."""
        around = get_precision()
        if self.enabled:
            return self.value if around.operations is None else around
        return around if around.operations is None else _without_casts(around)

    def __enter__(self) -> Precision:
        cast_cache.enter(self.enabled and self.cache_enabled)
        return super().__enter__()

    def __exit__(self, *error: object) -> None:
        cast_cache.leave()
        super().__exit__(*error)

    def __repr__(self) -> str:
        return f"fp.autocast(enabled={self.enabled}, cache_enabled={self.cache_enabled})"


@cache
def _without_casts(precision):
    return replace(precision, operations=None, loss_scale=None)


@cache
def _has_gpu():
    try:
        return bool(as_device("cuda"))
    except DeviceError:
        return False


def check_device(asked_by: str, device: Any) -> None:
    """Raise ArgumentError for a device that is none of DEVICES."""
    if not isinstance(device, str) or device not in DEVICES:
        kind = "" if isinstance(device, str) else f", a {type(device).__name__}"
        raise ArgumentError(
            f"{asked_by}: device {device!r}{kind}: expected {' or '.join(map(repr, DEVICES))}, as "
            f'in {asked_by}("{DEVICES[-1]}")'
        )


def is_autocast_enabled(device_type: str | None = None) -> bool:
    """Whether operations that are called here cast their inputs, on every device."""
    if device_type is not None:
        check_device("is_autocast_enabled", device_type)
    return get_precision().operations is not None


def get_autocast_dtype(device_type: str) -> Any:
    """The narrow format of autocast's table, float16 on every device."""
    check_device("get_autocast_dtype", device_type)
    return as_dtype(LOW)


# ---- for an autograd.Function -------------------------------------------------------------------


def custom_fwd(
    fwd: F | None = None, *, device_type: str = "cuda", cast_inputs: Any = None
) -> Any:  # fmt: skip
    """Decorate `forward` of an fp.autograd.Function for use under autocast.

    cast_inputs: under autocast cast all floating tensors among the arguments to this format, and
    run forward without autocast; None runs it as it is. Elsewhere nothing changes.
    (`torch.amp.custom_fwd`.)
    """
    check_device("custom_fwd", device_type)
    format = None if cast_inputs is None else as_dtype(cast_inputs)
    if fwd is None:
        return partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @wraps(fwd)
    def forward(ctx: Any, *args: Any, **settings: Any) -> Any:
        ctx.fwd_used_autocast = is_autocast_enabled() and format is None
        if format is None or not is_autocast_enabled():
            return fwd(ctx, *args, **settings)
        args, settings = cast_tensors(args, format), cast_tensors(settings, format)
        with autocast(enabled=False):
            return fwd(ctx, *args, **settings)

    return forward


def custom_bwd(bwd: F | None = None, *, device_type: str = "cuda") -> Any:
    """Decorate `backward` of an fp.autograd.Function whose forward has custom_fwd.

    It runs with autocast where forward did, and without it where that cast its inputs.
    (`torch.amp.custom_bwd`.)
    """
    check_device("custom_bwd", device_type)
    if bwd is None:
        return partial(custom_bwd, device_type=device_type)

    @wraps(bwd)
    def backward(ctx: Any, *gradients: Any) -> Any:
        with autocast(enabled=ctx.fwd_used_autocast):
            return bwd(ctx, *gradients)

    return backward


def cast_tensors(values: Any, format: Any) -> Any:
    """Tensors, and those in tuples, lists and dicts, in another floating format."""
    if isinstance(values, Tensor):
        return values.to(dtype=format) if is_float(values.dtype) else values
    if isinstance(values, dict):
        return {name: cast_tensors(value, format) for name, value in values.items()}
    if type(values) in (tuple, list):
        return type(values)(cast_tensors(value, format) for value in values)
    return values
