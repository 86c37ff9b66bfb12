"""Mixed-precision training in one file, to be read from top to bottom.

    python scripts/mixed_precision_in_one_file.py [--device cuda]

A float16 number takes half the memory of a float32 one, and tensor cores multiply it many times as
fast. But it has 11 bits, so that 2048 + 1 is 2048; none lies above 65504, and none between 0 and
2^-24. A network that simply computes in it fails in three ways, each with its remedy (Micikevicius
et al. 2018, arXiv:1710.03740):

    a long sum stops growing              sum in float32, and round the result once
    a weight ignores its small updates    update a float32 master of it, and round that
    a small gradient becomes 0            multiply all gradients by S, divide by it in float32

Each remedy is a switch of `Precision`; part 10 turns them off, one by one. Nothing is imported from
minifp, whose `mixed` gives the same bits: docs/one-file.md leads from each part to minifp's own.
"""

import gzip
import math
import sys
from argparse import ArgumentParser, RawTextHelpFormatter
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

# fmt: off
# ---- 1. Numbers: stored in float16, computed in float32 ------------------------------------------
xp = np  # the array library: NumPy, or CuPy on a GPU

@dataclass(frozen=True)
class Precision:
    """The techniques of mixed precision, all of them on."""
    storage: str = "float16"  # of weights, activations and gradients
    sums: str = "float32"  # of products and of reductions
    masters: bool = True  # whether updates go to a float32 copy of the weights
    loss_scale: float = 2.0**16  # S, in the first step
    adapts: bool = True  # whether S is halved and doubled on the way
    skips: bool = True  # whether a step changes nothing if a gradient has an Inf or NaN

MIXED, FLOAT32 = Precision(), Precision("float32", masters=False, loss_scale=1.0, adapts=False)
precision = MIXED  # the one in use

def store(x, format=None):
    """x as memory keeps it: rounded, once, to the nearest number there is. Too large is Inf."""
    return x.astype(format or precision.storage, order="C", copy=False)

def widen(x):
    """x as arithmetic takes it: float32 holds every float16, so this rounds nothing."""
    return x.astype("float32", copy=False)

# ---- 2. Sums: where many roundings meet ----------------------------------------------------------
def in_half(terms):
    """The sum as float16 would have it: one term after the other, every partial sum rounded."""
    y = 0
    for term in terms:
        y = y + term.astype("float16")
    return widen(y)

def product(a, b, bias=None):
    """a b + bias of stored matrices (M, K) and (K, N), as float32, not yet rounded to be stored."""
    if precision.sums == "float16":
        y = in_half(a[:, k, None] * b[k] for k in range(len(b)))
        return y if bias is None else in_half([y, bias])
    y = xp.matmul(widen(a), widen(b))  # 11 x 11 bits are 22 of float32's 24: sums alone round
    return y if bias is None else y + widen(bias)

def total(x, axis, most=16):
    """The sum over an axis, which stays with size 1, as float32, not yet rounded to be stored.

    Each order of adding rounds in its own way, so it has to be named: 16 numbers at a time, then 16
    such sums, and so on. That is at most 16 log16 n roundings deep; one after the other, it is n.
    """
    if precision.sums == "float16":
        return xp.expand_dims(in_half(xp.moveaxis(x, axis, 0)), axis)
    before, k, after = x.shape[:axis], x.shape[axis], x.shape[axis + 1:]
    y = xp.ascontiguousarray(widen(x)).reshape(math.prod(before), k, math.prod(after))
    while k > most and after:  # along the last axis NumPy itself adds in pairs, which is as good
        n = k // most
        sums = y[:, :most * n].reshape(len(y), most, -1).sum(1).reshape(len(y), n, -1)
        if k > most * n:
            sums[:, 0] += y[:, most * n:].sum(1)
        y, k = sums, n
    return y.sum(1).reshape(*before, 1, *after)

def of_channels(x):
    """The sum over pictures and pixels of x (N, C, H, W): (1, C, 1)."""
    return total(total(x.reshape(*x.shape[:2], -1), 2), 0)

# ---- 3. The tape: the path of gradients back ----------------------------------------------------
class Tensor:
    """Stored numbers, and the gradient that `backward` brings them."""
    def __init__(self, array):
        self.array, self.grad = array, None

tape = []  # (result, inputs, rule) in order; rule(dy), the result's gradient, gives the inputs'

def record(y, inputs, rule):
    """A Tensor of stored numbers. Its rule will read float16 arrays: half the memory waits."""
    y = Tensor(y)
    tape.append((y, inputs, rule))
    return y

def backward(loss, seed):
    """Bring every tensor `seed` times its gradient of the loss, and leave the tape empty."""
    loss.grad = xp.full((), seed, "float32")
    while tape:
        y, inputs, rule = tape.pop()
        for x, dx in zip(inputs, rule(store(y.grad, y.array.dtype))):
            x.grad = dx if x.grad is None else x.grad + dx  # rounded once, when x has its turn

# ---- 4. Layers: each one widens, computes, and stores --------------------------------------------
def linear(x, w, b):
    """x wT + b (N, O), of x as rows (N, I), w (O, I) and b (O)."""
    rows = x.array.reshape(-1, w.array.shape[1])
    def rule(dy):
        return product(dy, w.array).reshape(x.array.shape), product(dy.T, rows), total(dy, 0)[0]
    return record(store(product(rows, w.array.T, b.array)), (x, w, b), rule)

def unfold(x, k):
    """All k x k windows of zero-padded pictures (N, C, H, W), as columns (C k k, N H W)."""
    (n, c, h, w), p = x.shape, k // 2
    padded = xp.zeros((n, c, h + 2 * p, w + 2 * p), x.dtype)
    padded[:, :, p:p + h, p:p + w] = x
    windows = xp.lib.stride_tricks.sliding_window_view(padded, (k, k), (2, 3))
    return windows.transpose(1, 4, 5, 0, 2, 3).reshape(c * k * k, n * h * w)

def correlate(x, w, bias=None):
    """The convolution as one product: all kernels w (O, C, k, k) with all windows of x."""
    y = product(w.reshape(len(w), -1), unfold(x, w.shape[2]), bias)
    return y.reshape(len(w), len(x), *x.shape[2:]).swapaxes(0, 1)

def conv(x, w, b):
    """Pictures (N, C, H, W) -> (N, O, H, W). dx is a convolution, too, with w turned round."""
    def rule(dy):
        dx = correlate(dy, w.array[:, :, ::-1, ::-1].swapaxes(0, 1))
        rows = dy.swapaxes(0, 1).reshape(len(w.array), -1)
        dw = product(rows, unfold(x.array, w.array.shape[2]).T).reshape(w.array.shape)
        return dx, dw, of_channels(dy).reshape(-1)
    return record(store(correlate(x.array, w.array, b.array[:, None])), (x, w, b), rule)

def max_pool(x):
    """The largest of each 2 x 2 window, which is given all of the gradient."""
    n, c, h, w = x.array.shape
    windows = x.array.reshape(n, c, h // 2, 2, w // 2, 2).swapaxes(3, 4)
    windows = windows.reshape(n, c, h // 2, w // 2, 4)
    largest = windows.argmax(-1)[..., None].astype("uint8")  # of equals the first; a byte each
    def rule(dy):
        dx = xp.where(xp.arange(4) == largest, widen(dy)[..., None], 0)
        return (dx.reshape(n, c, h // 2, w // 2, 2, 2).swapaxes(3, 4).reshape(n, c, h, w),)
    return record(windows.max(-1), (x,), rule)

def pointwise(f, slope, of_x=False):
    """A layer y = f(x). Its slope is written in y, or in x where too little is left of it in y."""
    def layer(x):
        rule = lambda dy: (slope(widen(dy), widen((x if of_x else y).array)),)  # noqa: E731
        return (y := record(store(f(widen(x.array))), (x,), rule))
    return layer

def logistic(x):
    """1 / (1 + e^-x)."""
    return 1 / (1 + xp.exp(-x))

relu = pointwise(lambda x: xp.maximum(x, 0), lambda dy, y: xp.where(y <= 0, 0, dy))
tanh = pointwise(lambda x: xp.tanh(x), lambda dy, y: dy * ((1 - y) * (1 + y)))
sigmoid = pointwise(logistic, lambda dy, x: dy * (logistic(x) * logistic(-x)), of_x=True)

# ---- 5. What stays in float32: statistics, and the loss ------------------------------------------
def batch_norm(x, w, b, eps=1e-5):
    """Each channel of (N, C, H, W) with mean b and deviation w, which are float32 parameters."""
    (n, c, *_), count = x.array.shape, x.array.size // x.array.shape[1]
    mean = of_channels(widen(x.array)) / count
    centred = widen(x.array).reshape(n, c, -1) - mean
    root = xp.sqrt(of_channels(centred * centred) / count + eps)
    def rule(dy):
        dy, r = widen(dy).reshape(n, c, -1), 1 / root
        h = (widen(x.array).reshape(n, c, -1) - mean) * r
        dw, db = of_channels(dy * h), of_channels(dy)
        dx = (dy - db / count - h * (dw / count)) * (w.array[:, None] * r)
        return dx.reshape(x.array.shape), dw.reshape(c), db.reshape(c)
    y = centred * (w.array[:, None] / root) + b.array[:, None]
    return record(store(y.reshape(x.array.shape)), (x, w, b), rule)

def cross_entropy(z, t):
    """The mean loss, in nats, of scores z (N, C, ...) for classes t (N, ...): it is not rounded."""
    def exponentials():
        below = widen(z.array) - z.array.max(1, keepdims=True)  # at most 0: no e^z overflows
        e = xp.exp(below)
        return below, e, total(e, 1)
    def rule(dy):
        _, e, sums = exponentials()
        classes = xp.arange(e.shape[1]).reshape(-1, *[1] * (e.ndim - 2))
        return ((e / sums - (classes == t[:, None])) * (dy / t.size),)
    below, _, sums = exponentials()
    losses = (xp.log(sums) - xp.take_along_axis(below, t[:, None], 1)).reshape(-1)
    return record(total(losses, 0)[0] / t.size, (z,), rule)

# ---- 6. Sequences: states between two steps are rounded ------------------------------------------
def embedding(codes, w):
    """The rows of w (V, D) that codes (...) name: (..., D)."""
    def rule(dy):
        dw = xp.zeros(w.array.shape, "float32")
        for code in xp.unique(codes).tolist():
            dw[code] = total(dy[codes == code], 0)[0]
        return (dw,)
    return record(w.array[codes], (w,), rule)

def lstm_step(z, c):
    """Gates (B, 4H), c and h (B, H), stored, from the gates' sums z and the c before."""
    i, f, g, o = xp.split(z, 4, axis=1)
    gates = store(xp.concatenate([logistic(i), logistic(f), xp.tanh(g), logistic(o)], axis=1))
    i, f, g, o = xp.split(widen(gates), 4, axis=1)
    c = store(f * widen(c) + i * g)
    return gates, c, store(o * xp.tanh(widen(c)))

def lstm_step_back(dh, dc, gates, c, before):
    """The gradients of z and of the c before, stored, from those of h and c."""
    i, f, g, o = xp.split(widen(gates), 4, axis=1)
    tanh_c = xp.tanh(widen(c))
    dc = widen(dc) + dh * o * (1 - tanh_c * tanh_c)
    di, df = dc * g * (i * (1 - i)), dc * widen(before) * (f * (1 - f))
    dz = [di, df, dc * i * (1 - g * g), dh * tanh_c * (o * (1 - o))]
    return store(xp.concatenate(dz, axis=1)), store(dc * f)

def lstm(x, w_ih, w_hh, b_ih, b_hh):
    """h of each step (T, B, H), from x (T, B, I). The gates' sums z are never stored."""
    (steps, batch, _), rows = x.array.shape, x.array.reshape(-1, x.array.shape[2])
    sums = product(rows, w_ih.array.T, widen(b_ih.array) + widen(b_hh.array))
    zero, w = xp.zeros((batch, w_hh.array.shape[1]), rows.dtype), w_hh.array.T.copy()
    gates, cs, hs = [], [zero], [zero]
    for z in sums.reshape(steps, batch, -1):
        new = lstm_step(product(hs[-1], w, z), cs[-1])
        gates, cs, hs = [*gates, new[0]], [*cs, new[1]], [*hs, new[2]]
    def rule(dy):
        dh, dc, dzs = zero, zero, []
        for t in reversed(range(steps)):
            dh = widen(dh) + widen(dy[t])
            dz, dc = lstm_step_back(dh, dc, gates[t], cs[t + 1], cs[t])
            dh, dzs = store(product(dz, w_hh.array)), [dz, *dzs]
        dz, before = xp.concatenate(dzs), xp.concatenate(hs[:-1])  # dw is one sum over all steps
        dx, db = product(dz, w_ih.array).reshape(x.array.shape), total(dz, 0)[0]
        return dx, product(dz.T, rows), product(dz.T, before), db, db
    return record(xp.stack(hs[1:]), (x, w_ih, w_hh, b_ih, b_hh), rule)

# ---- 7. Masters: small updates add up in float32 -------------------------------------------------
def parameter(array, format=None):
    """A Tensor to be trained. Its master is what was drawn, before that was rounded."""
    array = xp.asarray(array, "float32")
    p = Tensor(store(array, format))
    p.master = array if precision.masters else None
    return p

def sgd(w, g, v, lr, step, momentum=0.9):
    """The new weights and velocity."""
    v = g if step == 1 else momentum * v + g
    return w - lr * v, v

def adam(w, g, moments, lr, step, b1=0.9, b2=0.999, eps=1e-8):
    """The new weights and moments (Kingma and Ba 2015, arXiv:1412.6980)."""
    m, v = moments or (0, 0)
    m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * (g * g)
    rate, factor = lr / (1 - b1**step), 1 / (1 - b2**step) ** 0.5
    return w - rate * (m / (xp.sqrt(v) * factor + eps)), (m, v)

# ---- 8. The loss scale: small gradients survive float16 ------------------------------------------
class MixedOptimizer:
    """An update rule behind the loss scale S. clip: the largest norm of all gradients together.

    dial: k makes gradients 2^k times smaller where they are stored, as larger networks have them.
    """
    interval = 2000  # after so many good steps in a row S is doubled

    def __init__(self, parameters, rule=adam, lr=1e-3, clip=math.inf, dial=0):
        self.parameters, self.rule, self.lr, self.clip = parameters, rule, lr, clip
        self.dial, self.states, self.steps = dial, [None] * len(parameters), 0
        self.scale, self.good_steps = precision.loss_scale, 0

    def minimize(self, loss):
        """One step, backward and all. Returns whether all gradients were finite."""
        seed = self.scale * 2.0**-self.dial  # S enters here: the loss itself is not multiplied
        backward(loss, seed)
        gradients = [store(p.grad, p.array.dtype) for p in self.parameters]
        squares = sum(float(xp.square(g.astype("float64")).sum()) for g in gradients)
        is_finite = math.isfinite(squares)  # as it is if and only if every gradient is
        if is_finite or not precision.skips:
            norm = math.sqrt(squares) / seed
            self.update(gradients, min(1.0, self.clip / (norm + 1e-6)) / seed)
        self.adapt(is_finite)
        for p in self.parameters:
            p.grad = None
        return is_finite

    def update(self, gradients, factor):
        """Divide by S in float32 (float16 would lose small ones), update masters, and store."""
        self.steps += 1
        for i, (p, g) in enumerate(zip(self.parameters, gradients)):
            w, g = widen(p.array) if p.master is None else p.master, widen(g) * np.float32(factor)
            w, self.states[i] = self.rule(w, g, self.states[i], self.lr, self.steps)
            p.array, p.master = store(w, p.array.dtype), None if p.master is None else w

    def adapt(self, is_finite):
        """Halve S after an overflow, double it when there was none for long: as large as fits."""
        self.good_steps = self.good_steps + 1 if is_finite else 0
        if precision.adapts and not is_finite:
            self.scale = max(self.scale / 2, 1.0)
        elif precision.adapts and self.good_steps == self.interval:
            self.scale, self.good_steps = min(self.scale * 2, 2.0**24), 0

# ---- 9. Two networks and their data --------------------------------------------------------------
BUNDLED = Path(__file__).resolve().parents[1] / "minifp" / "data" / "bundled"

def draw(random, *shapes):
    """Weights uniform within 1 / sqrt(their inputs), and biases of 0: alike in every precision."""
    bounds = [math.prod(shape[1:])**-0.5 if len(shape) > 1 else 0 for shape in shapes]
    return [parameter(random.uniform(-b, b, shape)) for b, shape in zip(bounds, shapes)]

def lenet(x, w1, b1, w2, b2, w3, b3, w4, b4, *norm):
    """Scores (N, 10) of pictures (N, 1, 8, 8), which are rounded at the door."""
    x = conv(Tensor(store(x)), w1, b1)
    x = max_pool(relu(batch_norm(x, *norm) if norm else x))
    x = max_pool(relu(conv(x, w2, b2)))
    return linear(relu(linear(x, w3, b3)), w4, b4)

def charlstm(codes, table, w_ih, w_hh, b_ih, b_hh, w, b):
    """Scores (B, characters, T) of what follows each of the codes (B, T)."""
    h = lstm(embedding(codes.T, table), w_ih, w_hh, b_ih, b_hh)
    z, (steps, batch, _) = linear(h, w, b), h.array.shape
    y = xp.ascontiguousarray(z.array.reshape(steps, batch, -1).transpose(1, 2, 0))
    return record(y, (z,), lambda dy: (widen(dy.transpose(2, 0, 1).reshape(z.array.shape)),))

def digits(brightest=1):
    """Pictures (N, 1, 8, 8) and digits (N), to train with; and a fifth of all to test with."""
    with np.load(BUNDLED / "digits.npz") as file:
        x, t = file["pixels"][:, None] * (brightest / 16), file["labels"].astype("int64")
    is_test = np.isin(np.arange(len(t)), np.argsort(t, kind="stable")[::5])
    return (x[~is_test], t[~is_test]), (x[is_test], t[is_test])

def shakespeare(length=32):
    """Codes of characters (N, T) and of those that follow; and 64 such pieces to test with."""
    with gzip.open(BUNDLED / "shakespeare.txt.gz") as file:
        codes = np.unique(np.frombuffer(file.read(), np.uint8), return_inverse=True)[1]
    n = (len(codes) - 1) // length
    x, t = (codes[i:i + n * length].reshape(n, length) for i in (0, 1))
    return (x[:-64], t[:-64]), (x[-64:], t[-64:])

# ---- 10. What each technique does: without it, one by one ----------------------------------------
LENET_SHAPES = (16, 1, 3, 3), (16,), (32, 16, 3, 3), (32,), (128, 128), (128,), (10, 128), (10,)
LSTM_SHAPES = (65, 32), (256, 32), (256, 64), (256,), (256,), (65, 64), (65,)
LENET = lenet, LENET_SHAPES, (), digits, 16  # and channels to normalise, data, size of a batch
NORMED, BRIGHT = ((lenet, LENET_SHAPES, (16,), data, 64) for data in (digits, lambda: digits(255)))
LSTM = charlstm, LSTM_SHAPES, (), shakespeare, 16
UNSCALED, HUGE = {"loss_scale": 1.0, "adapts": False}, {"loss_scale": 2.0**24}
ROWS = [  # at ordinary settings none matters, in indented rows they do: task, settings, change
    ("LeNet, without masters", LENET, {}, {"masters": False}),
    ("  at a learning rate of 0.00002", LENET, {"lr": 2e-5, "steps": 900}, {"masters": False}),
    ("LeNet, without loss scale", LENET, {}, UNSCALED),
    ("  with gradients 2^18 times smaller", LENET, {"dial": 18}, UNSCALED),
    ("LeNet, S = 2^24, without adapting it", LENET, HUGE, {"adapts": False}),
    ("LeNet, S = 2^24, without skipping steps", LENET, HUGE, {"skips": False}),
    ("LeNet, batch norm, without float32 sums", NORMED, {"steps": 12}, {"sums": "float16"}),
    ("  with pixels up to 255", BRIGHT, {"steps": 12}, {"sums": "float16"}),
    ("LSTM, without masters", LSTM, {}, {"masters": False}),
    ("LSTM, without loss scale", LSTM, {}, UNSCALED),
    ("  with gradients 2^12 times smaller", LSTM, {"dial": 12}, UNSCALED),
    ("LSTM, SGD at 10, without clipping", LSTM, {"rule": sgd, "lr": 10.0}, {"clip": math.inf}),
]

def train(task, base, steps=150, lr=5e-3, clip=1.0, dial=0, rule=adam, **switches):
    """The loss on the test set after so many steps, and the part of it that is right."""
    global precision
    precision, (forward, shapes, channels, data, size) = replace(base, **switches), task
    random, ((x, t), test) = np.random.default_rng(0), data()
    p = draw(random, *shapes)
    p += [parameter(f(n), "float32") for n in channels for f in (np.ones, np.zeros)]
    optimizer = MixedOptimizer(p, rule, lr, clip, dial)
    for step in range(1, steps + 1):
        i = random.choice(len(x), size, replace=False)
        optimizer.minimize(cross_entropy(forward(xp.asarray(x[i]), *p), xp.asarray(t[i])))
        print(f"{'#' * (50 * step // steps % 50):50}", end="\r", file=sys.stderr, flush=True)
    z, t = forward(xp.asarray(test[0]), *p), xp.asarray(test[1])
    loss, right = float(cross_entropy(z, t).array), float((z.array.argmax(1) == t).mean())
    tape.clear()
    return loss, right

def main():
    """Print the table."""
    global xp
    parser = ArgumentParser(description=__doc__, formatter_class=RawTextHelpFormatter)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    if parser.parse_args().device == "cuda":
        import cupy as xp
    print(f"{'loss on the test set, and what is right':40}     float32        mixed      without")
    for said, task, settings, off in ROWS:
        runs = (FLOAT32, settings), (MIXED, settings), (MIXED, settings | off)
        with np.errstate(all="ignore"):  # Inf and NaN are values here
            results = [train(task, base, **options) for base, options in runs]
        print(f"{said:40}", *(f"{loss:7.3f} {right:4.0%}" for loss, right in results), flush=True)

if __name__ == "__main__":
    main()
