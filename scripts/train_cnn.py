"""Train LeNet on handwritten digits: python scripts/train_cnn.py --precision mixed --data mnist"""

import argparse

from tqdm.auto import tqdm

import minifp as fp
import minifp.nn.functional as F
from minifp import optim
from minifp.models import LeNet

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--precision", default="mixed", help="float32, mixed, float16, or with switches")
parser.add_argument("--data", default="digits", choices=["digits", "mnist"])
parser.add_argument("--epochs", type=int, default=10)
parser.add_argument("--seed", type=int, default=0)
args = parser.parse_args()

fp.manual_seed(args.seed)
train, test = getattr(fp.data, args.data)()
batches = fp.data.DataLoader(train, batch_size=64, shuffle=True)
with fp.precision(args.precision):
    model = LeNet(classes=10, size=train[0][0].shape[-1])
    optimizer = fp.MixedOptimizer(optim.Adam(model.parameters(), lr=2e-3))
    schedule = optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=args.epochs * len(batches))
    for epoch in range(1, args.epochs + 1):
        skipped = 0
        for x, t in tqdm(batches, desc=f"epoch {epoch}"):
            loss = F.cross_entropy(model(x), t)
            optimizer.zero_grad()
            optimizer.backward(loss)  # from the loss scale S back to every weight
            skipped += optimizer.step().skipped  # where a gradient overflowed: no update, S halved
            schedule.step()
        model.eval()
        with fp.no_grad():
            batch_hits = [(model(x).argmax(1) == t).sum() for x, t in fp.data.DataLoader(test, 256)]
        model.train()
        accuracy = 100 * sum(hits.item() for hits in batch_hits) / len(test)
        print(f"epoch {epoch}: accuracy {accuracy:.2f}%, {skipped} skipped, S = {optimizer.scale:g}")
