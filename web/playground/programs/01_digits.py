"""LeNet on digits, mixed precision

Train a small network on handwritten digits: float16 weights and activations, float32 masters. Run
it, and move the slider of the loss scale S meanwhile.
"""

# %% program
import minifp as fp
import minifp.nn.functional as F
from minifp import optim
from minifp.models import LeNet

fp.manual_seed(0)
train, test = fp.data.digits()  # 1,437 and 360 pictures of 8 x 8
with fp.precision("mixed"):  # or "float32", "bfloat16", "float8"
    model = LeNet(classes=10, size=8)
    adam = optim.Adam(model.parameters(), lr=5e-3)
    optimizer = fp.MixedOptimizer(adam)

x_test, t_test = next(iter(fp.data.DataLoader(test, batch_size=len(test))))
for epoch in range(10):
    for x, t in fp.data.DataLoader(train, batch_size=64, shuffle=True):
        optimizer.minimize(F.cross_entropy(model(x), t))
    model.eval()
    with fp.no_grad():
        right = int((model(x_test).argmax(dim=1) == t_test).sum())
    model.train()
    print(f"epoch {epoch + 1}: {100 * right / len(test):.1f}% of {len(test)} test pictures")
