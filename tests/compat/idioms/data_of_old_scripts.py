"""What scripts from before `item()` and `detach()` read from `.data`."""

import minifp as fp
import minifp.nn.functional as F
from minifp import nn

fp.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))
data, target = fp.randn(6, 4), fp.tensor([0, 1, 2, 0, 1, 2])

output = model(data)
loss = F.nll_loss(F.log_softmax(output, dim=1), target)
loss.backward()

running_loss = 0.0
running_loss += loss.data.item()
pred = output.data.max(1, keepdim=True)[1]
correct = pred.eq(target.data.view_as(pred)).cpu().sum().item()
assert 0 <= correct <= 6 and running_loss > 0

total_norm = 0.0
for p in model.parameters():
    param_norm = p.grad.data.norm(2)
    total_norm += param_norm.item() ** 2
assert total_norm > 0
assert not output.data.requires_grad and model[0].weight.data.cpu().numpy().shape == (8, 4)

# the fast gradient sign method
data.requires_grad = True
F.cross_entropy(model(data), target).backward()
perturbed_data = fp.clamp(data.data + 0.1 * data.grad.data.sign(), 0, 1)
assert perturbed_data.shape == data.shape
