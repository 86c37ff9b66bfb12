"""torch.nn: layers of volumes and others that minifp writes by its own, and one device."""

from minifp.compat.torch.nn import layers, volumes
from minifp.compat.torch.nn.layers import *
from minifp.compat.torch.nn.parallel import DataParallel
from minifp.compat.torch.nn.volumes import *
from minifp.nn.conv import _Conv as _ConvNd
from minifp.nn.normalization import _BatchNorm

__all__ = [*layers.__all__, *volumes.__all__, "DataParallel", "_BatchNorm", "_ConvNd"]
