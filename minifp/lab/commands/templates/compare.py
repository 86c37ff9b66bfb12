"""The same network in several precisions, seed by seed: does that change what is learned?"""

# %%
from functools import partial
from pathlib import Path

import minifp as fp
import minifp.nn.functional as F
from minifp import models, optim

PRECISIONS = ["float32", "mixed", "mixed,master_weights=off"]
SEEDS = 2  # below 3 there is no verdict, and below 5 a weak one
FOLDER = Path("runs/compare")  # where the report and all numbers go, and the checkpoint

# %%
task = fp.Task(  # what is trained, and how it is judged: help(fp.Task)
    name="digits",
    model=lambda: models.MLP(64, 32, 10),
    data=fp.data.digits,  # bundled; your own: a function that returns two data sets
    loss=F.cross_entropy,
    optimizer=partial(optim.Adam, lr=1e-3),
    margin=1.0,  # points of accuracy that do not matter: fix it before you look at results
    batch_size=64,
    epochs=3,
)

# %%
result = fp.compare(task, PRECISIONS, seeds=SEEDS, out=FOLDER)
print(result.table())
print(result.verdict_sentence())

# %% [markdown]
# One of these runs again, to keep its weights and to look inside.

# %%
fp.manual_seed(0)
train, test = task.data()
with fp.precision("mixed"):
    model = task.model()
    optimizer = fp.MixedOptimizer(task.optimizer(model.parameters()))
loader = fp.data.DataLoader(train, task.batch_size, shuffle=True)
with fp.microscope(model, optimizer, every=10) as scope:  # looks at every 10th step
    for x, t in loader:
        optimizer.minimize(F.cross_entropy(model(x), t))
fp.save(FOLDER / "one.safetensors", model, optimizer, loader=loader)
print(scope.advice())
# scope.report(FOLDER / "scope.html")  # all that it saw, as a page: takes some seconds more
