"""Find the wall

Where does float16 overflow? Find the S from which on steps are skipped, to a factor of two: with
the first S no step is skipped, with the second, twice as large, at least one is.
"""

# %% program
import minifp as fp
import minifp.nn.functional as F
from minifp import optim
from minifp.models import MLP

S = 2.0**10

train, _ = fp.data.digits()
for scale in (S, 2 * S):
    fp.manual_seed(0)
    with fp.precision("mixed"):
        model = MLP(64, 64, 10)
        adam = optim.Adam(model.parameters(), lr=5e-3)
        optimizer = fp.MixedOptimizer(adam, loss_scale=scale)
    results = [
        optimizer.minimize(F.cross_entropy(model(x), t))
        for x, t in fp.data.DataLoader(train, batch_size=64, shuffle=True)
    ]
    print(f"S = {scale:,.0f}: {sum(r.skipped for r in results)} of {len(results)} steps skipped")

# %% check
SHOWS = (
    "The wall stands where the largest gradient times S passes 65,504. A dynamic loss scale runs "
    "into it now and then on purpose: each time one step is skipped and S is halved."
)


def check(run):
    if len(run.trainings) != 2:
        return f"Two runs were asked for, with S and with 2 S; there are {len(run.trainings)}."
    low, high = run.trainings
    if low.used() != ("Adam", 5e-3, 0, 23) or high.used() != low.used():
        return "Only S may change: leave Adam, its learning rate, the dial and the one epoch alone."
    if len(set(low.scales)) != 1 or set(high.scales) != {2 * low.scales[0]}:
        return "The second run was to have twice the S of the first, and both a constant one."
    if low.skipped:
        count = len(low.skipped)
        return f"With the first S {count} steps are skipped already: the wall is further down."
    if not high.skipped:
        return "With the second S no step is skipped yet: the wall is further up."
