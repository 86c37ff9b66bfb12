"""The classifiers of Micikevicius et al. 2018 (arXiv:1710.03740), table 1, on CIFAR-10.

There they were trained on ImageNet; "mixed precision matches float32, without loss scaling". Here
the same architectures see 32x32 pictures through a stem that halves them, at a fraction of their
width: at most 6 million multiply-adds a picture.
"""

from functools import partial

from minifp import Task, data, optim
from minifp.lab import Exhibit, Published, ablation_exhibit
from minifp.lab.schedules import cosine
from minifp.models import (
    VGG16,
    AlexNet,
    GoogLeNet,
    InceptionV2,
    InceptionV3,
    PreActResNet50,
    with_auxiliary,
)
from minifp.nn import functional as F

WHERE = "Micikevicius et al. 2018, table 1"
WHAT = "top-1 accuracy on ImageNet, %"
CLAIM = "mixed precision ends where float32 does, without loss scaling"
ARMS = ("mixed,loss_scale=1", "mixed")
CONTROLS = ("float32@order", "float32@ulp")
MARGIN = 1.0  # points
ORIGINAL = {"original": True}  # as published, without batch normalisation
SEARCHED = (
    "Adam's rate among 0.0005, 0.001 and 0.002, for VGG-D, the ResNet and an AlexNet without "
    "response normalisation, in float32, with one seed, at the scale quick (SGD with momentum at "
    "four rates: the first two learned nothing in so few steps). With AlexNet's initial deviation "
    "of 0.01 at a quarter of its width some seeds learned nothing in any precision: it is 0.02, "
    "which keeps the deviation of sums"
)
# By scale: pictures to train with and to test on, and epochs.
LENGTHS = {"quick": (2_000, 1_000, 3), "evening": (10_000, 10_000, 6), "full": (50_000, 10_000, 5)}


def pictures(train: int, test: int):
    """The first so many pictures of CIFAR-10."""
    return tuple(
        data.Subset(whole, range(min(count, len(whole))))
        for whole, count in zip(data.cifar10(), (train, test))
    )


def auxiliary_loss(outputs, targets):
    """Cross entropy, of auxiliary classifiers too."""
    return with_auxiliary(F.cross_entropy)(outputs, targets)


def classifier(scale: str, *, name: str, network, width: float, lr: float, settings=None) -> Task:
    """A network at a fraction of its width on CIFAR-10, for one of the scales."""
    train, test, epochs = LENGTHS[scale]
    return Task(
        name=f"{name}-cifar10",
        description=f"{network.__name__}, its width times {width:.3g}, on {train:,} of CIFAR-10",
        model=partial(network, classes=10, stem="smaller", width=width, **settings or {}),
        data=partial(pictures, train, test),
        loss=auxiliary_loss if network is GoogLeNet else F.cross_entropy,
        optimizer=partial(optim.Adam, lr=lr),
        schedule=cosine,
        margin=MARGIN,
        batch_size=32,
        epochs=epochs,
    )


def exhibit(name, title, network, published, width, lr, controls=(), settings=None) -> Exhibit:
    """One line of the table. settings: what else the network is built with."""
    return Exhibit(
        name=name,
        title=title,
        claim=CLAIM,
        published=Published(published[0], published[1], WHAT, WHERE),
        task=partial(classifier, name=name, network=network, width=width, lr=lr, settings=settings),
        arms=(*controls, *ARMS),
        searched=SEARCHED,
        chance=100 / 10,
    )


PUBLISHED = (
    exhibit("alexnet", "AlexNet", AlexNet, (56.77, 56.93), 1 / 4, 1e-3, settings=ORIGINAL),
    exhibit("vgg-d", "VGG-D", VGG16, (65.40, 65.43), 1 / 8, 1e-3),
    exhibit("googlenet", "GoogLeNet", GoogLeNet, (68.33, 68.43), 1 / 12, 2e-3, settings=ORIGINAL),
    exhibit("inception-v2", "Inception v2", InceptionV2, (70.03, 70.02), 1 / 14, 2e-3),
    exhibit("inception-v3", "Inception v3", InceptionV3, (73.85, 74.13), 1 / 18, 2e-3),
    exhibit(
        "preact-resnet-50",
        "Pre-activation ResNet-50",
        PreActResNet50,
        (75.92, 76.04),
        1 / 8,
        2e-3,
        controls=CONTROLS,
    ),
)

EXHIBITS = (*PUBLISHED, ablation_exhibit(PUBLISHED[-1]))
