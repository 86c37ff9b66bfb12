"""ResNet-20 at full width on all of CIFAR-10, as He et al. 2015 (arXiv:1512.03385) trained it.

Section 4.2: 50,000 pictures, cut and mirrored at random; SGD with momentum 0.9 and weight decay
0.0001, batches of 128; a learning rate of 0.1, divided by 10 after one half and three quarters of
64,000 steps. Nothing is smaller than published at the scale "full"; at the scale "evening" only the
training is, an eighth as long.
"""

from functools import partial

from minifp.exhibits.classification import pictures

from minifp import Task, optim
from minifp.data.transforms import Compose, RandomCrop, RandomHorizontalFlip
from minifp.lab import Exhibit
from minifp.models import CIFARResNet
from minifp.nn import functional as F
from minifp.optim import lr_scheduler

MARGIN = 0.5  # points
# By scale: pictures to train with and to test on, and steps.
LENGTHS = {"quick": (2_000, 1_000, 64), "evening": (50_000, 10_000, 8_000)}
LENGTHS["full"] = (50_000, 10_000, 64_000)


def divided(optimizer, steps: int):
    """A learning rate that is divided by 10 after one half and three quarters of the steps."""
    return lr_scheduler.MultiStepLR(optimizer, [steps // 2, steps * 3 // 4], gamma=0.1)


def resnet_20(scale: str) -> Task:
    """ResNet-20, for one of the scales."""
    train, test, steps = LENGTHS[scale]
    return Task(
        name="resnet-20-cifar10",
        description=f"CIFARResNet of 20 layers at full width, on {train:,} of CIFAR-10",
        model=CIFARResNet,
        data=partial(pictures, train, test),
        loss=F.cross_entropy,
        optimizer=partial(optim.SGD, lr=0.1, momentum=0.9, weight_decay=1e-4),
        schedule=divided,
        margin=MARGIN,
        batch_size=128,
        steps=steps,
        transform=Compose([RandomCrop(32, padding=4), RandomHorizontalFlip()]),
    )


EXHIBITS = (
    Exhibit(
        name="resnet-20",
        title="ResNet-20, whole",
        claim="mixed precision ends where float32 does, which is at 91.25% in He et al. 2015",
        published=None,
        task=resnet_20,
        arms=("mixed,loss_scale=1", "mixed"),
        seeds={"quick": 3, "evening": 3, "full": 3},
        searched="nothing: all settings are those of the paper",
        chance=100 / 10,
        is_own=True,
    ),
)
