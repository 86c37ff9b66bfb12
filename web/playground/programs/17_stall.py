"""Stall float16 weights

The same run twice, with float32 masters and without. At this learning rate both learn alike.
Choose one at which the loss of the run with masters falls by 0.01 or more, and that of the other
by less than a third of that.
"""

# %% program
import minifp as fp
import minifp.nn.functional as F
from minifp import optim
from minifp.models import MLP

LR = 1e-3

train, _ = fp.data.digits()
for precision in ("mixed", "mixed,master_weights=off"):
    fp.manual_seed(0)
    with fp.precision(precision):
        model = MLP(64, 64, 10)
        adam = optim.Adam(model.parameters(), lr=LR)
        optimizer = fp.MixedOptimizer(adam)
    for _ in range(12):
        for x, t in fp.data.DataLoader(train, batch_size=64, shuffle=True):
            loss = F.cross_entropy(model(x), t)
            optimizer.minimize(loss)
    print(f"{precision}: loss {float(loss):.4f}")

# %% check
SHOWS = (
    "Masters add up in float32 what each step is too small to write into a float16 weight. Large "
    "models end their schedules at such learning rates: the paper's first technique is for them."
)


def check(run):
    if [f"{t.precision}" for t in run.trainings] != ["mixed", "mixed,master_weights=off"]:
        return "Two runs were asked for: mixed, and then mixed,master_weights=off."
    with_masters, without = run.trainings
    if with_masters.used() != without.used() or without.used() != ("Adam", without.lr, 0, 276):
        return "Only the learning rate may change, and it is to be the same for both."
    fell, stayed = (t.losses[0] - t.loss for t in run.trainings)
    if fell < 0.01:
        return f"With masters the loss falls by {fell:.4f}: LR is too small even for them."
    if not stayed < fell / 3:
        return f"The losses fall by {fell:.3f} and {stayed:.3f}: float16 weights still follow."
