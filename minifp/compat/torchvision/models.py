"""torchvision.models: those of minifp.models, whose state_dicts have torchvision's keys."""

from collections.abc import Callable
from typing import Any

from minifp import models, nn
from minifp.autograd.tape import Tensor
from minifp.errors import ArgumentError
from minifp.models import resnet

NO_WEIGHTS = (
    "weights are not downloaded. Save them with PyTorch, torch.save(model.state_dict(), path), and "
    "load them, model.load_state_dict(torch.load(path))"
)
TAKEN = {"num_classes": "classes", "dropout": "dropout", "aux_logits": "auxiliary"}  # and ours
UNUSED = {"init_weights": (True, None), "transform_input": (False,)}  # values that ask for nothing
NAMED = "AlexNet DenseNet121 GoogLeNet Inception_V3 MobileNet_V2 VGG16 VGG16_BN"  # ours, by _
VGG_DEPTHS = {11: (1, 1, 2, 2, 2), 13: (2, 2, 2, 2, 2), 19: (2, 2, 4, 4, 4)}
RESNET_DEPTHS = {18: (2, 2, 2, 2), 34: (3, 4, 6, 3), 50: (3, 4, 6, 3)}
RESNET_DEPTHS |= {101: (3, 4, 23, 3), 152: (3, 8, 36, 3)}
# By torchvision's name, ours, or how many blocks a stage has.
OURS: dict[str, Any] = {name.lower(): name.replace("_", "") for name in NAMED.split()}
OURS |= {f"vgg{n}{bn}": depths for n, depths in VGG_DEPTHS.items() for bn in ("", "_bn")}
OURS |= {f"resnet{n}": depths for n, depths in RESNET_DEPTHS.items()}
WITH_AUXILIARY = ("googlenet", "inception_v3")
__all__ = [*OURS]


class ResNet(resnet.ResNet):
    """A ResNet with relu and avgpool among its modules, in torchvision's order: programs take
    `[*model.children()][:-1]`."""

    maxpool: nn.Module

    def first(self, channels: int, outputs: int, stem: str, halvings: int) -> None:
        """conv1, bn1, relu, maxpool."""
        super().first(channels, outputs, stem, halvings)
        pool = self.maxpool
        del self.maxpool
        self.relu, self.maxpool = nn.ReLU(inplace=True), pool

    def last(self, inputs: int) -> None:
        """avgpool."""
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))

    def forward(self, x: Tensor) -> Tensor:
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(self.avgpool(x).flatten(1))


def kind_of(name: str) -> Any:
    """The class of a model."""
    if isinstance(OURS[name], str):
        return getattr(models, OURS[name])
    if name.startswith("vgg"):
        base = models.VGG16BN if name.endswith("bn") else models.VGG16
        return type("VGG", (base,), {"depths": OURS[name]})
    block = resnet.BasicBlock if name in ("resnet18", "resnet34") else resnet.Bottleneck
    return type("ResNet", (ResNet,), {"depths": OURS[name], "block": block})


def maker(name: str) -> Callable[..., Any]:
    """The function that makes a model."""

    def make(
        pretrained: Any = False, progress: bool = True, *, weights: Any = None, **settings: Any
    ) -> Any:
        if pretrained or weights is not None:
            raise ArgumentError(f"{name}: {NO_WEIGHTS}")
        used = {n: v for n, v in settings.items() if v not in UNUSED.get(n, ())}
        if {*used} - {*TAKEN}:
            raise ArgumentError(f"{name}({', '.join(used)}): expected {', '.join(TAKEN)}")
        own: dict[str, Any] = {"auxiliary": True} if name in WITH_AUXILIARY else {}
        return kind_of(name)(**own | {TAKEN[n]: v for n, v in used.items()})

    make.__name__ = name
    make.__doc__ = f"{name}. Raises ArgumentError for weights, and for arguments not in TAKEN."
    return make


globals().update({name: maker(name) for name in OURS})
