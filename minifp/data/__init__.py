"""Data: what is bundled, what is found or downloaded, one's own, and batches of it.

Importing this reads and downloads nothing; calling `digits()` and the others does.
"""

from minifp.data import transforms
from minifp.data.cifar import cifar10, cifar100
from minifp.data.dataset import Dataset, TensorDataset, fingerprint
from minifp.data.detection.blood_cells import bccd
from minifp.data.detection.boxed import BoxedPictures
from minifp.data.detection.coco import CocoDetection
from minifp.data.detection.collating import detection_collate
from minifp.data.detection.scenes import digit_scenes
from minifp.data.detection.voc import VOCDetection
from minifp.data.folder import ImageFolder
from minifp.data.images import digits, fashion_mnist, mnist
from minifp.data.loader import DataLoader
from minifp.data.parts import ConcatDataset, Subset, random_split
from minifp.data.structure import default_collate
from minifp.data.text import TextDataset, shakespeare

__all__ = [
    "BoxedPictures",
    "CocoDetection",
    "ConcatDataset",
    "DataLoader",
    "Dataset",
    "ImageFolder",
    "Subset",
    "TensorDataset",
    "TextDataset",
    "VOCDetection",
    "bccd",
    "cifar10",
    "cifar100",
    "default_collate",
    "detection_collate",
    "digit_scenes",
    "digits",
    "fashion_mnist",
    "fingerprint",
    "mnist",
    "random_split",
    "shakespeare",
    "transforms",
]
