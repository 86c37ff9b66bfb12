"""torchvision.models: those of minifp.models, whose state_dicts have torchvision's keys."""

from collections.abc import Callable
from typing import Any

from minifp import models, nn
from minifp.autograd.tape import Tensor
from minifp.errors import ArgumentError
from minifp.models import resnet

__all__ = [
    "alexnet", "densenet121", "googlenet", "inception_v3", "mobilenet_v2", "resnet18", "resnet34",
    "resnet50", "resnet101", "resnet152", "vgg16", "vgg16_bn",
]  # fmt: skip
NO_WEIGHTS = (
    "weights are not downloaded. Save them with PyTorch, torch.save(model.state_dict(), path), and "
    "load them, model.load_state_dict(torch.load(path))"
)
MEANING = {"dropout": "dropout", "aux_logits": "auxiliary"}  # arguments, and ours
UNUSED = {"init_weights": (True, None), "transform_input": (False,)}  # values that ask for nothing


class ResNet(resnet.ResNet):
    """A ResNet with relu and avgpool among its modules, in torchvision's order: programs take
    `[*model.children()][:-1]`."""

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


def model(
    name: str, kind: Callable[..., Any] | str, *others: str, **defaults: Any
) -> Callable[..., Any]:
    """A function that makes a model. kind: its class, or the name that minifp.models has for it;
    others: what it takes beside num_classes, by torchvision's names. defaults: what ours gets."""

    def make(
        pretrained: Any = False, progress: bool = True, *, weights: Any = None,
        num_classes: int = 1000, **settings: Any,
    ) -> Any:  # fmt: skip
        if pretrained or weights is not None:
            raise ArgumentError(f"{name}: {NO_WEIGHTS}")
        asked = {n: v for n, v in settings.items() if v not in UNUSED.get(n, ())}
        for n in {*asked} - {*others}:
            raise ArgumentError(
                f"{name}({n}={asked[n]!r}): expected {', '.join(('num_classes', *others))}"
            )
        build = getattr(models, kind) if isinstance(kind, str) else kind
        own = {MEANING[n]: v for n, v in asked.items()}
        return build(classes=num_classes, **{**defaults, **own})

    make.__name__ = name
    make.__doc__ = f"{name} of num_classes. Raises ArgumentError for weights, and other arguments."
    return make


def deep(name: str, depths: tuple[int, ...], block: Any = resnet.Bottleneck) -> Callable[..., Any]:
    """The same of a ResNet of so many blocks in each stage."""
    kind = type(ResNet.__name__, (ResNet,), {"depths": depths, "block": block})
    return model(name, kind)


alexnet = model("alexnet", "AlexNet", "dropout")
densenet121 = model("densenet121", "DenseNet121")
googlenet = model("googlenet", "GoogLeNet", "aux_logits", "dropout", auxiliary=True)
inception_v3 = model("inception_v3", "InceptionV3", "aux_logits", "dropout", auxiliary=True)
mobilenet_v2 = model("mobilenet_v2", "MobileNetV2", "dropout")
resnet18 = deep("resnet18", (2, 2, 2, 2), resnet.BasicBlock)
resnet34 = deep("resnet34", (3, 4, 6, 3), resnet.BasicBlock)
resnet50 = deep("resnet50", (3, 4, 6, 3))
resnet101 = deep("resnet101", (3, 4, 23, 3))
resnet152 = deep("resnet152", (3, 8, 36, 3))
vgg16 = model("vgg16", "VGG16", "dropout")
vgg16_bn = model("vgg16_bn", "VGG16BN", "dropout")
