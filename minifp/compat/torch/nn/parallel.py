"""torch.nn.parallel: one device is all there is."""

from typing import Any

from minifp.compat.torch.nothing import say_once
from minifp.nn import Module

__all__ = ["DataParallel", "data_parallel"]


class DataParallel(Module):
    """The module itself, under the name `module`: keys of its state_dict are PyTorch's."""

    def __init__(
        self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0
    ) -> None:
        super().__init__()
        say_once("nn.DataParallel", "there is one device")
        self.module = module

    def forward(self, *inputs: Any, **settings: Any) -> Any:
        """The module's own result."""
        return self.module(*inputs, **settings)


def data_parallel(
    module: Module,
    inputs: Any,
    device_ids: Any = None,
    output_device: Any = None,
    dim: int = 0,
    module_kwargs: dict[str, Any] | None = None,
) -> Any:
    """The module's own result."""
    args = inputs if isinstance(inputs, tuple) else (inputs,)
    return module(*args, **(module_kwargs or {}))
