"""A multilayer perceptron: (N, ...) -> (N, classes)."""

from minifp import nn
from minifp.autograd.tape import Tensor
from minifp.errors import ArgumentError


class MLP(nn.Module):
    """Linear layers of the given sizes with ReLU between them; pictures are flattened first.

    sizes: inputs, hidden layers, classes, such as MLP(64, 128, 64, 10).
    """

    def __init__(self, *sizes: int) -> None:
        if len(sizes) < 2:
            raise ArgumentError(f"MLP{sizes}: expected at least two sizes, inputs and classes")
        layers: list[nn.Module] = [nn.Flatten()]
        for inputs, outputs in zip(sizes, sizes[1:]):
            layers += [nn.Linear(inputs, outputs), nn.ReLU()]
        self.layers = nn.Sequential(*layers[:-1])

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x)
