"""Let the run find S

The gradients are 2^20 times smaller than usual. Nobody tells the run which S to use: it begins
with S = 1 and has 92 steps. Set the rule of the dynamic loss scale so that S climbs in time, and
the loss ends below 0.6.
"""

# %% program
import minifp as fp
import minifp.nn.functional as F
from minifp import optim
from minifp.models import MLP

rule = fp.DynamicLossScale(1.0, growth_interval=2000)

fp.manual_seed(0)
train, _ = fp.data.digits()
with fp.precision("mixed"):
    model = MLP(64, 64, 10)
    adam = optim.Adam(model.parameters(), lr=5e-3)
    optimizer = fp.MixedOptimizer(adam, loss_scale=rule, dial=20)
for epoch in range(4):
    for x, t in fp.data.DataLoader(train, batch_size=64, shuffle=True):
        loss = F.cross_entropy(model(x), t)
        result = optimizer.minimize(loss)
    print(f"epoch {epoch + 1}: loss {float(loss):.3f}; {result}")

# %% check
SHOWS = (
    "After growth_interval good steps in a row S is doubled. 2,000, the usual number, belongs to "
    "runs of many thousand steps that begin with a large S and come down to the right one."
)


def check(run):
    if len(run.trainings) != 1:
        return f"One network was to be trained; this program trains {len(run.trainings)}."
    (training,) = run.trainings
    if training.used() != ("Adam", 5e-3, 20, 92):
        return "Only the rule may change: leave Adam, its learning rate, the dial and epochs alone."
    if training.scales[0] != 1:
        return f"S was to begin with 1; it begins with {training.scales[0]:g}."
    if training.scales != sorted(training.scales):
        return "S overflowed on its way: growing by smaller factors is enough."
    results = training.results
    if any(one.scale_after != next.scale_before for one, next in zip(results, results[1:])):
        return "S was moved between two steps: leave the slider to the rule."
    if not training.loss < 0.6:
        end = f"S is {training.scales[-1]:,.0f} and the loss {training.loss:.2f}"
        return f"After 92 steps {end}: S climbs too slowly."
