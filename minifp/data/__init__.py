"""Data: what is bundled, what is found or downloaded, one's own, and batches of it.

Importing this reads and downloads nothing; calling `digits()` and the others does.
"""

from minifp.data import transforms
from minifp.data.byte_pairs import BytePairs
from minifp.data.cifar import cifar10, cifar100
from minifp.data.dataset import Dataset, TensorDataset, fingerprint
from minifp.data.folder import ImageFolder
from minifp.data.images import digits, fashion_mnist, mnist
from minifp.data.loader import DataLoader
from minifp.data.parts import ConcatDataset, Subset, random_split
from minifp.data.samplers import BucketSampler, StreamSampler
from minifp.data.sentence_pairs import EncodedPairs, SentencePairs, collate_pairs
from minifp.data.structure import default_collate
from minifp.data.text import TextDataset, shakespeare
from minifp.data.translations import multi30k
from minifp.data.words import WordDataset, shakespeare_words

__all__ = [
    "BucketSampler",
    "BytePairs",
    "ConcatDataset",
    "DataLoader",
    "Dataset",
    "EncodedPairs",
    "ImageFolder",
    "SentencePairs",
    "StreamSampler",
    "Subset",
    "TensorDataset",
    "TextDataset",
    "WordDataset",
    "cifar10",
    "cifar100",
    "collate_pairs",
    "default_collate",
    "digits",
    "fashion_mnist",
    "fingerprint",
    "mnist",
    "multi30k",
    "random_split",
    "shakespeare",
    "shakespeare_words",
    "transforms",
]
