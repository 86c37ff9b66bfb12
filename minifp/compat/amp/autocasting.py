"""PyTorch's autocast: "autocast" and "autocast-bfloat16", entered and left by PyTorch's names.

It casts at the door of each operation as the table of minifp/numerics/autocast.py says; `print(
fp.op_list())` shows it. A module that was made inside of `with fp.precision(...)` keeps that.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial, wraps
from typing import Any, cast

from minifp.autograd import cast_cache
from minifp.autograd.tape import Tensor
from minifp.checks import check_flag
from minifp.derive.dtypes import shown
from minifp.errors import ArgumentError, DeviceError, PrecisionError
from minifp.numerics import policy
from minifp.numerics.autocast import LOW, LOWS
from minifp.numerics.formats import as_dtype, is_float, name_of
from minifp.numerics.policy import Precision, get_precision
from minifp.runtime.callers import warn_once
from minifp.runtime.contexts import Context
from minifp.runtime.device import as_device
from minifp.typing import F

DEVICES = "cuda", "cpu"
FIRST = {None: LOW, "cuda": LOW, "cpu": LOWS[-1]}  # PyTorch's, by device


def older_by_position(kind: type, as_now: Callable[..., tuple[tuple, dict]]) -> Callable[[F], F]:
    """Let a constructor take arguments as it once did, where the first is of a kind that none is
    now. as_now: of those by position then, those by position and by name now."""

    def decorate(init: F) -> F:
        @wraps(init)
        def of_either(self, *args, **settings):
            named: dict = {}
            if args and isinstance(args[0], kind):
                args, named = as_now(*args)
            return init(self, *args, **named, **settings)

        return cast(F, of_either)

    return decorate


def _older_autocast(enabled, *others):
    return (None, *others[:1]), dict(zip(("enabled", "cache_enabled"), (enabled, *others[1:])))


class autocast(Context[Precision]):
    """Let operations cast their inputs to dtype or float32 by the table, in this region.

    device_type: "cuda", "cpu" or None. Operations cast alike on both; a warning says so once for
        "cuda" where there is no GPU.
    dtype: float16 or bfloat16. None takes the dtype of the surrounding autocast; outside of any, as
        in PyTorch, bfloat16 on the "cpu" and float16 otherwise.
    enabled: False, inside an autocast region, lets operations work in the formats of their inputs;
        elsewhere it changes nothing. cache_enabled: whether a weight is cast once for all
        operations of the outermost region that read it.
    A context and a decorator, which may be nested. Raises ArgumentError for another device,
    PrecisionError for another dtype (without autocast, computing in float32 is `enabled=False`).
    (`torch.autocast` of PyTorch 2.13; and its older autocast(enabled, dtype, cache_enabled), where
    the first argument is True or False.)
    """

    @older_by_position(bool, _older_autocast)
    def __init__(
        self,
        device_type: str | None = None,
        dtype: Any = None,
        enabled: bool = True,
        cache_enabled: bool | None = True,
    ) -> None:
        if device_type is not None:
            check_device("autocast", device_type)
        if device_type == "cuda" and enabled and not has_gpu():
            warn_once(
                "autocast without a GPU",
                'autocast("cuda") on a machine without a GPU: operations on the CPU cast as on a '
                'GPU (PyTorch would not cast at all). To say so, write autocast("cpu", dtype=...)',
            )
        low = None if dtype is None else name_of(as_dtype(dtype))
        if low not in (None, *LOWS):
            raise PrecisionError(
                f"autocast: dtype={low}: expected {' or '.join(LOWS)}; for no casts at all, "
                "write enabled=False"
            )
        check_flag("autocast: enabled", enabled)
        self.enabled, self.cache_enabled = bool(enabled), cache_enabled is not False
        self.dtype = low
        super().__init__(policy.active, policy.NAMED[policy.CASTING[low or FIRST[device_type]]])

    def entering(self) -> Precision:
        """The precision of the region: the one around it, in this format, where that is an autocast
        too."""
        around = get_precision()
        if around.operations is None:
            return self.value if self.enabled else around
        if not self.enabled:
            return _without_casts(around)
        return around if self.dtype in (None, around.autocast_low) else _in(self.dtype, around)

    def __enter__(self) -> Precision:
        cast_cache.enter(self.enabled and self.cache_enabled)
        return super().__enter__()

    def __exit__(self, *error: object) -> None:
        cast_cache.leave()
        super().__exit__(*error)

    def __repr__(self) -> str:
        names = "dtype", "enabled", "cache_enabled"
        return f"fp.autocast({', '.join(f'{n}={vars(self)[n]}' for n in names)})"


@cache
def _in(low, precision):
    return replace(precision, operations=precision.operations._replace(low=low))


@cache
def _without_casts(precision):
    return replace(precision, operations=None, loss_scale=None)


@cache
def has_gpu() -> bool:
    """Whether there is a GPU that CuPy finds."""
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
    """The narrow format of the autocast that is called in; outside of any, what one without a dtype
    has: bfloat16 on the "cpu", float16 on "cuda"."""
    check_device("get_autocast_dtype", device_type)
    return shown(as_dtype(get_precision().autocast_low or FIRST[device_type]))


# ---- for an autograd.Function -------------------------------------------------------------------


def custom_fwd(fwd: F | None = None, *, device_type: str = "cuda", cast_inputs: Any = None) -> Any:
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
