"""The classifiers of models/ as workloads: whole, and as narrow as `minifp gallery` trains them.

Pictures have 32x32 pixels and a batch has 32 of them; ResNet-50 is measured at 224x224 as well, in
batches of 8. Each is trained, and asked alone: see Model.is_trained.
"""

from dataclasses import replace

from .model import SGD, Model

NETWORKS = {  # name: (architecture, the width it is narrowed to, what else it is built with)
    "alexnet": ("AlexNet", 1 / 4, {}),
    "alexnet-2012": ("AlexNet", 1 / 4, {"original": True}),
    "vgg16": ("VGG16", 1 / 8, {}),
    "vgg16bn": ("VGG16BN", 1 / 8, {}),
    "googlenet": ("GoogLeNet", 1 / 12, {}),
    "googlenet-2014": ("GoogLeNet", 1 / 12, {"original": True, "auxiliary": False}),
    "inceptionv2": ("InceptionV2", 1 / 14, {}),
    "inceptionv3": ("InceptionV3", 1 / 18, {}),
    "resnet18": ("ResNet18", 1 / 4, {}),
    "resnet34": ("ResNet34", 1 / 4, {}),
    "resnet50": ("ResNet50", 1 / 8, {}),
    "preactresnet50": ("PreActResNet50", 1 / 8, {}),
    "mobilenetv2": ("MobileNetV2", 1 / 4, {}),
    "densenet121": ("DenseNet121", 1 / 4, {}),
    "vittiny": ("ViTTiny", 1 / 3, {}),
}
DROP = ("AlexNet", "VGG16", "VGG16BN", "GoogLeNet", "InceptionV2", "InceptionV3", "MobileNetV2")
SMALLEST = {"stem": "smaller", "width": 1 / 16}


def trained(name):
    """A network at full width, with a stem for small pictures, and the same narrow."""
    architecture, width, settings = NETWORKS[name]
    stated = ", ".join(f"{key}={value}" for key, value in settings.items())
    title = f"{architecture}({stated})" if stated else architecture
    tiny = {**settings, **SMALLEST, "classes": 10}
    tiny |= {"dropout": 0.0} if architecture in DROP else {}
    tiny |= {"depth": 2} if architecture == "ViTTiny" else {}
    common = {
        "arguments": (), "shape": (32, 3, 32, 32), "optimizer": SGD,
        "drops": architecture in DROP, "tiny": {"shape": (2, 3, 32, 32), "keywords": tiny},
    }  # fmt: skip
    for suffix, what, stem in (("", "", {"stem": "small"}), (
        "-narrow", f", width 1/{1 / width:.0f}", {"stem": "smaller", "width": width},
    )):  # fmt: skip
        keywords = {**settings, **stem, "classes": 10}
        yield Model(name + suffix, title + what, architecture, keywords=keywords, **common)


LARGE = Model(
    *("resnet50-224", "ResNet50, 224x224, batch 8", "ResNet50", (), (8, 3, 224, 224), SGD),
    tiny={"shape": (2, 3, 32, 32), "keywords": {**SMALLEST, "classes": 10}},
)
TRAINED = [*(model for name in NETWORKS for model in trained(name)), LARGE]
ASKED = [
    replace(m, name=f"{m.name}-inference", title=f"{m.title}, inference", is_trained=False)
    for m in TRAINED
]
GROUPS = {
    "gallery": [m.name for m in TRAINED],
    "gallery-inference": [m.name for m in ASKED],
}
