"""Train LeNet on handwritten digits: python scripts/train_cnn.py --precision mixed --data mnist"""

import argparse

from tqdm.auto import tqdm

import minifp as fp
import minifp.nn.functional as F
from minifp import models, optim

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--precision", default="mixed", help="or float32, float16, mixed,loss_scale=8")
parser.add_argument("--data", default="digits", choices=["digits", "mnist"])
parser.add_argument("--epochs", type=int, default=10)
parser.add_argument("--seed", type=int, default=0)
args = parser.parse_args()

fp.manual_seed(args.seed)
train, test = getattr(fp.data, args.data)()
batches = fp.data.DataLoader(train, batch_size=64, shuffle=True)
test_batches = fp.data.DataLoader(test, batch_size=256)
with fp.precision(args.precision):
    model = models.LeNet(classes=10, size=train[0][0].shape[-1])
    optimizer = fp.MixedOptimizer(optim.Adam(model.parameters(), lr=5e-3))
    steps = args.epochs * len(batches)
    schedule = optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=steps)
    for epoch in range(1, args.epochs + 1):
        skipped = 0
        for x, t in tqdm(batches, desc=f"epoch {epoch}"):
            loss = F.cross_entropy(model(x), t)
            optimizer.zero_grad()
            optimizer.backward(loss)  # the gradient of S * loss, S the loss scale
            skipped += optimizer.step().skipped  # an overflow changes no weight, and halves S
            schedule.step()
        model.eval()
        with fp.no_grad():
            right = sum((model(x).argmax(1) == t).sum().item() for x, t in test_batches)
        model.train()
        print(f"epoch {epoch}: test accuracy {100 * right / len(test):.2f}%,", end=" ")
        print(f"{skipped} steps skipped, loss scale {optimizer.scale:g}, loss {loss.item():.3f}")
