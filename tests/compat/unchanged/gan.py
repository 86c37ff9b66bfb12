"""A GAN of numbers around 2: two optimizers, three backwards; see cnn.py for its small gradients.

score: 1 minus how far the mean of what the generator makes is from 2.
"""

import minifp as fp
from minifp import nn, optim

SMALL = 2.0**-20
fp.manual_seed(0)


def mlp(inputs):
    return nn.Sequential(nn.Linear(inputs, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))


generator, critic = mlp(4), mlp(1)
of_generator = optim.SGD(generator.parameters(), lr=0.02 / SMALL, momentum=0.5)
of_critic = optim.SGD(critic.parameters(), lr=0.1 / SMALL, momentum=0.5)
criterion = nn.BCEWithLogitsLoss()
ones, zeros = fp.ones(64, 1), fp.zeros(64, 1)

for _ in range(250):
    real = 2 + 0.5 * fp.randn(64, 1)
    fake = generator(fp.randn(64, 4))
    of_critic.zero_grad()
    (criterion(critic(real), ones) * SMALL).backward()
    (criterion(critic(fake.detach()), zeros) * SMALL).backward()
    of_critic.step()
    of_generator.zero_grad()
    (criterion(critic(fake), ones) * SMALL).backward()
    of_generator.step()

with fp.no_grad():
    points = generator(fp.randn(1024, 4)).float()
print(f"score={1 - abs(points.mean().item() - 2):.4f}")
