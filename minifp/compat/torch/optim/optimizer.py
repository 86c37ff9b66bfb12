"""torch.optim.optimizer: what stands for a setting that an optimizer must be given."""

__all__ = ["required"]


class _Required:
    def __repr__(self):
        return "<required parameter>"


required = _Required()
