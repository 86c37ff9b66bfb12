"""torch.optim: the optimizer that calls its closure several times."""

from minifp.compat.torch.optim.lbfgs import LBFGS

__all__ = ["LBFGS"]
