"""A GAN whose gradients are zeroed in place: the discriminator's get the generator's pass too."""

import minifp as fp
import minifp.nn.functional as F
from minifp import nn, optim

fp.manual_seed(0)
with fp.precision("mixed"):
    D, G = nn.Linear(2, 1), nn.Linear(3, 2)
    both = [fp.MixedOptimizer(optim.SGD(m.parameters(), lr=0.05)) for m in (D, G)]
d_optimizer, g_optimizer = both

real, fake = fp.ones(16, 1), fp.zeros(16, 1)
for _ in range(4):
    for p in [*D.parameters(), *G.parameters()]:
        if p.grad is not None:
            p.grad.data.zero_()
    images, z = fp.randn(16, 2), fp.randn(16, 3)
    d_loss = F.binary_cross_entropy_with_logits(D(images), real)
    d_loss += F.binary_cross_entropy_with_logits(D(G(z).detach()), fake)
    d_optimizer.backward(d_loss)
    assert d_optimizer.step().stepped

    g_optimizer.backward(F.binary_cross_entropy_with_logits(D(G(z)), real))
    assert g_optimizer.step().stepped
