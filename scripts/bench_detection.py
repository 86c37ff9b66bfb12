"""What operations on boxes take, beside torchvision's of PyTorch.

    python scripts/bench_detection.py [--rounds 9] [--only nms roi_align]

Each is called in turn with theirs, in one thread, and the figures are medians of the processor
time, which other programs on the machine disturb least. Needs torchvision.
"""

import argparse
import os
import time
from functools import partial
from statistics import median

THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS", "MINIFP_THREADS")
for name in THREADS:
    os.environ[name] = "1"  # before NumPy is imported

import numpy as np  # noqa: E402

import minifp as fp  # noqa: E402
import minifp.nn.functional as F  # noqa: E402


def options():
    """What the command line says."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=9, help="calls of each (9)")
    parser.add_argument("--only", nargs="*", metavar="NAME", help="of these operations (all)")
    return parser.parse_args()


def random_boxes(n, width, height, largest, seed=0):
    """Boxes of a picture, of at least 16 pixels but at its border."""
    random, borders = np.random.default_rng(seed), [width, height] * 2
    corner = random.uniform(0, 1, (n, 2)) * [width, height]
    boxes = np.concatenate([corner, corner + random.uniform(16, largest, (n, 2))], axis=1)
    return np.minimum(boxes, borders).astype("f4")


def suppressions(ops, torch):
    """nms and batched_nms of 20 classes, where few boxes overlap and where many do."""
    for n, side in ((1000, 300), (1000, 4000), (10000, 300), (10000, 4000)):
        random = np.random.default_rng(1)
        boxes = random_boxes(n, side, side, 80), random.permutation(n).astype("f4")
        classes = random.integers(0, 20, n)
        ours = [fp.tensor(a) for a in (*boxes, classes)]
        theirs = [torch.tensor(a) for a in (*boxes, classes)]
        kept = len(F.nms(*ours[:2], 0.5))
        yield (
            *("nms", f"{n:,} boxes, {kept:,} kept"),
            *(partial(F.nms, *ours[:2], 0.5), partial(ops.nms, *theirs[:2], 0.5)),
        )
        yield (
            *("batched_nms", f"{n:,} boxes, 20 classes"),
            *(partial(F.batched_nms, *ours, 0.5), partial(ops.batched_nms, *theirs, 0.5)),
        )


def overlaps(ops, torch):
    """Default boxes of SSD300 and 16 of a picture."""
    arrays = random_boxes(8732, 300, 300, 200), random_boxes(16, 300, 300, 200, 1)
    ours, theirs = [fp.tensor(a) for a in arrays], [torch.tensor(a) for a in arrays]
    for name in ("box_iou", "generalized_box_iou"):
        yield (
            name,
            "8,732 x 16",
            partial(getattr(F, name), *ours),
            partial(getattr(ops, name), *theirs),
        )


def regions(ops, torch):
    """256 boxes on features of a picture of 800 x 608, stored in both formats."""
    boxes = random_boxes(256, 800, 608, 300)
    features = np.random.default_rng(0).normal(size=(1, 256, 38, 50)).astype("f4")
    for name, given in (("roi_align", (7, 1 / 16, 2)), ("roi_pool", (7, 1 / 16))):
        for dtype in ("float32", "float16"):
            x = fp.tensor(features, dtype=dtype, requires_grad=True)
            z = torch.tensor(features, requires_grad=True)
            ours = partial(getattr(F, name), x, [fp.tensor(boxes)], *given)
            theirs = partial(getattr(ops, name), z, [torch.tensor(boxes)], *given)
            yield name, f"{dtype}, forward", ours, theirs
            back = partial(backward, x, ours().sum()), partial(backward, z, theirs().sum())
            yield name, f"{dtype}, backward", *back


def backward(leaf, total):
    """One backward pass of a sum of all, into a gradient that is not there yet."""
    leaf.grad = None
    total.backward(retain_graph=True)


def milliseconds(call):
    """Processor time of one call."""
    start = time.process_time()
    call()
    return (time.process_time() - start) * 1e3


def main():
    """Print a row for each operation."""
    given = options()
    import torch
    import torchvision.ops as ops

    torch.set_num_threads(1)
    fp.set_num_threads(1)
    print("| operation | of | ms | torchvision, ms | ratio |")
    print("|---|---|---|---|---|")
    for rows in (suppressions, overlaps, regions):
        for name, what, ours, theirs in rows(ops, torch):
            if given.only and name not in given.only:
                continue
            ours(), theirs()
            times = [(milliseconds(ours), milliseconds(theirs)) for _ in range(given.rounds)]
            a, b = map(median, zip(*times))
            print(f"| {name} | {what} | {a:.2f} | {b:.2f} | {a / b:.2f} |", flush=True)


if __name__ == "__main__":
    main()
