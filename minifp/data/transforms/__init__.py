"""Changing pictures and sounds while they are loaded, at random but repeatably: augmentation.

A transform is given to the loader, `DataLoader(data, 64, shuffle=True, transform=...)`, which calls

    transform(fields, indices, draws) -> fields

with the arrays of a batch, the indices of its items in the data set, (n,), and `Draws`. All numbers
that are drawn for an item depend on the seed, the epoch's number and the item's index alone: so a
picture is changed alike in batches of another size, in another order, in every precision, with and
without `prefetch`, and after resuming in the middle of an epoch. That holds for `MixUp` and
`CutMix` too: the other picture is drawn from the whole epoch, not from the batch.

Most change the first field, pictures (n, C, H, W), and leave the others, but for `MixUp` and
`CutMix`, which change the second as well, the classes. Those of sounds, `LogSpectrogram`,
`LogMelSpectrogram` and `SpecAugment`, take utterances with their lengths, as `Utterances` gives
them. Any function of the same three arguments will do. Label smoothing is the loss's:
`F.cross_entropy(z, t, label_smoothing=0.1)`.

Where the loader has a collate_fn, which makes batches of items that are taken one by one, fields
are lists: of pictures (C, H, W), which may differ in size, of targets, and so on. Those that change
each picture by itself take both, and move the boxes of targets (see minifp/data/detection) with
what is in them; some, which make pictures of several sizes, take lists only.
"""

from minifp.data.transforms.draws import Compose, Draws
from minifp.data.transforms.erasing import RandomErasing
from minifp.data.transforms.masking import SpecAugment
from minifp.data.transforms.mixing import CutMix, MixUp
from minifp.data.transforms.one_picture import Normalize, RandomCrop, RandomHorizontalFlip
from minifp.data.transforms.photometric import RandomPhotometricDistort
from minifp.data.transforms.spectrogram import (
    LogMelSpectrogram,
    LogSpectrogram,
    hann_window,
    mel_filters,
    stft,
)
from minifp.data.transforms.with_boxes import RandomIoUCrop, RandomZoomOut, Resize

__all__ = ["Compose", "CutMix", "Draws", "LogMelSpectrogram", "LogSpectrogram", "MixUp"]
__all__ += ["Normalize", "RandomCrop", "RandomErasing", "RandomHorizontalFlip", "RandomIoUCrop"]
__all__ += ["RandomPhotometricDistort", "RandomZoomOut", "Resize", "SpecAugment", "hann_window"]
__all__ += ["mel_filters", "stft"]
