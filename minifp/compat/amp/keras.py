"""Keras's two names, in the words that are here."""

from typing import Any

from minifp.checks import check_choice, check_flag
from minifp.numerics.policy import SINGLE, STORING, set_precision
from minifp.optim.optimizer import Optimizer
from minifp.training.loss_scale import DynamicLossScale
from minifp.training.mixed import MixedOptimizer

VARIABLES = f"weights={SINGLE},master_weights=off"
POLICIES = {SINGLE: SINGLE} | {f"mixed_{low}": f"{p},{VARIABLES}" for low, p in STORING.items()}


def set_global_policy(policy: str) -> None:
    """Make "mixed_float16" or "mixed_bfloat16" (layers compute in float16, or in bfloat16, which
    needs no loss scale; variables are float32) or "float32" the default precision.
    (keras.mixed_precision.set_global_policy.)"""
    check_choice("policy", policy, tuple(POLICIES))
    set_precision(POLICIES[policy])


def LossScaleOptimizer(
    inner_optimizer: Optimizer,
    dynamic: bool = True,
    initial_scale: float = 2.0**15,
    dynamic_growth_steps: int = 2000,
) -> MixedOptimizer:
    """A MixedOptimizer with Keras's first scale. (keras.mixed_precision.LossScaleOptimizer.)

    dynamic: False keeps `initial_scale`. dynamic_growth_steps: how many steps in a row without Inf
    or NaN double the scale. Raises ArgumentError for other values.
    """
    check_flag("LossScaleOptimizer: dynamic", dynamic)
    scale: Any = DynamicLossScale(initial_scale, growth_interval=dynamic_growth_steps)
    return MixedOptimizer(inner_optimizer, scale if dynamic else initial_scale)
