"""Lose half of the updates

Float16 weights without masters: an update below half the gap to the next number changes nothing.
Choose the learning rate so that, over the run, between 40% and 60% of the updates are lost.
"""

# %% program
import minifp as fp
import minifp.nn.functional as F
from minifp import optim
from minifp.models import MLP

LR = 1e-3

fp.manual_seed(0)
train, _ = fp.data.digits()
with fp.precision("mixed,master_weights=off"):
    model = MLP(64, 64, 10)
    adam = optim.Adam(model.parameters(), lr=LR)
    optimizer = fp.MixedOptimizer(adam)
for epoch in range(2):
    for x, t in fp.data.DataLoader(train, batch_size=64, shuffle=True):
        before = model.layers[1].weight.float()
        loss = F.cross_entropy(model(x), t)
        optimizer.minimize(loss)
    moved = float((model.layers[1].weight.float() != before).float().mean())
    print(f"epoch {epoch + 1}: the last step moved {moved:.0%} of the first layer's weights")

# %% check
SHOWS = (
    "Adam's updates are about as large as the learning rate. At a weight of 0.1 float16's gap is "
    "2^-14, and half of it, 3e-5, is where updates begin to drown. Nothing was Inf, nothing warned."
)


def check(run):
    if len(run.trainings) != 1:
        return f"One network was to be trained; this program trains {len(run.trainings)}."
    (training,) = run.trainings
    if f"{training.precision}" != "mixed,master_weights=off":
        return "The weights were to be float16 without masters."
    if training.used() != ("Adam", training.lr, 0, 46):
        return "Only the learning rate may change: leave Adam, the dial and the 2 epochs alone."
    lost = sum(training.lost) / max(len(training.lost), 1)
    if not 0.4 <= lost <= 0.6:
        change = "smaller" if lost < 0.4 else "larger"
        return f"{lost:.0%} of the updates were lost: the learning rate is to be {change}."
