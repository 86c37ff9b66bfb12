"""Networks that make pictures and judge them."""

import numpy as np
import pytest
from refusals import refuses

import minifp as fp
from minifp.errors import ArgumentError
from minifp.models import DCGAN, DCGAN128


def test_radfords_networks_are_as_large_as_drawn():
    """Figure 1 of the paper: 1,024 channels at 4x4, 512, 256, 128, and 3 at 64x64; its weights are
    16 for each pair of channels, and two for each that is normalised."""
    found, sizes = fp.summary(DCGAN, (100,), precisions=["mixed"]), [100, 1024, 512, 256, 128, 3]
    made = sum(16 * a * b for a, b in zip(sizes, sizes[1:])) + 2 * sum(sizes[1:-1])
    judged = sum(16 * a * b for a, b in zip(sizes[1:-1], sizes[2:])) + 16 * 1024
    judged += 2 * sum(sizes[1:-2])
    assert found.parameters == made + judged
    layers = {layer.path: layer for layer in found.layers}
    assert layers["generator"].output == (1, 3, 64, 64) and layers[""].output == (1,)


def test_the_larger_networks_have_the_papers_layers():
    found = fp.summary(DCGAN128, (100,), batch=2, precisions=["mixed"])
    kinds = {
        part: [layer.kind for layer in found.layers if layer.path.startswith(f"{part}.main.")]
        for part in ("generator", "discriminator")
    }
    made, judged = kinds["generator"], kinds["discriminator"]
    assert made.count("ConvTranspose2d") == 7 and made.count("LeakyReLU") == 6
    assert made[-1] == "Tanh" and made.count("BatchNorm2d") == 7
    assert judged.count("Conv2d") == 6 and judged.count("Linear") == 2
    assert judged.count("BatchNorm2d") + judged.count("BatchNorm1d") == 7
    outputs = [layer.output for layer in found.layers if layer.kind == "ConvTranspose2d"]
    assert [shape[2] for shape in outputs] == [2, 4, 8, 16, 32, 64, 128]


@pytest.mark.parametrize(
    "make, size", [(lambda: DCGAN(16, 1, 6, 1 / 64), 16), (lambda: DCGAN128(1, 6, 1 / 64), 128)]
)
def test_small_ones_make_pictures_from_minus_1_to_1(make, size):
    with fp.precision("mixed"):
        gan = make()
        pictures = gan.generator(fp.randn(2, 6))
        scores = gan.discriminator(pictures)
        scores.sum().backward()
    assert pictures.shape == (2, 1, size, size) and scores.shape == (2,)
    assert abs(pictures.numpy()).max() <= 1
    assert all(p.grad is not None for p in gan.parameters())


def test_its_weights_are_pytorchs_examples(torch):
    n = torch.nn
    with fp.precision("float64"):
        gan = DCGAN(16, 3, 5, width=1 / 64)
    made = n.Sequential(
        *(n.ConvTranspose2d(5, 16, 4, 1, 0, bias=False), n.BatchNorm2d(16), n.ReLU()),
        *(n.ConvTranspose2d(16, 8, 4, 2, 1, bias=False), n.BatchNorm2d(8), n.ReLU()),
        *(n.ConvTranspose2d(8, 3, 4, 2, 1, bias=False), n.Tanh()),
    ).double()
    judged = n.Sequential(
        *(n.Conv2d(3, 8, 4, 2, 1, bias=False), n.LeakyReLU(0.2)),
        *(n.Conv2d(8, 16, 4, 2, 1, bias=False), n.BatchNorm2d(16), n.LeakyReLU(0.2)),
        n.Conv2d(16, 1, 4, bias=False),
    ).double()
    for mine, theirs in ((gan.generator, made), (gan.discriminator, judged)):
        mine.main.load_state_dict({k: v.numpy() for k, v in theirs.state_dict().items()})
    z = np.random.default_rng(0).standard_normal((4, 5))
    with fp.precision("float64"):
        scores = gan(fp.tensor(z))
        (scores * scores).sum().backward()
    expected = judged(made(torch.tensor(z)[:, :, None, None])).flatten()
    (expected * expected).sum().backward()
    np.testing.assert_allclose(scores.numpy(), expected.detach().numpy(), rtol=1e-9, atol=1e-12)
    theirs = [*made.parameters(), *judged.parameters()]
    for a, b in zip(gan.parameters(), theirs):
        scale = b.grad.abs().max().item()
        np.testing.assert_allclose(a.grad.numpy(), b.grad.numpy(), rtol=0, atol=1e-9 * scale)


@pytest.mark.parametrize("size", [4, 24, 0, 8.0])
def test_sizes_that_no_doubling_reaches_are_refused(size):
    refuses(ArgumentError, f"size={size}", DCGAN, size)
