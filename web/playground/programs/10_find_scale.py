"""Find S

These gradients are 2^20 times smaller than usual, and the loss is multiplied by S = 1: almost all
of them become 0 in float16. Find a constant S with which the loss ends below 0.5 and no step is
skipped. Change nothing else.
"""

# %% program
import minifp as fp
import minifp.nn.functional as F
from minifp import optim
from minifp.models import MLP

S = 1.0

fp.manual_seed(0)
train, _ = fp.data.digits()
with fp.precision("mixed"):
    model = MLP(64, 64, 10)
    adam = optim.Adam(model.parameters(), lr=5e-3)
    optimizer = fp.MixedOptimizer(adam, loss_scale=S, dial=20)
for epoch in range(3):
    for x, t in fp.data.DataLoader(train, batch_size=64, shuffle=True):
        loss = F.cross_entropy(model(x), t)
        result = optimizer.minimize(loss)
    print(f"epoch {epoch + 1}: loss {float(loss):.3f}; {result}")

# %% check
SHOWS = (
    "A wide floor between two walls: every S from about 2^8 to 2^38 does. S moves the gradients "
    "into the range of float16 before they are stored, and is divided out again in float32."
)


def check(run):
    if len(run.trainings) != 1:
        return f"One network was to be trained; this program trains {len(run.trainings)}."
    (training,) = run.trainings
    if training.used() != ("Adam", 5e-3, 20, 69) and not run.error:
        return "Only S may change: leave Adam, its learning rate, the dial and the 3 epochs alone."
    if f"{training.precision}" != "mixed":
        return f"The precision was to stay mixed; it is {training.precision}."
    if len(set(training.scales)) != 1:
        return "S was to be one constant; here it moved. Was the slider moved?"
    S = training.scales[0]
    if training.skipped:
        count = len(training.skipped)
        return f"{count} steps were skipped: {S:g} makes gradients too large for float16."
    if not training.loss < 0.5:
        return f"The loss ends at {training.loss:.2f}: with S = {S:g} too many gradients become 0."
