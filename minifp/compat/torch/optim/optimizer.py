"""torch.optim.optimizer: how optimizers of a script's own say that a setting has no default."""

__all__ = ["required"]
required = object()
