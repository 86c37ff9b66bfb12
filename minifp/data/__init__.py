"""Data: what is bundled, what is found or downloaded, one's own, and batches of it.

Importing this reads and downloads nothing; calling `digits()` and the others does.
"""

from typing import TYPE_CHECKING

from minifp.runtime import late

if TYPE_CHECKING:  # imported when they are first asked for: see `late`
    from minifp.data import transforms
    from minifp.data.byte_pairs import BytePairs
    from minifp.data.cifar import cifar10, cifar100
    from minifp.data.dataset import Dataset, IterableDataset, TensorDataset, fingerprint
    from minifp.data.detection.blood_cells import bccd
    from minifp.data.detection.boxed import BoxedPictures
    from minifp.data.detection.coco import CocoDetection
    from minifp.data.detection.collating import detection_collate
    from minifp.data.detection.scenes import digit_scenes
    from minifp.data.detection.voc import VOCDetection
    from minifp.data.folder import ImageFolder
    from minifp.data.fsdd import spoken_digits
    from minifp.data.images import digits, fashion_mnist, mnist
    from minifp.data.loader import DataLoader
    from minifp.data.parts import ConcatDataset, Subset, random_split
    from minifp.data.samplers import BucketSampler, StreamSampler
    from minifp.data.sentence_pairs import EncodedPairs, SentencePairs, collate_pairs
    from minifp.data.sound import read_wav
    from minifp.data.strings import digit_strings, spoken_digit_strings
    from minifp.data.structure import default_collate
    from minifp.data.text import TextDataset, shakespeare
    from minifp.data.torch_samplers import (
        BatchSampler,
        RandomSampler,
        Sampler,
        SequentialSampler,
        SubsetRandomSampler,
        WeightedRandomSampler,
        get_worker_info,
    )
    from minifp.data.translations import multi30k
    from minifp.data.utterances import Utterances, collate_utterances
    from minifp.data.words import WordDataset, shakespeare_words
late.attach(__name__)

__all__ = ["BatchSampler", "BoxedPictures", "BucketSampler", "BytePairs", "CocoDetection"]
__all__ += ["ConcatDataset", "DataLoader", "Dataset", "EncodedPairs", "ImageFolder"]
__all__ += ["IterableDataset", "RandomSampler", "Sampler", "SentencePairs", "SequentialSampler"]
__all__ += ["StreamSampler", "Subset", "SubsetRandomSampler", "TensorDataset", "TextDataset"]
__all__ += ["Utterances", "VOCDetection", "WeightedRandomSampler", "WordDataset", "bccd"]
__all__ += ["cifar10", "cifar100", "collate_pairs", "collate_utterances", "default_collate"]
__all__ += ["detection_collate", "digit_scenes", "digit_strings", "digits", "fashion_mnist"]
__all__ += ["fingerprint", "get_worker_info", "mnist", "multi30k", "random_split", "read_wav"]
__all__ += ["shakespeare", "shakespeare_words", "spoken_digit_strings", "spoken_digits"]
__all__ += ["transforms"]
