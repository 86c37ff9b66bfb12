"""A target network as in DQN and DDPG: copied, and then moved a little at a time, through .data."""

import copy

import numpy as np

import minifp as fp
from minifp import nn

fp.manual_seed(0)
with fp.precision("mixed"):
    online = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
    target = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
    third = copy.deepcopy(online)

for target_param, param in zip(target.parameters(), online.parameters()):
    target_param.data.copy_(param.data)
for copied in (target, third):
    for a, b in zip(copied.state_dict().values(), online.state_dict().values()):
        assert np.array_equal(a.numpy(), b.numpy())  # also what float16 does not hold

tau = 1e-4
for p in online.parameters():
    p.data.fill_(1.0)
for p in target.parameters():
    p.data.fill_(0.5)
for _ in range(100):
    for target_param, param in zip(target.parameters(), online.parameters()):
        target_param.data.copy_(tau * param.data + (1.0 - tau) * target_param.data)
        target_param.data.mul_(1.0 - tau)
        target_param.data.add_(tau * param.data)
