"""An LSTM that learns to write, in mixed precision: train, look inside, keep a checkpoint."""

# %%
from itertools import chain, islice, repeat
from pathlib import Path

import minifp as fp
import minifp.nn.functional as F
from minifp import nn, optim

PRECISION = "mixed"  # or "float32", "bfloat16", "mixed,loss_scale=off"
STEPS = 100
FOLDER = Path("runs/lstm")  # where the checkpoint goes
CHECKPOINT = FOLDER / "last.safetensors"


# %%
class Net(nn.Module):
    """Numbers of characters (N, T) to scores of each next one (N * T, characters)."""

    def __init__(self, characters, hidden=64):
        self.embedding = nn.Embedding(characters, 32)
        self.lstm = nn.LSTM(32, hidden, batch_first=True)
        self.out = nn.Linear(hidden, characters)

    def forward(self, x):
        return self.out(self.lstm(self.embedding(x))[0]).flatten(0, 1)


# %%
fp.manual_seed(0)
train, test = fp.data.shakespeare(length=32)  # bundled; your own text: see help(fp.data)
loader = fp.data.DataLoader(train, batch_size=32, shuffle=True)
with fp.precision(PRECISION):
    model = Net(len(train.vocabulary))  # stores its weights, activations and gradients in float16
    adam = optim.Adam(model.parameters(), lr=5e-3)
    optimizer = fp.MixedOptimizer(adam, clip_norm=1.0)  # masters, loss scale, clipping

# An earlier run's checkpoint is gone on from: delete it to begin anew.
old = fp.load(CHECKPOINT, model, optimizer, loader=loader) if CHECKPOINT.exists() else {"steps": 0}

# %%
batches = islice(chain.from_iterable(repeat(loader)), STEPS)
with fp.microscope(model, optimizer, every=10) as scope:  # looks at every 10th step
    for step, (x, t) in enumerate(batches, old["steps"] + 1):
        loss = F.cross_entropy(model(x), t.flatten())  # in float32
        result = optimizer.minimize(loss)  # backward, step, zero_grad
        if step % 20 == 0:
            fp.save(CHECKPOINT, model, optimizer, loader=loader, extra={"steps": step})
            print(f"step {step}: loss {loss.item():.3f}, S = {optimizer.scale:g}, {result.reason}")

# %%
model.eval()
with fp.no_grad():
    x, t = next(iter(fp.data.DataLoader(test, batch_size=256)))
    print(f"validation loss {F.cross_entropy(model(x), t.flatten()).item():.3f} nats")
print(scope.advice())
# scope.report(FOLDER / "scope.html")  # all that it saw, as a page: takes some seconds more
