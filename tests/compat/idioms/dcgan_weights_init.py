"""DCGAN's initial weights: normal_ on `.data`, chosen by the name of the class."""

import numpy as np

import minifp as fp
from minifp import nn, optim


def weights_init(m):
    classname = m.__class__.__name__
    if classname.find("Conv") != -1:
        nn.init.normal_(m.weight.data, 0.0, 0.02)
    elif classname.find("BatchNorm") != -1:
        nn.init.normal_(m.weight.data, 1.0, 0.02)
        nn.init.constant_(m.bias.data, 0)
    elif classname.find("Linear") != -1:
        m.weight.data.normal_(0.0, 0.02)
        m.bias.data.fill_(0)


begins = {}
for precision in ("float32", "mixed"):
    fp.manual_seed(0)
    with fp.precision(precision):
        model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.Linear(4, 2))
        model.apply(weights_init)
        optimizer = fp.MixedOptimizer(optim.Adam(model.parameters(), lr=2e-4, betas=(0.5, 0.999)))
    begins[precision] = model.state_dict()

# every precision begins from the same float32 numbers
for name, numbers in begins["float32"].items():
    assert np.array_equal(numbers.numpy(), begins["mixed"][name].numpy()), name
