"""Data: what is bundled, what is found or downloaded, one's own, and batches of it.

Importing this reads and downloads nothing; calling `digits()` and the others does.
"""

from minifp.data import transforms
from minifp.data.cifar import cifar10, cifar100
from minifp.data.dataset import Dataset, TensorDataset, fingerprint
from minifp.data.folder import ImageFolder
from minifp.data.fsdd import spoken_digits
from minifp.data.images import digits, fashion_mnist, mnist
from minifp.data.loader import DataLoader
from minifp.data.parts import ConcatDataset, Subset, random_split
from minifp.data.sound import read_wav
from minifp.data.strings import digit_strings, spoken_digit_strings
from minifp.data.structure import default_collate
from minifp.data.text import TextDataset, shakespeare
from minifp.data.utterances import Utterances, collate_utterances

__all__ = [
    "ConcatDataset",
    "DataLoader",
    "Dataset",
    "ImageFolder",
    "Subset",
    "TensorDataset",
    "TextDataset",
    "Utterances",
    "cifar10",
    "cifar100",
    "collate_utterances",
    "default_collate",
    "digit_strings",
    "digits",
    "fashion_mnist",
    "fingerprint",
    "mnist",
    "random_split",
    "read_wav",
    "shakespeare",
    "spoken_digit_strings",
    "spoken_digits",
    "transforms",
]
