"""WGAN's critic: weights clipped after every step, through .data."""

import minifp as fp
from minifp import nn, optim

fp.manual_seed(0)
with fp.precision("mixed"):
    critic = nn.Linear(4, 1)
    optimizer = fp.MixedOptimizer(optim.RMSprop(critic.parameters(), lr=5e-5))

clip_value = 0.01
for _ in range(5):
    optimizer.zero_grad()
    optimizer.backward(-fp.mean(critic(fp.randn(8, 4))) + fp.mean(critic(fp.randn(8, 4))))
    optimizer.step()
    for p in critic.parameters():
        p.data.clamp_(-clip_value, clip_value)
for numbers in critic.state_dict().values():
    assert (abs(numbers.numpy()) <= clip_value).all()
