"""Data: what is bundled, what is found or downloaded, and batches of it.

Importing this reads and downloads nothing; calling `digits()` and the others does.
"""

from minifp.data.dataset import Dataset, TensorDataset, fingerprint
from minifp.data.loader import DataLoader
from minifp.data.pictures import digits, mnist
from minifp.data.text import TextDataset, shakespeare

__all__ = [
    "DataLoader",
    "Dataset",
    "TensorDataset",
    "TextDataset",
    "digits",
    "fingerprint",
    "mnist",
    "shakespeare",
]
