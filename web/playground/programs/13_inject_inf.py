"""Inject an Inf

What does a mixed-precision step do with a gradient that is Inf? Make it happen at step 10 (the
first is step 0) and at no other: that step is to be skipped, S to be halved, and the run to go on
as if nothing had been.
"""

# %% program
import minifp as fp
import minifp.nn.functional as F
from minifp import optim
from minifp.models import MLP

fp.manual_seed(0)
train, _ = fp.data.digits()
with fp.precision("mixed"):
    model = MLP(64, 64, 10)
    adam = optim.Adam(model.parameters(), lr=5e-3)
    optimizer = fp.MixedOptimizer(adam)

step = 0
for _ in range(3):
    for x, t in fp.data.DataLoader(train, batch_size=64, shuffle=True):
        loss = F.cross_entropy(model(x), t)
        result = optimizer.minimize(loss)
        if step in (9, 10, 11):
            print(f"step {step}: {result}")
        step += 1

# %% check
SHOWS = (
    "The step looked at its gradients before it touched a weight, so the Inf reached none. What it "
    "costs is one batch, and half of S until the next doubling."
)


def check(run):
    if len(run.trainings) != 1:
        return f"One network was to be trained; this program trains {len(run.trainings)}."
    (training,) = run.trainings
    if training.used() != ("Adam", 5e-3, 0, 69):
        return "Leave Adam, its learning rate, the dial and the 3 epochs alone; change one loss."
    if not training.skipped:
        return "No step was skipped: at step 10 no gradient was Inf or NaN."
    if training.skipped != [10]:
        return f"Skipped were steps {training.skipped}, and it was to be step 10 alone."
    at = training.results[10]
    if at.scale_after != at.scale_before / 2:
        return "Step 10 was skipped and S was not halved: is the loss scale still dynamic?"
    if not training.loss < 0.6:
        return f"The loss ends at {training.loss:.2f}: the run did not go on as before."
