"""Make it diverge with one switch

Mixed precision has many switches, and this run trains well with all of them as they are. Change
one, and only one, so that nothing is learned any more or the run stops: write it after a comma, as
in "mixed,reduce=float16".
"""

# %% program
import minifp as fp
import minifp.nn.functional as F
from minifp import optim
from minifp.models import MLP

PRECISION = "mixed"

fp.manual_seed(0)
train, _ = fp.data.digits()
with fp.precision(PRECISION):
    model = MLP(64, 64, 10)
    adam = optim.Adam(model.parameters(), lr=5e-3)
    optimizer = fp.MixedOptimizer(adam)
for epoch in range(3):
    for x, t in fp.data.DataLoader(train, batch_size=64, shuffle=True):
        loss = F.cross_entropy(model(x), t)
        optimizer.minimize(loss)
    print(f"epoch {epoch + 1}: loss {float(loss):.3f}")

# %% check
from dataclasses import fields

import minifp as fp

SHOWS = (
    "Most switches forgive a small network. Adam's second moment does not: (1 - 0.999) g^2 is 0 in "
    "float16 for every gradient below about 0.005, and Adam divides by its root. Four bits "
    "a number do not either."
)


def check(run):
    if len(run.trainings) != 1:
        return f"One network was to be trained; this program trains {len(run.trainings)}."
    (training,) = run.trainings
    mixed = fp.Precision.parse("mixed")
    now = training.precision
    other = [
        f.name
        for f in fields(mixed)
        if f.compare and getattr(now, f.name) != getattr(mixed, f.name)
    ]
    if not other:
        return (
            "No switch was changed. Try weights, activations, gradients, accumulate, reduce or "
            "optimizer_state, each =float16, =float8_e4m3fn or another format, or loss_scale=off."
        )
    if len(other) > 1:
        return f"{len(other)} switches were changed ({', '.join(other)}): one was asked for."
    if training.used()[:3] != ("Adam", 5e-3, 0):
        return "Only the precision may change: leave Adam, its learning rate and the dial alone."
    if run.error is None and len(training.results) < 69:
        return "The run was to have its 3 epochs."
    if run.error is None and training.loss < 2:
        return f"{other[0]} was changed, and the loss ends at {training.loss:.2f}: it still learns."
