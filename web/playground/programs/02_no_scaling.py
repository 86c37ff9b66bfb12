"""The same without a loss scale

What is the loss scale for? The dial makes gradients 2^20 times smaller, as those of large models
are. Without a loss scale most of them are zero in float16, and nothing is learned.
"""

# %% program
import minifp as fp
import minifp.nn.functional as F
from minifp import optim
from minifp.models import LeNet

train, test = fp.data.digits()
for precision in ("mixed", "mixed,loss_scale=off"):
    fp.manual_seed(0)
    with fp.precision(precision):
        model = LeNet(classes=10, size=8)
        adam = optim.Adam(model.parameters(), lr=5e-3)
        optimizer = fp.MixedOptimizer(adam, dial=20)
    for _ in range(2):
        for x, t in fp.data.DataLoader(train, batch_size=64, shuffle=True):
            loss = F.cross_entropy(model(x), t)
            result = optimizer.minimize(loss)
    print(f"{precision}: loss {float(loss):.3f}, norm of the last gradient {result.grad_norm:.2g}")
