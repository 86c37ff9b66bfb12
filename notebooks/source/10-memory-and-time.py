# %% [markdown]
# # 10. Memory and time, honestly
#
# **What do I save?** "Half precision halves the memory and is eight times faster." Both halves of this sentence are sometimes true. This lesson counts the bytes of a step, kind by kind, and asks of each product of matrices what holds it up, here and on a GPU.
#
# - **You need**: minifp with its `plot` extra, and about half a minute. Nothing is downloaded.
# - **How to read it**: *predict*, then *run*, then *explain*. Write your guess where `...` stands: the explanation is hidden until you do. Times are measured on your machine while you read, so they will not be those of others.

# %%
from itertools import islice
from math import ceil, prod
from time import perf_counter

import numpy as np
from IPython.display import Markdown, display

import minifp as fp
import minifp.nn.functional as F
from minifp import models, optim, teach
from minifp.scope.hardware.bounds import bounds
from minifp.scope.hardware.machines import KNOWN, machine
from minifp.scope.hardware.tensor_shapes import shape_advice
from minifp.scope.tracing.trace import trace
from minifp.teach.drawings.memory_and_time import KINDS, bytes_and_roofline

teach.begin("10-memory-and-time")
here, v100 = machine("here"), KNOWN["V100"]
on_gpu = here.launches_steps

# %% [markdown]
# ## 1. Bytes
#
# Two networks: LeNet on pictures of 8 by 8 pixels in batches of 256, and an LSTM of 256 units that reads 32 texts of 64 characters. Both are trained with Adam.
#
# ### Predict
#
# The activations of mixed precision take half the bytes, and so do the stored weights. By how many percent does the *whole* step of the LSTM shrink?

# %%
saved = teach.predict("The whole step of the LSTM is smaller by", percent=...)
saved

# %% [markdown]
# ### Run
#
# `fp.summary` walks through a model without computing anything, and adds up what a training step holds at its peak.

# %%
NETWORKS = {
    "LeNet": (lambda: models.LeNet(classes=10, size=8), (1, 8, 8), 256, False),
    "LSTM": (lambda: models.CharLSTM(65, hidden=256), (64,), 32, True),
}


def summary_of(name, batch=None):
    """What a step of a network needs, in float32 and in mixed."""
    build, shape, usual, integers = NETWORKS[name]
    return fp.summary(
        build, shape, batch or usual, integers=integers, precisions=("float32", "mixed")
    )


def bytes_in(summary, precision):
    """By kind."""
    found = {fp.Precision.parse(text): held for text, held in summary.bytes.items()}
    return found[fp.Precision.parse(precision)]


summaries = {name: summary_of(name) for name in NETWORKS}
bars = {
    f"{name}, {precision}": bytes_in(summary, precision)
    for name, summary in summaries.items()
    for precision in ("float32", "mixed")
}
totals = {name: sum(held.values()) for name, held in bars.items()}
totals

# %% [markdown]
# ### Explain

# %%
ratio = {name: totals[f"{name}, mixed"] / totals[f"{name}, float32"] for name in NETWORKS}
single, half = bars["LSTM, float32"], bars["LSTM, mixed"]
weights = summaries["LSTM"].parameters
state = {
    name: sum(bars[f"LSTM, {name}"][kind] for kind in ("weights", "masters", "optimizer_state"))
    for name in ("float32", "mixed")
}
each = {"float32": state["float32"] / weights + 4, "mixed": state["mixed"] / weights + 2}

assert half["weights"] + half["masters"] == 1.5 * single["weights"]
assert half["optimizer_state"] == single["optimizer_state"]
assert 0.49 < half["activations"] / single["activations"] < 0.52
assert round(each["float32"]) == round(each["mixed"]) == 16
assert 0.5 < ratio["LeNet"] < ratio["LSTM"] < 0.7

saved.explain(
    100 * (1 - ratio["LSTM"]),
    f"The LSTM holds {totals['LSTM, float32'] / 1e6:.1f} MB in float32 and "
    f"{totals['LSTM, mixed'] / 1e6:.1f} MB in mixed, LeNet {1 - ratio['LeNet']:.0%} less. What goes "
    f"with the batch halves. What goes with the weights does not: with its gradient, its master and "
    f"Adam's two numbers, a weight has **{each['float32']:.0f} bytes in float32 and "
    f"{each['mixed']:.0f} in mixed precision**. Weights alone take *more*, 1.5 times as many bytes: "
    "2 for the copy that is computed with, 4 for the one that is updated.\n\nSo it is not true that "
    "float16 halves memory. It halves activations, and they are most of it where the batch is large.",
)

# %% [markdown]
# How large? The same LSTM with other batches:

# %%
rows = []
for batch in (1, 8, 32, 128, 512):
    found = summary_of("LSTM", batch)
    whole = [sum(bytes_in(found, name).values()) for name in ("float32", "mixed")]
    rows.append((batch, *(f"{n / 1e6:.1f} MB" for n in whole), 1 - whole[1] / whole[0]))
assert rows[0][-1] < 0.2 < 0.4 < rows[-1][-1] < 0.5
heads = "| batch | float32 | mixed | saved |\n|---|---|---|---|\n"
Markdown(heads + "\n".join(f"| {b} | {f} | {m} | {s:.0%} |" for b, f, m, s in rows))

# %% [markdown]
# ## 2. What a product waits for
#
# A machine has two limits: so many operations a second, and so many bytes a second from memory. A product of (M, K) and (K, N) does 2 M N K operations, and moves at least M K + K N + M N numbers. Its operations for each byte say which limit it meets. The border between the two is the machine's *ridge*.
#
# ### Predict
#
# One time step of the LSTM multiplies its state, 32 by 256, by the weights of its four gates, 256 by 1,024. How many operations is that for each byte, with numbers of two bytes?

# %%
intensity = teach.predict("One time step of the LSTM has", flop_per_byte=...)
intensity

# %% [markdown]
# ### Run


# %%
def flop_per_byte(m, n, k, size=2):
    """Of a product, if each number is read or written once."""
    return 2 * m * n * k / (size * (m * k + k * n + m * n))


PRODUCTS = {  # M, N, K; of the LSTM one time step, and the inputs of all 64 at once
    "LeNet's filter": (256 * 64, 6, 9),
    "LSTM, a step": (32, 1024, 256),
    "LSTM, inputs": (2048, 1024, 64),
    "4,096 square": (4096, 4096, 4096),
}
points = [(name, flop_per_byte(*shape)) for name, shape in PRODUCTS.items()]
print(here)
print(v100)

# %%
columns = ("kind", *bars)
table = [(kind, *(f"{held[kind] / 1e3:,.0f} kB" for held in bars.values())) for kind in KINDS]
table += [("whole", *(f"{n / 1e3:,.0f} kB" for n in totals.values()))]
table += [
    (f"{name}: {f:.3g} flop/byte", f"here at most {min(here.half_rate, f * here.bandwidth) / 1e9:.3g} "
     f"Gflop/s", f"V100 at most {min(v100.half_rate, f * v100.bandwidth) / 1e9:.3g} Gflop/s", "", "")
    for name, f in points
]  # fmt: skip
teach.show(
    bytes_and_roofline(bars, (here, v100), points),
    "Above: bytes that a training step holds, by kind, in float32 and in mixed; LeNet shrinks to "
    f"{ratio['LeNet']:.0%}, the LSTM to {ratio['LSTM']:.0%}, because optimizer state stays and "
    "masters are new. Below: how many operations a second a product can reach, by its operations "
    f"for each byte, on this machine (measured, {here.source.partition(', ')[2]}) and on a V100 "
    "(its datasheet). Nothing was arranged; the exponent dial is at 0.",
    columns,
    table,
)

# %% [markdown]
# ### Explain

# %%
step = flop_per_byte(*PRODUCTS["LSTM, a step"])
convolution = flop_per_byte(*PRODUCTS["LeNet's filter"])
large = flop_per_byte(*PRODUCTS["4,096 square"])
share = step * v100.bandwidth / v100.half_rate
assert convolution < 10 < step < 30 < v100.ridge() < large
assert on_gpu or here.ridge() < v100.ridge()
intensity.explain(
    step,
    f"A V100's ridge is at {v100.ridge():.0f} flop a byte: with {step:.1f} it waits for its memory, "
    f"and can use at most {share:.0%} of what its tensor cores could do. LeNet's first convolution "
    f"has {convolution:.1f}, a product of 4,096 by 4,096 matrices {large:,.0f}, and only such a one "
    f"is held up by arithmetic there. The ridge here ({here.source}) is at {here.ridge():.1f}."
    "\n\nWhat waits "
    "for memory gets faster in float16 as well, because its bytes halve: twice at most. The factor "
    "of eight is for what waits for arithmetic. Libraries therefore join small products: the "
    f"inputs of all 64 steps in one product have {points[2][1]:.0f} flop a byte.",
)

# %% [markdown]
# ## 3. Time, here
#
# ### Predict
#
# How many times as long does a step of the LSTM take in mixed precision as in float32, on the machine that you run this on? A processor has no arithmetic for float16 worth speaking of; a GPU has tensor cores.

# %%
slower = teach.predict("A step in mixed precision takes that of float32 times", times=...)
slower

# %% [markdown]
# ### Run
#
# Steps of the two precisions take turns, so that whatever else your machine does meanwhile hits both. On a GPU `fp.capture` makes one CUDA graph of a whole step; on a processor it changes nothing.

# %%
train, _ = fp.data.shakespeare(length=64)
loader = fp.data.DataLoader(train, batch_size=32, shuffle=True, seed=0)


def trained(precision, device=None):
    """A model, its optimizer, and their step."""
    with fp.precision(precision):
        model = models.CharLSTM(65, hidden=256).to(device)
    optimizer = fp.MixedOptimizer(optim.Adam(model.parameters(), lr=5e-3))

    def step(x, t):
        loss = F.cross_entropy(model(x), t)
        optimizer.minimize(loss)
        return loss.detach()

    return model, optimizer, fp.capture(step)


pairs = {name: trained(name) for name in ("float32", "mixed")}
seconds = {name: [] for name in pairs}
for x, t in islice(loader, teach.fast_or(14, 8)):
    for name, (_, _, step_of) in pairs.items():
        began = perf_counter()
        step_of(x, t).item()  # which waits for a GPU
        seconds[name].append(perf_counter() - began)
median = {name: np.median(found[4:]) for name, found in seconds.items()}

# %% [markdown]
# The kernels of a step on the processor, one by one, and what they would take at least on a V100:

# %%
model, optimizer, _ = trained("mixed", "cpu")
optimizer.backward(F.cross_entropy(model(x.cpu()), t.cpu()))
rows = trace(optimizer.backwards[0], optimizer.scale, repeats=teach.fast_or(3, 1)).rows
optimizer.step()
optimizer.zero_grad()
on_v100 = bounds(rows, v100)
products = sum(row.seconds for row in rows if row.role == "dot") / sum(r.seconds for r in rows)
waits = on_v100.shares()

# %% [markdown]
# ### Explain

# %%
times = median["mixed"] / median["float32"]
assert 0.2 < times < 5 and products > 0.5 and abs(sum(waits.values()) - 1) < 1e-6
why = (
    "A GPU's tensor cores multiply float16 many times faster, and half the bytes are moved; what "
    "waits for the start of kernels gains nothing."
    if on_gpu
    else "A processor computes float16 by converting it to float32 and back, so nothing is won in "
    "arithmetic; the conversions cost, and the halved bytes give some of it back."
)
slower.explain(
    times,
    f"A step took {1e3 * median['float32']:.3g} ms in float32 and {1e3 * median['mixed']:.3g} ms in "
    f"mixed (medians; {here.source}). {why} {products:.0%} of a processor's time in kernels is products."
    f"\n\nOn a V100 the same kernels would take "
    f"at least {1e6 * on_v100.half_floor:.0f} µs in float16 and {1e6 * on_v100.single_floor:.0f} in "
    f"float32, {on_v100.single_floor / on_v100.half_floor:.2f} times as long. They would wait for "
    f"the start of kernels in {waits['latency']:.0%} of that time, for memory in "
    f"{waits['memory']:.0%} and for arithmetic in {waits['arithmetic']:.0%}: so small a network "
    "does not fill a GPU. (A floor, computed from the datasheet; no V100 was asked.)",
)

# %% [markdown]
# ## 4. Amdahl's law
#
# ### Predict
#
# Products are half of a step's time, and tensor cores make them five times faster. How many times faster is the step?

# %%
whole = teach.predict("Half of the time made five times faster: the step is faster by", times=...)
whole

# %% [markdown]
# ### Run


# %%
def speed_up(share, times):
    """Of the whole step, where `share` percent of its time get `times` times faster."""
    rest = 1 - share / 100
    found = 1 / (rest + share / 100 / times)
    limit = f"{1 / rest:.3g}" if rest else "infinitely many"
    display(
        Markdown(
            f"{share}% of the time made {times} times faster: the step is **{found:.3g} times** as "
            f"fast; with infinitely fast products {limit} times."
        )
    )
    return found


teach.explore(speed_up, share=(0, 100, 50), times=(1, 16, 5))

# %% [markdown]
# ### Explain

# %%
five = 1 / (0.5 + 0.5 / 5)
of_lstm = 1 / (1 - products + products / 8)
whole.explain(
    five,
    "The half that is not sped up takes as long as before: 1 / (0.5 + 0.5 / 5). However fast the "
    f"products get, the step is never twice as fast. With the share measured above, {products:.0%}, "
    f"products that are eight times faster would make the kernels of the LSTM's step {of_lstm:.1f} "
    "times as fast.",
)

# %% [markdown]
# ## 5. Shapes
#
# Tensor cores multiply float16 in blocks: M, N and K should be multiples of 8. What is no multiple is padded, and the padding is multiplied too, or slower kernels are taken. Of the LSTM's step:

# %%
advice = shape_advice(rows)
print(advice)
assert [p.size for p in advice.unfit] == [65] and advice.unfit[0].padded() == 72

# %% [markdown]
# There are 65 characters. A vocabulary of 72, seven of which never occur, is what people who train large models do (GPT-2's 50,257 words are often padded to 50,304, a multiple of 64).
#
# ## Your turn
#
# ### Fill in the ledger


# %%
def ledger(precision, parameters, activations):
    """Bytes by kind of a step with Adam: a dict of "weights", "masters", "optimizer_state",
    "gradients" (of the weights) and "activations". precision: "float32" or "mixed"."""
    ### BEGIN SOLUTION
    size = 4 if precision == "float32" else 2
    return {
        "weights": size * parameters,
        "masters": 0 if precision == "float32" else 4 * parameters,
        "optimizer_state": 8 * parameters,
        "gradients": size * parameters,
        "activations": size * activations,
    }
    ### END SOLUTION


# %%
teach.check(ledger)

# %% [markdown]
# ### From which batch on is it worth it?
#
# Use your ledger: all five kinds count, activations are those of one example times the batch. With "at least 25% saved" you would ask for `saved=0.25`.


# %%
def break_even_batch(parameters, activations, saved):
    """The smallest batch that saves at least this share of the bytes; None if none does.

    activations: of one example. saved: more than 0.
    """
    ### BEGIN SOLUTION
    if saved >= 1 / 2:
        return None
    return ceil(16 * saved * parameters / (activations * (2 - 4 * saved)))
    ### END SOLUTION


# %%
teach.check(break_even_batch)

# %% [markdown]
# ### Work that padding wastes


# %%
def wasted_work(m, n, k):
    """The share of the multiplications that are of padding, if M, N and K become multiples of 8."""
    ### BEGIN SOLUTION
    return 1 - m * n * k / prod(-(-size // 8) * 8 for size in (m, n, k))
    ### END SOLUTION


# %%
teach.check(wasted_work)

# %% [markdown]
# ### Amdahl's law


# %%
def amdahl(share, times):
    """How many times faster the whole is, if this share of its time gets `times` times faster."""
    ### BEGIN SOLUTION
    return 1 / (1 - share + share / times)
    ### END SOLUTION


# %%
teach.check(amdahl)

# %% [markdown]
# ### To try
#
# 1. Which batch makes one step of the LSTM wait for arithmetic on a V100, with 256 units? And is there one with 128 units?
# 2. `fp.summary(..., optimizer="sgd")` has no optimizer state. Does mixed precision save more then, or less?
# 3. Give LeNet's first convolution 8 channels instead of 6. By how much does its work grow, and what would tensor cores say?
#
# ## On a real GPU

# %%
if on_gpu:
    told = (
        f"- **The time**: {times:.2f} times that of float32 for a step here ({here.source}), whose "
        f"ridge is at {here.ridge():.0f} flop a byte. The smallest kernel takes "
        f"{1e6 * here.launch:.1f} µs, a step as one CUDA graph {1e3 * median['mixed']:.2g} ms."
    )
else:
    told = (
        "- **The time**: everything. The ridge is ten or more times further to the right, so that "
        "shapes and batch sizes decide what float16 gives; kernels take microseconds to start, "
        "which small networks feel most. On an H100 a step of two layers of 256 units took 2.98 ms "
        "in float32 and 1.66 in mixed, of two layers of 1,500 units 20.9 and 7.95 "
        "([docs/gpu.md](../docs/gpu.md#on-an-h100)). With a GPU, `MINIFP_DEVICE=cuda jupyter lab` "
        "fills this lesson with its own figures."
    )
Markdown(
    "- **The bytes**: little. An allocator keeps more than is asked for, and libraries take "
    f"workspace of their own, which this ledger does not know.\n{told}"
)

# %% [markdown]
# ## What to read next
#
# - S. Williams, A. Waterman and D. Patterson (2009), *Roofline: an insightful visual performance model for multicore architectures*, Communications of the ACM 52(4).
# - NVIDIA, *Matrix Multiplication Background User's Guide*, on tiles and multiples of 8; *Training With Mixed Precision*, on tuning for tensor cores.
# - S. Rajbhandari and others (2019), *ZeRO*, [arXiv:1910.02054](https://arxiv.org/abs/1910.02054), section 3: where the 16 bytes a weight go, and how several GPUs share them.
# - P. Micikevicius and others (2018), *Mixed Precision Training*, [arXiv:1710.03740](https://arxiv.org/abs/1710.03740), section 3.1, which says itself that weights take more.
