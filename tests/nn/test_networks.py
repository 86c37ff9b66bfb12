"""The networks of the literature: as large as published, as torchvision's, and trained."""

import numpy as np
import pytest
from minifp.models.googlenet import GoogLeNetOutputs, with_auxiliary
from refusals import each_refused

import minifp as fp
from minifp import models, nn, optim
from minifp.errors import ArgumentError, ShapeError
from minifp.nn import functional as F

SIZES = {  # weights and multiply-adds: torchvision's documentation has those that it has
    "AlexNet": (61_100_840, 714_188_480),
    "VGG16": (138_357_544, 15_470_264_320),
    "VGG16BN": (138_365_992, 15_470_264_320),
    "GoogLeNet": (6_624_904, 1_498_376_192),
    "InceptionV2": (11_194_984, 2_018_851_840),
    "InceptionV3": (23_834_568, 5_713_216_096),
    "ResNet18": (11_689_512, 1_814_073_344),
    "ResNet34": (21_797_672, 3_663_761_408),
    "ResNet50": (25_557_032, 4_089_184_256),
    "PreActResNet50": (25_549_352, 4_089_184_256),
    "MobileNetV2": (3_504_872, 300_774_272),
    "DenseNet121": (7_978_856, 2_834_161_664),
    "ViTTiny": (5_717_416, 1_253_683_200),
}
NETWORKS = tuple(SIZES)
THEIRS = {"VGG16": "vgg16", "VGG16BN": "vgg16_bn", "InceptionV3": "inception_v3"}
THEIRS |= {"MobileNetV2": "mobilenet_v2"}


def test_the_first_alexnet_has_sixty_million_weights():
    """Those of Caffe's, which is of the paper."""
    found = fp.summary(lambda: models.AlexNet(original=True), (3, 224, 224), precisions=["mixed"])
    assert found.parameters == 60_965_224


@pytest.mark.sampled(3, core=lambda name: name in ("AlexNet", "ViTTiny"))
@pytest.mark.parametrize("name", SIZES)
def test_a_network_is_as_large_as_published(name):
    size = 299 if name == "InceptionV3" else 224
    found = fp.summary(getattr(models, name), (3, size, size), precisions=["mixed"])
    assert (found.parameters, found.multiply_adds) == SIZES[name]


@pytest.mark.sampled(4, core=lambda name, precision: precision != "float32")
@pytest.mark.parametrize("precision", ["mixed,loss_scale=8", "float32"])
@pytest.mark.parametrize("name", NETWORKS)
def test_small_ones_are_trained(name, precision):
    with fp.precision(precision):
        fp.manual_seed(0)
        model = getattr(models, name)(classes=4, stem="smaller", width=1 / 8)
    x, t = fp.randn(4, 3, 32, 32), fp.tensor([0, 1, 2, 3])
    optimizer, losses = fp.MixedOptimizer(optim.Adam(model.parameters(), lr=1e-3)), []
    for _ in range(4):
        loss = F.cross_entropy(model(x), t)
        optimizer.minimize(loss)
        losses.append(loss.item())
    assert np.isfinite(losses).all() and losses[-1] < losses[0]
    model.eval()
    with fp.no_grad():
        assert model(x).shape == (4, 4)


@pytest.mark.parametrize("name", NETWORKS)
def test_small_pictures_are_seen_at_full_size_too(name):
    model = getattr(models, name)(classes=3, stem="small", width=1 / 16).eval()
    with fp.no_grad():
        assert model(fp.randn(1, 3, 32, 32)).shape == (1, 3)


def test_auxiliary_classifiers_are_there_in_training_only():
    model = models.GoogLeNet(classes=3, stem="smaller", width=1 / 16, original=True)
    outputs = model(fp.randn(2, 3, 32, 32))
    assert isinstance(outputs, GoogLeNetOutputs) and outputs.aux_logits1.shape == (2, 3)
    t = fp.tensor([0, 2])
    one, two, three = (F.cross_entropy(o, t).item() for o in outputs)
    found = with_auxiliary(F.cross_entropy)(outputs, t).item()
    assert found == pytest.approx(one + 0.3 * (two + three), rel=1e-6)
    model.eval()
    assert model(fp.randn(2, 3, 32, 32)).shape == (2, 3)


test_what_cannot_be_built_is_refused = each_refused(
    (lambda: models.ResNet18(stem="tiny"), "'large', 'small', 'smaller'"),
    (lambda: models.ResNet50(width=0), "width=0"),
    (lambda: models.ResNet50(original="yes"), "expected True or False"),
    (lambda: models.ViTTiny(size=30), "multiple of its patches of 16"),
    (lambda: models.CIFARResNet(depth=21), "6 n"),
    error=ArgumentError,
)


def test_a_transformer_is_told_the_size_of_its_pictures():
    with pytest.raises(ShapeError, match="made for size=32"):
        models.ViTTiny(stem="smaller", depth=1)(fp.randn(1, 3, 16, 16))


def theirs(torchvision, name):
    build = torchvision.models
    if name == "ViTTiny":
        sizes = {"num_layers": 12, "num_heads": 3, "hidden_dim": 192, "mlp_dim": 768}
        return build.VisionTransformer(image_size=224, patch_size=16, **sizes)
    more = {"init_weights": True} if name in ("GoogLeNet", "InceptionV3") else {}
    return getattr(build, THEIRS.get(name, name.lower()))(weights=None, **more)


@pytest.mark.sampled(6, core=lambda name: name == "MobileNetV2")
@pytest.mark.parametrize(
    "name", [n for n in NETWORKS if n not in ("InceptionV2", "PreActResNet50")]
)
def test_results_and_gradients_are_those_of_torchvision_on_its_weights(torchvision, name):
    """In float64, with statistics of the batch: the differences are its rounding.

    Biases before batch normalisation have gradients of 0, of which only rounding is left.
    """
    import torch

    torch.manual_seed(0)
    their = theirs(torchvision, name).double().train()
    more = {"auxiliary": True} if name in ("GoogLeNet", "InceptionV3") else {}
    with fp.precision("float64"):
        mine = getattr(models, name)(**more)
    mine.load_state_dict({key: value.numpy() for key, value in their.state_dict().items()})
    for module in [*their.modules(), *mine.modules()]:
        if isinstance(module, (torch.nn.Dropout, nn.Dropout)):
            module.p = 0.0
    size = 299 if name == "InceptionV3" else 224
    x = np.random.default_rng(0).standard_normal((2, 3, size, size))
    with fp.precision("float64"):
        found, expected = mine(fp.tensor(x)), their(torch.from_numpy(x))
        pairs = list(zip(found, expected)) if isinstance(expected, tuple) else [(found, expected)]
        for a, b in pairs:
            scale = b.abs().max().item()
            np.testing.assert_allclose(a.numpy(), b.detach().numpy(), rtol=0, atol=1e-9 * scale)
        sum((a * a).sum() for a, _ in pairs).backward()
        sum((b * b).sum() for _, b in pairs).backward()
    largest = max(p.grad.abs().max().item() for p in their.parameters())
    weights = dict(mine.named_parameters())
    for key, p in their.named_parameters():
        atol, grad = 1e-8 * p.grad.abs().max().item() + 1e-12 * largest, weights[key].grad.numpy()
        np.testing.assert_allclose(grad, p.grad.numpy(), rtol=0, atol=atol, err_msg=key)
