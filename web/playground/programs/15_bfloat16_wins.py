"""Make bfloat16 win

Two runs without a loss scale: one stores float16, one bfloat16, and they end alike. Choose the
dial, which makes all gradients 2^dial times smaller, so that bfloat16 ends with at most half the
loss of float16.
"""

# %% program
import minifp as fp
import minifp.nn.functional as F
from minifp import optim
from minifp.models import MLP

DIAL = 0

train, _ = fp.data.digits()
for precision in ("mixed,loss_scale=off", "bfloat16"):
    fp.manual_seed(0)
    with fp.precision(precision):
        model = MLP(64, 64, 10)
        adam = optim.Adam(model.parameters(), lr=5e-3)
        optimizer = fp.MixedOptimizer(adam, dial=DIAL)
    for _ in range(3):
        for x, t in fp.data.DataLoader(train, batch_size=64, shuffle=True):
            loss = F.cross_entropy(model(x), t)
            optimizer.minimize(loss)
    print(f"{precision}: loss {float(loss):.3f}")

# %% check
SHOWS = (
    "Both have 16 bits. bfloat16 spends eight of them on the exponent and reaches down to 2^-133; "
    "float16 spends five and ends at 2^-24. A loss scale is what float16 needs in return."
)


def check(run):
    if len(run.trainings) != 2:
        return f"Two runs were asked for; there are {len(run.trainings)}."
    half, brain = run.trainings
    wanted = ["mixed,loss_scale=off", "bfloat16"]
    if [f"{training.precision}" for training in run.trainings] != wanted:
        return f"The precisions were to stay {' and '.join(wanted)}."
    if half.used() != brain.used() or half.used() != ("Adam", 5e-3, half.optimizer.dial, 69):
        return "Only the dial may change, and it is to be the same for both."
    if set(half.scales) != {1}:
        return "Both were to train without a loss scale. Was the slider moved?"
    if not brain.loss < 0.5:
        return f"bfloat16 does not learn either: its loss ends at {brain.loss:.2f}."
    if not brain.loss <= half.loss / 2:
        ends = f"The losses end at {half.loss:.3f} and {brain.loss:.3f}"
        return f"{ends}: float16 still holds these gradients."
