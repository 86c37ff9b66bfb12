"""Generators and discriminators of convolutions alone (Radford, Metz and Chintala 2016,
arXiv:1511.06434), and the larger ones of Micikevicius et al. 2018 (arXiv:1710.03740, section 4.6).

Noise (N, Z) -> pictures (N, C, size, size) from -1 to 1 -> scores (N), positive for what is taken
for real. Weights are drawn from N(0, 0.02), those of normalisations from N(1, 0.02). Names of the
first as in PyTorch's example: main.0, main.1, ...
"""

from minifp.models.parts import scaled

from minifp import nn
from minifp.autograd.tape import Tensor
from minifp.checks import check_count
from minifp.errors import ArgumentError

SLOPE = 0.2  # of leaky ReLU
LAST = 1024  # channels of the smallest pictures


def drawn(model: nn.Module) -> None:
    """Draw the weights of convolutions, linear layers and normalisations anew."""
    for module in model.modules():
        if isinstance(module, (nn.Conv2d, nn.ConvTranspose2d, nn.Linear)):
            nn.init.normal_(module.weight, std=0.02)
        elif isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d)):
            nn.init.normal_(module.weight, mean=1.0, std=0.02)


class Generator(nn.Module):
    """Fractionally-strided convolutions: to 4x4, and then twice as large each; tanh at the end."""

    def __init__(self, noise: int, sizes: list[int], channels: int) -> None:
        layers: list[nn.Module] = [nn.ConvTranspose2d(noise, sizes[0], 4, bias=False)]
        for inputs, outputs in zip(sizes, [*sizes[1:], channels]):
            layers += [nn.BatchNorm2d(inputs), nn.ReLU()]
            layers.append(nn.ConvTranspose2d(inputs, outputs, 4, 2, 1, bias=False))
        self.main = nn.Sequential(*layers, nn.Tanh())

    def forward(self, noise: Tensor) -> Tensor:
        return self.main(noise.reshape(*noise.shape, 1, 1))


class Discriminator(nn.Module):
    """Strided convolutions, each half as large, and one of 4x4 at the end."""

    def __init__(self, channels: int, sizes: list[int]) -> None:
        layers: list[nn.Module] = [nn.Conv2d(channels, sizes[0], 4, 2, 1, bias=False)]
        for inputs, outputs in zip(sizes, sizes[1:]):
            layers += [nn.LeakyReLU(SLOPE), nn.Conv2d(inputs, outputs, 4, 2, 1, bias=False)]
            layers.append(nn.BatchNorm2d(outputs))
        layers += [nn.LeakyReLU(SLOPE), nn.Conv2d(sizes[-1], 1, 4, bias=False)]
        self.main = nn.Sequential(*layers)

    def forward(self, pictures: Tensor) -> Tensor:
        return self.main(pictures).flatten(0)


class DCGAN(nn.Module):
    """Radford's networks for pictures of 64 pixels: `generator` and `discriminator`.

    size: of the pictures, 8, 16, 32, ...: 4x4 are doubled until then. noise: numbers of a sample.
    width: multiplies the 1,024 channels at 4x4, which are halved with each doubling. Calling it
    scores what the generator makes of noise. Raises ArgumentError for a size that is none of these.
    """

    def __init__(
        self, size: int = 64, channels: int = 3, noise: int = 100, width: float = 1.0
    ) -> None:
        size = check_count("DCGAN: size", size)
        doublings = size.bit_length() - 3
        if size != 4 * 2**doublings or doublings < 1:
            raise ArgumentError(f"DCGAN: size={size}: expected 8, 16, 32, 64, ...")
        sizes = [scaled(max(LAST // 2**i, 8), width) for i in range(doublings)]
        self.noise = check_count("DCGAN: noise", noise)
        self.generator = Generator(noise, sizes, channels)
        self.discriminator = Discriminator(channels, sizes[::-1])
        drawn(self)

    def forward(self, noise: Tensor) -> Tensor:
        return self.discriminator(self.generator(noise))


# ---- the larger one ------------------------------------------------------------------------------

WIDE = (1024, 1024, 512, 256, 128, 64)  # channels behind each up-convolution but the last
NARROW = (64, 128, 256, 512, 512, 512)  # and behind each convolution of the discriminator
HIDDEN = 1024


class Generator128(nn.Module):
    """Seven up-convolutions, from one pixel to 128, all normalised: leaky ReLU, tanh at the end."""

    def __init__(self, noise: int, channels: int, width: float) -> None:
        sizes = [noise, *(scaled(n, width) for n in WIDE), channels]
        layers: list[nn.Module] = []
        for inputs, outputs in zip(sizes, sizes[1:]):
            layers.append(nn.ConvTranspose2d(inputs, outputs, 4, 2, 1, bias=False))
            layers += [nn.BatchNorm2d(outputs), nn.LeakyReLU(SLOPE)]
        self.main = nn.Sequential(*layers[:-1], nn.Tanh())

    def forward(self, noise: Tensor) -> Tensor:
        return self.main(noise.reshape(*noise.shape, 1, 1))


class Discriminator128(nn.Module):
    """Six convolutions, from 128 pixels to 2, two linear layers; all but the last normalised."""

    def __init__(self, channels: int, width: float) -> None:
        sizes = [channels, *(scaled(n, width) for n in NARROW)]
        layers: list[nn.Module] = []
        for inputs, outputs in zip(sizes, sizes[1:]):
            layers.append(nn.Conv2d(inputs, outputs, 4, 2, 1, bias=False))
            layers += [nn.BatchNorm2d(outputs), nn.LeakyReLU(SLOPE)]
        hidden = scaled(HIDDEN, width)
        layers += [nn.Flatten(), nn.Linear(4 * sizes[-1], hidden, bias=False)]
        layers += [nn.BatchNorm1d(hidden), nn.LeakyReLU(SLOPE), nn.Linear(hidden, 1)]
        self.main = nn.Sequential(*layers)

    def forward(self, pictures: Tensor) -> Tensor:
        return self.main(pictures).flatten(0)


class DCGAN128(nn.Module):
    """Networks for pictures of 128 pixels: seven up-convolutions; six convolutions and two linear
    layers.

    As the paper on mixed precision describes those that it trained on faces. It does not say how
    wide they are: 1,024 channels at the smallest size and 64 at the largest are a choice, which
    width multiplies. Scores are logits, where it has a sigmoid behind them.
    """

    def __init__(self, channels: int = 3, noise: int = 100, width: float = 1.0) -> None:
        self.noise = check_count("DCGAN128: noise", noise)
        self.generator = Generator128(noise, channels, width)
        self.discriminator = Discriminator128(channels, width)
        drawn(self)

    def forward(self, noise: Tensor) -> Tensor:
        return self.discriminator(self.generator(noise))
