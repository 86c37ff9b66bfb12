"""Train an LSTM to write Shakespeare: python scripts/train_lstm.py --precision mixed"""

import argparse
from itertools import chain, repeat

from tqdm.auto import trange

import minifp as fp
import minifp.nn.functional as F
from minifp import models, optim

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--precision", default="mixed", help="or float32, float16, mixed,loss_scale=8")
parser.add_argument("--data", default="shakespeare", choices=["shakespeare"])
parser.add_argument("--steps", type=int, default=2000)
parser.add_argument("--seed", type=int, default=0)
args = parser.parse_args()

fp.manual_seed(args.seed)
train, test = getattr(fp.data, args.data)(length=64)
endless = chain.from_iterable(repeat(fp.data.DataLoader(train, batch_size=32, shuffle=True)))
test_batches = fp.data.DataLoader(test, batch_size=128)
with fp.precision(args.precision):
    model = models.CharLSTM(len(train.vocabulary), hidden=256)
    optimizer = fp.MixedOptimizer(optim.Adam(model.parameters(), lr=5e-3), clip_norm=1.0)
    warm_up, skipped = min(100, args.steps // 10) or 1, 0
    rise = optim.lr_scheduler.LinearLR(optimizer, 1 / warm_up, total_iters=warm_up)
    fall = optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=args.steps - warm_up)
    schedule = optim.lr_scheduler.SequentialLR(optimizer, [rise, fall], milestones=[warm_up])
    for _, (x, t) in zip(trange(args.steps, desc="steps"), endless):
        loss = F.cross_entropy(model(x), t)
        optimizer.zero_grad()
        optimizer.backward(loss)  # the gradient of S * loss, S the loss scale
        skipped += optimizer.step().skipped  # an overflow changes no weight, and halves S
        schedule.step()
    model.eval()
    with fp.no_grad():
        nats = sum(F.cross_entropy(model(x), t).item() * len(t) for x, t in test_batches)
    print(f"validation loss {nats / len(test):.3f} nats,", end=" ")
    print(f"{skipped} steps skipped, loss scale {optimizer.scale:g}")
