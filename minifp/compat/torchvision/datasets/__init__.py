"""torchvision.datasets: those that are read from minifp.data's files, folders, and random ones."""

from minifp.compat.torchvision.datasets.at_random import FakeData
from minifp.compat.torchvision.datasets.base import VisionDataset
from minifp.compat.torchvision.datasets.folder import DatasetFolder, ImageFolder
from minifp.compat.torchvision.datasets.published import CIFAR10, CIFAR100, MNIST, FashionMNIST

__all__ = ["CIFAR10", "CIFAR100", "DatasetFolder", "FakeData", "FashionMNIST", "ImageFolder"]
__all__ += ["MNIST", "VisionDataset"]
