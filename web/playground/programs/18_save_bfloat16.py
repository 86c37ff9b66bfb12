"""Save bfloat16 without masters

bfloat16 weights alone lie eight times as far apart as float16's, and this run falls behind the one
with masters. Bring it within 0.02 of that loss without masters and at the same learning rate: a
switch that decides how an updated weight is rounded, or one that keeps what rounding leaves over.
"""

# %% program
import minifp as fp
import minifp.nn.functional as F
from minifp import optim
from minifp.models import MLP

SWITCH = ""  # such as ",reduce=bfloat16"

train, _ = fp.data.digits()
for precision in ("bfloat16", "bfloat16,master_weights=off" + SWITCH):
    fp.manual_seed(0)
    with fp.precision(precision):
        model = MLP(64, 64, 10)
        adam = optim.Adam(model.parameters(), lr=1e-4)
        optimizer = fp.MixedOptimizer(adam)
    for _ in range(12):
        for x, t in fp.data.DataLoader(train, batch_size=64, shuffle=True):
            loss = F.cross_entropy(model(x), t)
            optimizer.minimize(loss)
    print(f"{precision}: loss {float(loss):.4f}")

# %% check
SHOWS = (
    "Rounded to nearest, a small update is lost each time. Rounded at random in proportion, it "
    "arrives now and then, and is right on average (update_rounding=stochastic); or what is left "
    "over is kept for the next step (compensated=on). Both take fewer bytes than masters, or none."
)


def check(run):
    if len(run.trainings) != 2:
        return f"Two runs were asked for; there are {len(run.trainings)}."
    first, second = run.trainings
    if not first.optimizer.master_weights or second.optimizer.master_weights:
        return "The first run was to have masters, the second none."
    if second.precision.weights != first.precision.weights or f"{first.precision}" != "bfloat16":
        return "Both were to store bfloat16."
    if not first.used() == second.used() == ("Adam", 1e-4, 0, 276):
        return "Leave Adam, its learning rate, the dial and the 12 epochs alone."
    if not abs(second.loss - first.loss) < 0.02:
        return f"The losses end at {first.loss:.3f} and {second.loss:.3f}: updates are still lost."
