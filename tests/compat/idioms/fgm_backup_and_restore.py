"""Adversarial training (FGM) on embeddings: attack `.data`, and put the backup back, every step."""

# warns: MisuseWarning: norm of gradients that are still multiplied by the loss scale

import numpy as np

import minifp as fp
import minifp.nn.functional as F
from minifp import nn, optim


class FGM:
    def __init__(self, model):
        self.model = model
        self.backup = {}

    def attack(self, epsilon=1.0, emb_name="0"):
        for name, param in self.model.named_parameters():
            if param.requires_grad and emb_name in name:
                self.backup[name] = param.data.clone()
                norm = fp.norm(param.grad)
                if norm != 0 and not fp.isnan(norm):
                    r_at = epsilon * param.grad / norm
                    param.data.add_(r_at)

    def restore(self, emb_name="0"):
        for name, param in self.model.named_parameters():
            if param.requires_grad and emb_name in name:
                assert name in self.backup
                param.data = self.backup[name]
        self.backup = {}


fp.manual_seed(0)
with fp.precision("mixed"):
    model = nn.Sequential(nn.Embedding(10, 4), nn.Flatten(), nn.Linear(8, 3))
    optimizer = fp.MixedOptimizer(optim.SGD(model.parameters(), lr=0.0))

begin = model.state_dict()
fgm = FGM(model)
x, t = fp.tensor([[1, 2], [3, 4], [5, 6]]), fp.tensor([0, 1, 2])
for _ in range(3):
    optimizer.backward(F.cross_entropy(model(x), t))
    fgm.attack()
    optimizer.backward(F.cross_entropy(model(x), t))
    fgm.restore()
    optimizer.step()
    optimizer.zero_grad()
for name, numbers in model.state_dict().items():
    assert np.array_equal(numbers.numpy(), begin[name].numpy())  # nothing was rounded on the way
