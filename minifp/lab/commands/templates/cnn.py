"""A convolutional network in mixed precision: train, look inside, keep a checkpoint."""

# %%
from pathlib import Path

import minifp as fp
import minifp.nn.functional as F
from minifp import nn, optim

PRECISION = "mixed"  # or "float32", "bfloat16", "mixed,loss_scale=off"
EPOCHS = 3
FOLDER = Path("runs/cnn")  # where the checkpoint goes
CHECKPOINT = FOLDER / "last.safetensors"


# %%
class Net(nn.Module):
    """Pictures (N, 1, 8, 8) to scores (N, 10)."""

    def __init__(self):
        self.conv1, self.conv2 = nn.Conv2d(1, 16, 3, padding=1), nn.Conv2d(16, 32, 3, padding=1)
        self.out = nn.Linear(32 * 2 * 2, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.out(x.flatten(1))


# %%
fp.manual_seed(0)
train, test = fp.data.digits()  # bundled; your own arrays: fp.data.TensorDataset(x, t)
loader = fp.data.DataLoader(train, batch_size=64, shuffle=True)
with fp.precision(PRECISION):
    model = Net()  # stores its weights, activations and gradients in float16
    optimizer = fp.MixedOptimizer(optim.Adam(model.parameters(), lr=5e-3))  # masters, loss scale

# An earlier run's checkpoint is gone on from: delete it to begin anew.
old = fp.load(CHECKPOINT, model, optimizer, loader=loader) if CHECKPOINT.exists() else {"epoch": 0}

# %%
with fp.microscope(model, optimizer, every=10) as scope:  # looks at every 10th step
    for epoch in range(old["epoch"] + 1, old["epoch"] + 1 + EPOCHS):
        skipped = 0
        for x, t in loader:
            loss = F.cross_entropy(model(x), t)  # in float32
            skipped += optimizer.minimize(loss).skipped  # backward, step, zero_grad
        fp.save(CHECKPOINT, model, optimizer, loader=loader, extra={"epoch": epoch})
        print(f"epoch {epoch}: loss {loss.item():.3f}, {skipped} skipped, S = {optimizer.scale:g}")

# %%
model.eval()
with fp.no_grad():
    x, t = next(iter(fp.data.DataLoader(test, batch_size=len(test))))
    print(f"test accuracy {(model(x).argmax(1) == t).float().mean().item():.1%}")
print(scope.advice())
# scope.report(FOLDER / "scope.html")  # all that it saw, as a page: takes some seconds more
