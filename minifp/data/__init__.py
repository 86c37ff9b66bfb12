"""Data: what is bundled, what is found or downloaded, one's own, and batches of it.

Importing this reads and downloads nothing; calling `digits()` and the others does.
"""

from minifp.data import transforms
from minifp.data.cifar import cifar10
from minifp.data.dataset import Dataset, TensorDataset, fingerprint
from minifp.data.folder import image_folder
from minifp.data.images import digits, mnist
from minifp.data.loader import DataLoader
from minifp.data.parts import ConcatDataset, Subset, random_split
from minifp.data.structure import default_collate
from minifp.data.text import TextDataset, shakespeare

__all__ = [
    "ConcatDataset",
    "DataLoader",
    "Dataset",
    "Subset",
    "TensorDataset",
    "TextDataset",
    "cifar10",
    "default_collate",
    "digits",
    "fingerprint",
    "image_folder",
    "mnist",
    "random_split",
    "shakespeare",
    "transforms",
]
