"""Mixed precision by PaddlePaddle's names: `mixed_precision` is fluid's, `amp` that of Paddle 2."""

from minifp.compat.paddle import amp, mixed_precision

__all__ = ["amp", "mixed_precision"]
