"""The compiled kernel of ctc_decode.py: prefixes as nodes of a tree, a sequence at a time.

A node is a prefix: its parent is the prefix without its last label. The children of a node are a
linked list, so that a prefix that was dropped and comes again is the same node. Prefixes that are
kept are its beams, the likeliest first; those of the next step are found in a heap, whose root is
the least likely.
"""

import math

import numpy as np

from minifp.numerics.compiled import compiled_kernel
from minifp.runtime.cpu.compile.decorators import inline
from minifp.runtime.cpu.kernels.pool import parallel

NANOSECONDS = 2.0  # a candidate of a step
LEAST = -np.inf
PARENT, LABEL, CHILD, NEXT, PLACE = range(5)  # of a node; its place among the beams, or -1
BLANK, OTHER, BOTH = range(3)  # of a beam: logarithms of its paths
BEAM, ADDED = range(2)  # of a candidate: where it comes from, and its new label, or -1


@inline
def log_sum(x, y):
    """log(e^x + e^y)."""
    top, low = (x, y) if x > y else (y, x)
    return top if low == LEAST else top + math.log1p(math.exp(low - top))


@inline
def child_of(nodes, node, label):
    """The child of a node with this label, or -1."""
    child = nodes[node, CHILD]
    while child >= 0 and nodes[child, LABEL] != label:
        child = nodes[child, NEXT]
    return child


@inline
def new_node(nodes, count, parent, label):
    """Make the node `count`."""
    nodes[count, PARENT], nodes[count, LABEL] = parent, label
    nodes[count, CHILD], nodes[count, PLACE] = -1, -1
    if parent >= 0:
        nodes[count, NEXT] = nodes[parent, CHILD]
        nodes[parent, CHILD] = count


# ---- the likeliest candidates -------------------------------------------------------------------


@inline
def put_up(heap, scores, k):
    """Exchange entry k with those above it that are likelier."""
    while k > 0 and scores[k] < scores[(k - 1) // 2]:
        up = (k - 1) // 2
        exchange(heap, scores, k, up)
        k = up


@inline
def put_down(heap, scores, k, size):
    """Exchange entry k with the less likely one below it, as long as there is one."""
    while 2 * k + 1 < size:
        down = 2 * k + 1
        if down + 1 < size and scores[down + 1] < scores[down]:
            down += 1
        if scores[k] <= scores[down]:
            break
        exchange(heap, scores, k, down)
        k = down


@inline
def exchange(heap, scores, i, k):
    scores[i], scores[k] = scores[k], scores[i]
    for j in range(2):
        heap[i, j], heap[k, j] = heap[k, j], heap[i, j]


@inline
def offer(heap, scores, size, width, beam, label, score):
    """Keep a candidate if it is among the likeliest; how many there are."""
    if size < width:
        heap[size, BEAM], heap[size, ADDED], scores[size] = beam, label, score
        put_up(heap, scores, size)
        return size + 1
    if score > scores[0]:
        heap[0, BEAM], heap[0, ADDED], scores[0] = beam, label, score
        put_down(heap, scores, 0, size)
    return size


# ---- a step -------------------------------------------------------------------------------------


@inline
def paths_on(beams, own, nodes, i, label):
    """The paths of beam i that another `label` makes longer: after the same one, a blank is
    needed."""
    return beams[i, BLANK] if nodes[own[i], LABEL] == label else beams[i, BOTH]


@inline
def stay(beams, stays, own, nodes, count, row, blank):
    """Each beam as it is after a step without a new label; or with one that another has got."""
    for j in range(count):
        node = own[j]
        stays[j, BLANK], stays[j, OTHER] = beams[j, BOTH] + row[blank], LEAST
        if nodes[node, PARENT] >= 0:
            label = nodes[node, LABEL]
            stays[j, OTHER] = beams[j, OTHER] + row[label]
            i = nodes[nodes[node, PARENT], PLACE]
            if i >= 0:
                more = paths_on(beams, own, nodes, i, label) + row[label]
                stays[j, OTHER] = log_sum(stays[j, OTHER], more)
        stays[j, BOTH] = log_sum(stays[j, BLANK], stays[j, OTHER])


@inline
def list_children(own, nodes, count, lists):
    """For each beam those beams that are it with one label more: the first, and of each the
    next."""
    for i in range(count):
        lists[i, 0] = -1
    for j in range(count):
        if nodes[own[j], PARENT] >= 0:
            i = nodes[nodes[own[j], PARENT], PLACE]
            if i >= 0:
                lists[j, 1] = lists[i, 0]
                lists[i, 0] = j


@inline
def mark_children(own, nodes, lists, i, mark, known):
    """Mark the labels that lead from beam i to others."""
    j = lists[i, 0]
    while j >= 0:
        known[nodes[own[j], LABEL]] = mark
        j = lists[j, 1]


@inline
def candidates(beams, stays, own, nodes, count, row, blank, width, known, lists, heap, scores):
    """Fill the heap with the likeliest of all that beams become; how many those are."""
    size, most = 0, LEAST
    for c in range(row.size):
        most = max(most, row[c])
    for j in range(count):
        size = offer(heap, scores, size, width, j, -1, stays[j, BOTH])
    list_children(own, nodes, count, lists)
    for i in range(count):
        if size == width and beams[i, BOTH] + most <= scores[0]:
            break  # nor of those behind, which are less likely
        mark_children(own, nodes, lists, i, 1, known)  # counted as they stayed
        for c in range(row.size):
            if c != blank and known[c] == 0:
                score = paths_on(beams, own, nodes, i, c) + row[c]
                size = offer(heap, scores, size, width, i, c, score)
        mark_children(own, nodes, lists, i, 0, known)
    return size


@inline
def sort(heap, scores, size):
    """The entries of a heap from the likeliest on: of a heap whose root is the least likely."""
    for end in range(size - 1, 0, -1):
        exchange(heap, scores, 0, end)
        put_down(heap, scores, 0, end)


@inline
def advance(beams, stays, own, before, nodes, made, count, size, heap, scores):
    """Make beams of the candidates; how many nodes there are."""
    for j in range(count):
        before[j] = own[j]
        nodes[own[j], PLACE] = -1
    for k in range(size):
        i, label = heap[k, BEAM], heap[k, ADDED]
        node = before[i]
        if label < 0:
            for kind in range(3):
                beams[k, kind] = stays[i, kind]
        else:
            child = child_of(nodes, node, label)
            if child < 0:
                new_node(nodes, made, node, label)
                child, made = made, made + 1
            node = child
            beams[k, BLANK], beams[k, OTHER], beams[k, BOTH] = LEAST, scores[k], scores[k]
        own[k] = node
        nodes[node, PLACE] = k
    return made


@parallel
def search_sequences(chunk, scratch, width, blank, x, steps, labels, counts, results):
    """One sequence a chunk."""
    n, T, C = chunk, x.shape[1], x.shape[2]
    numbers = scratch[: 14 * width].view(np.float64).reshape(7, width)
    beams, stays = numbers[:3].reshape(width, 3), numbers[3:6].reshape(width, 3)
    scores, whole = numbers[6], scratch[14 * width :].view(np.int32)
    own, before = whole[:width], whole[width : 2 * width]
    heap = whole[2 * width : 4 * width].reshape(width, 2)
    lists = whole[4 * width : 6 * width].reshape(width, 2)
    known, room = whole[6 * width : 6 * width + C], whole[6 * width + C :]
    known[:] = 0
    nodes = room[: 5 * (T * width + 1)].reshape(T * width + 1, 5)
    new_node(nodes, 0, -1, -1)
    own[0], nodes[0, PLACE] = 0, 0
    beams[0, BLANK], beams[0, OTHER], beams[0, BOTH] = 0.0, LEAST, 0.0
    count, made = 1, 1
    for t in range(steps[n]):
        row = x[n, t]
        stay(beams, stays, own, nodes, count, row, blank)
        size = candidates(
            beams, stays, own, nodes, count, row, blank, width, known, lists, heap, scores
        )
        sort(heap, scores, size)
        made = advance(beams, stays, own, before, nodes, made, count, size, heap, scores)
        count = size
    results[n] = beams[0, BOTH]
    node, length = own[0], 0
    while nodes[node, PARENT] >= 0:
        node, length = nodes[node, PARENT], length + 1
    counts[n], node = length, own[0]
    for k in range(length):
        labels[n, length - 1 - k] = nodes[node, LABEL]
        node = nodes[node, PARENT]


@compiled_kernel
def searched(x, steps, blank, width):
    T, N, C = x.shape
    labels = np.full((N, T), blank, np.int64)
    counts, results = np.zeros(N, np.int64), np.zeros(N)
    read = np.ascontiguousarray(x.transpose(1, 0, 2)), np.ascontiguousarray(steps, np.int64)
    cost = T * N * width * C * NANOSECONDS
    workspace = 20 * width + C + 5 * (T * width + 1)
    search_sequences(
        N, width, blank, *read, labels, counts, results, cost=cost, workspace=workspace
    )
    return labels, counts, results
