"""fluid.contrib.mixed_precision of PaddlePaddle 1: an optimizer is decorated with a loss scale.

    optimizer = fp.paddle.mixed_precision.decorate(optim.Adam(model.parameters()))
    optimizer.minimize(loss)

What comes back is an fp.MixedOptimizer, whose `scale` is fluid's `get_loss_scaling()`. In which
formats the model computes is not for the optimizer to say: see fp.paddle.amp.

Source: PaddlePaddle 2.1, `fluid/contrib/mixed_precision/decorator.py` and the kernel
`update_loss_scaling`, which starts both counts anew where S changes or a step is of the other kind.
"""

import sys
from collections.abc import Iterable
from typing import Any

from minifp.errors import ArgumentError, PrecisionError
from minifp.optim.optimizer import Optimizer
from minifp.training.loss_scale import LARGEST, DynamicLossScale, StaticLossScale
from minifp.training.mixed import MixedOptimizer

__all__ = ["decorate"]

FORMATS = 'is for the model: fp.precision("{}"), or fp.paddle.amp.auto_cast({})'
INSTEAD = {  # arguments that would do nothing here, and what does
    "amp_lists": FORMATS.format("autocast", "custom_white_list=..., custom_black_list=..."),
    "use_pure_fp16": FORMATS.format("mixed", 'level="O2"'),
    "use_fp16_guard": FORMATS.format("mixed", 'level="O2"'),
    "loss_scale": "is fp.MixedOptimizer's: here S begins with init_loss_scaling=...",
}
OURS = {  # Paddle's name of a setting -> that of DynamicLossScale
    "init_loss_scaling": "init_scale",
    "incr_every_n_steps": "growth_interval",
    "decr_every_n_nan_or_inf": "backoff_interval",
    "incr_ratio": "growth_factor",
    "decr_ratio": "backoff_factor",
}


def decorate(
    optimizer: Optimizer | Iterable[Optimizer],
    *,
    init_loss_scaling: float = 2.0**15,
    incr_every_n_steps: int = 1000,
    decr_every_n_nan_or_inf: int = 2,
    incr_ratio: float = 2.0,
    decr_ratio: float = 0.8,
    use_dynamic_loss_scaling: bool = True,
    **others: Any,
) -> MixedOptimizer:
    """The optimizer, or several on one scale, with Paddle's loss scale S and its defaults.

    S is multiplied by incr_ratio after so many good steps in a row, and by decr_ratio after so many
    steps in a row with Inf or NaN, each of which is skipped; it stays at least 1. Without
    use_dynamic_loss_scaling S is init_loss_scaling. Training stops, with a TrainingError, where
    50 steps in a row were skipped and S cannot get smaller.
    Raises ArgumentError for what is not decided by an optimizer here, and for a count that is none;
    PrecisionError for a scale or ratio that cannot be.
    """
    for name in others:
        instead = INSTEAD.get(name, f"is not known: expected {', '.join(OURS)}")
        raise ArgumentError(f"decorate({name}=...): {name} {instead}")
    intervals, ratios = (incr_every_n_steps, decr_every_n_nan_or_inf), (incr_ratio, decr_ratio)
    scale = loss_scale_of(use_dynamic_loss_scaling, (init_loss_scaling, *intervals, *ratios))
    return MixedOptimizer(optimizer, scale)


def loss_scale_of(is_dynamic: bool, values: Iterable[Any]) -> StaticLossScale:
    """The loss scale of Paddle's settings, in the order of OURS. Raises what `decorate` does, in
    Paddle's words."""
    settings = dict(zip(OURS.values(), values))
    try:
        static = StaticLossScale(settings["init_scale"], sys.maxsize)
        bounds = {"min_scale": min(1.0, static.value), "max_scale": LARGEST}
        if is_dynamic:
            return DynamicLossScale(**settings, **bounds, patience=sys.maxsize)
        return static
    except (ArgumentError, PrecisionError) as error:
        text = str(error).replace("loss scale=", "init_loss_scaling=")
        for theirs, ours in OURS.items():
            text = text.replace(f"{ours}=", f"{theirs}=")
        raise type(error)(text) from None
