"""A GAN: the generator's backward adds to gradients that the discriminator's step has used."""

import minifp as fp
import minifp.nn.functional as F
from minifp import nn, optim

fp.manual_seed(0)
with fp.precision("mixed"):
    generator = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
    discriminator = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
    optimizer_g = fp.MixedOptimizer(optim.Adam(generator.parameters(), lr=1e-3))
    optimizer_d = fp.MixedOptimizer(optim.Adam(discriminator.parameters(), lr=1e-3))
    real, fake = fp.ones(8, 1), fp.zeros(8, 1)

    for _ in range(3):
        picture = generator(fp.randn(8, 4))
        optimizer_d.zero_grad()
        on_real = F.binary_cross_entropy_with_logits(discriminator(fp.randn(8, 2)), real)
        optimizer_d.backward(on_real)
        on_fake = F.binary_cross_entropy_with_logits(discriminator(picture.detach()), fake)
        optimizer_d.backward(on_fake)
        assert optimizer_d.step().stepped

        optimizer_g.zero_grad()
        fooled = F.binary_cross_entropy_with_logits(discriminator(picture), real)
        optimizer_g.backward(fooled)
        assert optimizer_g.step().stepped
