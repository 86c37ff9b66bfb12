"""Train an LSTM to continue a text: python scripts/train_lstm.py --precision mixed --steps 2000"""

import argparse
from itertools import chain, islice, repeat

from tqdm.auto import tqdm

import minifp as fp
import minifp.nn.functional as F
from minifp import optim
from minifp.models import CharLSTM
from minifp.optim.lr_scheduler import CosineAnnealingLR, LinearLR, SequentialLR

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--precision", default="mixed", help="float32, mixed, float16, or with switches")
parser.add_argument("--data", default="shakespeare", choices=["shakespeare"])
parser.add_argument("--steps", type=int, default=2000)
parser.add_argument("--seed", type=int, default=0)
args = parser.parse_args()

fp.manual_seed(args.seed)
train, test = getattr(fp.data, args.data)(length=64)
epochs = repeat(fp.data.DataLoader(train, batch_size=32, shuffle=True))
with fp.precision(args.precision):
    model = CharLSTM(len(train.vocabulary), hidden=256)
    optimizer = fp.MixedOptimizer(optim.Adam(model.parameters(), lr=5e-3), clip_norm=1.0)
    warm_up = min(100, args.steps // 10) or 1
    rise = LinearLR(optimizer, start_factor=1 / warm_up, total_iters=warm_up)
    fall = CosineAnnealingLR(optimizer, T_max=args.steps - warm_up)
    schedule = SequentialLR(optimizer, [rise, fall], milestones=[warm_up])
    skipped = 0
    for x, t in tqdm(islice(chain.from_iterable(epochs), args.steps), total=args.steps):
        skipped += optimizer.minimize(F.cross_entropy(model(x), t)).skipped
        schedule.step()
    model.eval()
    with fp.no_grad():
        losses = [F.cross_entropy(model(x), t).item() for x, t in fp.data.DataLoader(test, 128)]
    print(f"validation loss {sum(losses) / len(losses):.3f} nats, {skipped} steps skipped, ", end="")
    print(f"loss scale {optimizer.scale:g}")
