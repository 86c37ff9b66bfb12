"""Mistakes: mypy reports each line that is marked so, and no other. It is checked, never run."""

import minifp as fp
import minifp.nn.functional as F
from minifp import Tensor, nn, optim

x, t = fp.ones(2, 3), fp.zeros(2, dtype="int64")
model = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
adam = optim.Adam(model.parameters(), lr=1e-3)
optimizer = fp.MixedOptimizer(adam)
fp.tensor([1.0], dtyp="float16")  # wrong
fp.tensor([1.0], requires_grad="yes")  # wrong
fp.ones("2", 3)  # wrong
x.exponential()  # wrong
x.exp(2)  # wrong
x.reshape("2")  # wrong
x.sum(dim="rows")  # wrong
x.mean(keepdims=True)  # wrong
x.clamp(minimum=0)  # wrong
x.add_("1")  # wrong
x + "1"  # wrong
x @ [1.0, 2.0, 3.0]  # wrong
middle = x.max().values  # wrong
x.max(1).item()  # wrong
x.backward(sed=2.0)  # wrong
x.register_hook("print")  # wrong
rows: str = x.shape[0]  # wrong
total: int = x.sum()  # wrong
bits: float = x.dtype  # wrong
fp.exp(2.0)  # wrong
fp.matmul(x, "x")  # wrong
fp.cat(x, dim="0")  # wrong
fp.grad(x, [1.0])  # wrong
fp.gradcheck("tanh", x)  # wrong
F.relu(x, inplce=True)  # wrong
F.softmax(x, "a")  # wrong
F.gelu(x, approximate=True)  # wrong
F.cross_entropy(x, t, reducton="sum")  # wrong
F.conv2d(x, x, stride=0.5)  # wrong
first, second, third = F.lstm(x, x, x)  # wrong
nn.Linear("3", 2)  # wrong
nn.Conv2d(1, 8)  # wrong
nn.LSTM(3, 4, bidirectionnal=True)  # wrong
nn.Sequential(F.relu)  # wrong
model.register_parameter("weight", 1.0)  # wrong
model.load_state_dict(3)  # wrong
model.train(mode="evaluation").evaluate()  # wrong


class Net(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.shape  # wrong


train, test = fp.data.digits()
fp.data.DataLoader(train, batch_size="64")  # wrong
fp.data.DataLoader(3)  # wrong
fp.data.transforms.RandomCrop(size="32")  # wrong
for batch in fp.data.DataLoader(test):
    batch.sum()  # wrong
optim.Adam(model.parameters(), lr="fast")  # wrong
optim.SGD(model)  # wrong
optim.SGD(model.parameters(), momentun=0.9)  # wrong
optim.lr_scheduler.StepLR(optimizer, step_size=0.5)  # wrong
optim.lr_scheduler.LambdaLR(optimizer, lambda count: "half")  # wrong
fp.MixedOptimizer(model)  # wrong
fp.MixedOptimizer(adam, skip=True)  # wrong
fp.DynamicLossScale(growth_interval=0.5)  # wrong
optimizer.backward(1.0)  # wrong
skipped = optimizer.step().skiped  # wrong
fp.precision(16)  # wrong
with fp.precision("mixed") as active:
    scale = active.loss_scales  # wrong
fp.save("here", modle=model)  # wrong
fp.no_grad(False)  # wrong
