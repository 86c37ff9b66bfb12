"""The compiled kernel of nms.py: each box against those that were kept, a block of them at once."""

import numpy as np

from minifp.numerics.compiled import compiled_kernel
from minifp.runtime.cpu.kernels.pool import parallel

BLOCK = 64  # boxes that are held against one before it is asked whether any was in its way
SIZE = 5 * BLOCK  # numbers of a block: lefts, tops, rights, bottoms, areas
NANOSECONDS = 0.5  # a pair of boxes


@parallel
def suppress(chunk, scratch, ends, threshold, boxes, blocks, kept):
    """One group. boxes: (4 N) numbers. blocks: zeros, which are boxes that are in nobody's way."""
    start = ends[chunk - 1] if chunk else 0
    room = blocks[(start // BLOCK + chunk) * SIZE :]
    count = 0
    for i in range(start, ends[chunk]):
        left, top, right, bottom = (
            boxes[4 * i],
            boxes[4 * i + 1],
            boxes[4 * i + 2],
            boxes[4 * i + 3],
        )
        area = max(right - left, 0.0) * max(bottom - top, 0.0)
        in_its_way = 0
        for block in range((count + BLOCK - 1) // BLOCK):
            held = room[block * SIZE : block * SIZE + SIZE]
            for k in range(BLOCK):
                x = min(held[2 * BLOCK + k], right) - max(held[k], left)
                y = min(held[3 * BLOCK + k], bottom) - max(held[BLOCK + k], top)
                both = max(x, 0.0) * max(y, 0.0)
                union = held[4 * BLOCK + k] + area - both
                in_its_way |= 1 if both > threshold * union else 0
            if in_its_way:
                break
        kept[i] = in_its_way == 0
        if in_its_way == 0:
            place = count // BLOCK * SIZE + count % BLOCK
            room[place], room[place + BLOCK] = left, top
            room[place + 2 * BLOCK], room[place + 3 * BLOCK] = right, bottom
            room[place + 4 * BLOCK] = area
            count += 1


@compiled_kernel
def unsuppressed(boxes, ends, threshold):
    kept, groups = np.zeros(len(boxes), bool), len(ends)
    blocks = np.zeros((len(boxes) // BLOCK + groups) * SIZE)
    cost = len(boxes) ** 2 / groups * NANOSECONDS
    suppress(groups, ends, threshold, boxes.reshape(-1), blocks, kept, cost=cost)
    return kept
