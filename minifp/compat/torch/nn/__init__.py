"""torch.nn: what trains on several devices, on one."""

from minifp.compat.torch.nn.parallel import DataParallel

__all__ = ["DataParallel"]
