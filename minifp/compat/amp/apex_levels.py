"""Apex's levels: a table of properties, and what they make of a model that is there already.

(apex/amp/frontend.py and _initialize.py; O4 and O5, in bfloat16, are in that of ROCm/apex.)
"""

from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

from minifp.checks import check_flag
from minifp.compat.amp.autocasting import cast_tensors
from minifp.errors import ArgumentError
from minifp.nn.module import Module
from minifp.nn.normalization import BatchNorm1d, BatchNorm2d
from minifp.nn.parameter import Buffer, Parameter
from minifp.numerics.autocast import LOWS
from minifp.numerics.formats import as_dtype, float32, is_float, name_of, wider
from minifp.numerics.policy import LEVELS, Precision

NARROW, BRAIN = map(as_dtype, LOWS)
BATCH_NORMS = BatchNorm1d, BatchNorm2d


@dataclass(frozen=True)
class Properties:
    """One row of Apex's table, by its names; None: the level does not decide it."""

    enabled: bool
    opt_level: str
    cast_model_type: Any
    patch_torch_functions: bool
    keep_batchnorm_fp32: bool | None
    master_weights: bool | None
    loss_scale: float | str

    def __str__(self) -> str:
        values = ((f.name, getattr(self, f.name)) for f in fields(self))
        return "\n".join(f"{n:23}: {name_of(v) if hasattr(v, 'kind') else v}" for n, v in values)


TABLE = {
    "O0": Properties(True, "O0", float32, False, None, False, 1.0),
    "O1": Properties(True, "O1", None, True, None, None, "dynamic"),
    "O2": Properties(True, "O2", NARROW, False, True, True, "dynamic"),
    "O3": Properties(True, "O3", NARROW, False, False, False, 1.0),
    "O4": Properties(True, "O4", None, True, None, None, 1.0),
    "O5": Properties(True, "O5", BRAIN, False, True, True, 1.0),
}
WHAT = {
    "O0": "Pure FP32 training.",
    "O1": "Insert automatic casts around operations.",
    "O2": "FP16 training with FP32 batchnorm and FP32 master weights.",
    "O3": "Pure FP16 training.",
    "O4": "Insert automatic casts around operations, in BFLOAT16.",
    "O5": "BFLOAT16 training with FP32 batchnorm and FP32 master weights.",
}


def truth_of(flag: Any) -> Any:
    """True or False of the texts that command lines give."""
    return {"True": True, "False": False}.get(flag, flag) if isinstance(flag, str) else flag


def loss_scale_of(scale: Any) -> Any:
    """ "dynamic", None or a float. Raises ArgumentError for anything else."""
    if scale is None or scale == "dynamic":
        return scale
    try:
        return float(scale)
    except (TypeError, ValueError):
        raise ArgumentError(f'loss_scale={scale!r}: expected "dynamic" or a number') from None


def check_overrides(opt_level: str, overrides: dict[str, Any]) -> None:
    """Raise ArgumentError for properties that contradict the level, in Apex's words."""
    for name in ("keep_batchnorm_fp32", "master_weights"):
        if name in overrides:
            check_flag(f"amp.initialize: {name}", overrides[name])
    if not TABLE[opt_level].patch_torch_functions:
        return
    if "keep_batchnorm_fp32" in overrides:
        raise ArgumentError(
            f"With opt_level {opt_level}, batchnorm functions are automatically patched to run "
            "in FP32, so keep_batchnorm_fp32 should be None."
        )
    if overrides.get("master_weights"):
        raise ArgumentError(
            f"It doesn't make sense to use master_weights with {opt_level}. With {opt_level}, your "
            "model weights themselves should be FP32."
        )
    if "cast_model_type" in overrides:
        raise ArgumentError(
            f"{opt_level} inserts casts around operations, so with {opt_level}, the model weights "
            "themselves should remain FP32: cast_model_type should be None."
        )


def check_wide(model: Module) -> None:
    """Raise ArgumentError for a model with parameters in float16, as Apex does."""
    for name, p in model.named_parameters():
        if p.dtype != wider(p.dtype, float32):
            raise ArgumentError(
                f"amp.initialize: found parameter {name} in {p.dtype}, expected float32: at "
                "every opt_level, pass models as you created them, outside of a mixed precision, "
                "without .half() and without an earlier initialize"
            )


def convert(model: Module, properties: Properties, cast_model_outputs: Any) -> None:
    """Let a model store and compute as the properties say."""
    precision = precision_of(properties)
    format = properties.cast_model_type
    store_in(model, precision, format, BATCH_NORMS if properties.keep_batchnorm_fp32 else ())
    if format is not None and format != float32:
        output = float32 if cast_model_outputs is None else as_dtype(cast_model_outputs)
        model.register_forward_pre_hook(partial(_cast_inputs, format=format))
        model.register_forward_hook(partial(_cast_output, format=output))


def store_in(model: Module, precision: Precision, format: Any, wide: tuple[type, ...]) -> None:
    """Let a model that is there compute in a precision, and store its numbers in a format, but for
    modules of the kinds `wide`. format: None leaves all as they are."""
    model.precision = precision
    for module in model.modules():
        for t in vars(module).values():
            if isinstance(t, Parameter):
                t.precision = precision
            if isinstance(t, (Parameter, Buffer)) and is_float(t.dtype):
                if format is not None and not isinstance(module, wide):
                    t.convert(format)


def precision_of(properties: Properties) -> Precision:
    """What minifp calls this row of the table."""
    level = Precision.parse(LEVELS[properties.opt_level])
    if properties.patch_torch_functions:
        return level
    format = name_of(properties.cast_model_type)
    norms = float32.name if properties.keep_batchnorm_fp32 else format
    return replace(
        level,
        storage=format,
        norm_parameters=norms,
        master_weights=bool(properties.master_weights),
        loss_scale=None if properties.loss_scale == 1 else properties.loss_scale,
    )


def _cast_inputs(module, args, format):
    return cast_tensors(args, format)


def _cast_output(module, args, output, format):
    return cast_tensors(output, format)
