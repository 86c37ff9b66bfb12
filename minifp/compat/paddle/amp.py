"""paddle.amp of PaddlePaddle 2: levels of mixed precision, each one of fp.precision's.

    O0   float32     nothing is narrowed
    OD   autocast    products in float16, every other operation in float32
    O1   autocast    operations as the table says (`print(fp.op_list())`), weights in float32
    O2   mixed       all in float16, but norm layers and sums; float32 masters in the optimizer

With dtype="bfloat16" they are "autocast-bfloat16" and "bfloat16", which have no loss scale. The
table and the names of operations are minifp's.

Source: PaddlePaddle 3, `python/paddle/amp/auto_cast.py` and `amp_lists.py`.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from minifp.checks import check_choice, check_flag
from minifp.compat.amp.apex import check_fresh, guarded, several, several_optimizers
from minifp.compat.amp.apex_levels import store_in
from minifp.compat.paddle.grad_scaler import GradScaler
from minifp.errors import ArgumentError, PrecisionError
from minifp.nn.module import Module
from minifp.nn.normalization import GroupNorm, LayerNorm, RMSNorm, _BatchNorm, _InstanceNorm
from minifp.numerics.autocast import GIVEN, KIND_OF, LOW, LOWS, WIDE, WIDEST, row_of
from minifp.numerics.formats import as_dtype, name_of
from minifp.numerics.policy import CASTING, NAMED, SINGLE, STORING, Precision, precision
from minifp.optim.optimizer import Optimizer
from minifp.runtime.contexts import Context

__all__ = ["GradScaler", "auto_cast", "decorate"]

NORMS = _BatchNorm, GroupNorm, _InstanceNorm, LayerNorm, RMSNorm
# The precision of each, by the format of few bits.
LEVELS = {"O0": dict.fromkeys(LOWS, SINGLE), "OD": CASTING, "O1": CASTING, "O2": STORING}


def auto_cast(
    enable: bool = True,
    custom_white_list: Iterable[str] | None = None,
    custom_black_list: Iterable[str] | None = None,
    level: str = "O1",
    dtype: Any = LOW,
) -> Context[Precision]:
    """Compute at a level of mixed precision inside of the `with` block; also a decorator.

    enable: False is level "O0". custom_white_list, custom_black_list: names of operations that work
    in dtype, or in float32, whatever the table says; for the levels "OD" and "O1". dtype: float16
    or bfloat16. Raises ArgumentError for another level, for lists where no table is used,
    and for an operation in both; PrecisionError for another dtype, or an operation there is not.
    """
    check_flag("auto_cast: enable", enable)
    check_choice("auto_cast: level", level, LEVELS)
    low = _checked_dtype("auto_cast", dtype)
    white, black = set(custom_white_list or ()), set(custom_black_list or ())
    if white & black:
        both = ", ".join(sorted(white & black))
        raise ArgumentError(f"auto_cast: custom_white_list and custom_black_list overlap: {both}")
    policy = NAMED[LEVELS[level if enable else "O0"][low]]
    if policy.operations is None:
        if enable and (white or black):
            raise ArgumentError(f"auto_cast(level={level!r}): custom lists need level OD or O1")
        return precision(policy)
    rest = {name for name in KIND_OF if row_of(name).format in (GIVEN, WIDEST)} - {"cast"}
    edits = dict.fromkeys(rest if level == "OD" else (), WIDE)
    edits |= dict.fromkeys(black, WIDE) | dict.fromkeys(white, low)
    return precision(replace(policy, operations=(low, edits)))


def decorate(
    models: Module | Iterable[Module],
    optimizers: Optimizer | Iterable[Optimizer] | None = None,
    level: str = "O1",
    dtype: Any = LOW,
    master_weight: bool | None = None,
) -> Any:
    """Bring models and their plain optimizers to a level; returns them, as given.

    Level "O2" stores models in dtype, norm layers in float32, and has them compute in "mixed", or
    in "bfloat16", wherever they are called; optimizers keep float32 masters, unless master_weight
    is False. Levels "O0" and "O1" change nothing. models, optimizers: one or a list of each;
    optimizers that have made no step. dtype: float16 or bfloat16. Raises ArgumentError and
    PrecisionError, with nothing changed, for what does not fit.
    """
    check_choice("decorate: level", level, ("O0", "O1", "O2"))
    low = _checked_dtype("decorate", dtype)
    all_models, of_all = several("models", models, Module), several_optimizers(optimizers)
    check_fresh("decorate", of_all)
    if master_weight is not None:
        check_flag("decorate: master_weight", master_weight)
    masters = master_weight is not False
    if level == "O2":
        policy = replace(NAMED[LEVELS[level][low]], master_weights=masters)
        for model in all_models:
            store_in(model, policy, as_dtype(low), NORMS)
        guarded(of_all, masters)
    elif master_weight is not None:
        raise ArgumentError(f"decorate(level={level!r}): master_weight needs level O2")
    return models if optimizers is None else (models, optimizers)


def _checked_dtype(asked_by, dtype):
    """The name of a format that autocast may have. Raises PrecisionError for another."""
    name = name_of(as_dtype(dtype))
    if name not in LOWS:
        raise PrecisionError(f"{asked_by}(dtype={dtype!r}): expected {' or '.join(LOWS)}")
    return name
