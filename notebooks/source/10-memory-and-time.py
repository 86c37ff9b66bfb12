# %% [markdown]
# # 10. Memory and time, honestly
#
# **What do I save?** "Half precision halves the memory and is eight times faster." Both halves of this sentence are sometimes true. This lesson counts the bytes of a step, kind by kind, and asks what each matrix product waits for, here and on a GPU.
#
# - **You need**: minifp with its `plot` extra, and about half a minute. Nothing is downloaded.
# - **How to read it**: *predict*, then *run*, then *explain*. Write your guess where `...` stands, or click it: what comes out is hidden until you do. Your first guess is kept, so that you can see later what you thought. Times are measured on your machine while you read, so other machines will have others.
# - **Words**: the [glossary](../docs/teaching/glossary.md) explains them.

# %% tags=["hide-input"]
from math import ceil, prod

import numpy as np
from IPython.display import Markdown, display

from minifp import teach
from minifp.scope.hardware.bounds import bounds
from minifp.scope.hardware.machines import KNOWN, machine
from minifp.scope.hardware.tensor_shapes import shape_advice
from minifp.teach.drawings.memory_and_time import KINDS, bytes_and_roofline
from minifp.teach.tasks import memory_and_time

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
# In mixed precision activations take half the bytes, and so do the stored weights. By how many percent does the *whole* step of the LSTM shrink?

# %%
saved = teach.predict("The whole step of the LSTM is smaller by", percent=...)
saved

# %% [markdown]
# ### Run
#
# `fp.summary` walks through a model without computing anything, and adds up what a training step holds at its peak. (`memory_and_time.bytes_of??` shows the call, and `memory_and_time.lstm??` the step of part 3.)

# %%
NETWORKS = ("LeNet", "LSTM")
bars = {
    f"{name}, {precision}": held
    for name in NETWORKS
    for precision, held in memory_and_time.bytes_of(name).items()
}
totals = {name: sum(held.values()) for name, held in bars.items()}
ratio = {name: totals[f"{name}, mixed"] / totals[f"{name}, float32"] for name in NETWORKS}

with teach.after(saved):
    display(totals)

# %% [markdown]
# ### Explain

# %%
teach.explain("saved")

# %% [markdown]
# How large must the batch be? The same LSTM with other batches:

# %%
rows = []
for batch in (1, 8, 32, 128, 512):
    whole = [sum(held.values()) for held in memory_and_time.bytes_of("LSTM", batch).values()]
    rows.append((batch, *(f"{n / 1e6:.1f} MB" for n in whole), 1 - whole[1] / whole[0]))
heads = "| batch | float32 | mixed | saved |\n|---|---|---|---|\n"

with teach.after(saved):
    display(Markdown(heads + "\n".join(f"| {b} | {f} | {m} | {s:.0%} |" for b, f, m, s in rows)))
    teach.explain("by_batch")

# %% [markdown]
# ## 2. What a product waits for
#
# A machine has two limits: how many operations it does in a second, and how many bytes it moves from memory in a second. A product of (M, K) and (K, N) does 2 M N K operations and moves at least M K + K N + M N numbers. Its operations per byte say which limit it meets. The border between the two is the machine's *ridge*.
#
# ### Predict
#
# One time step of the LSTM multiplies its state, 32 by 256, by the weights of its four gates, 256 by 1,024. How many operations per byte is that, if a number has two bytes?

# %%
intensity = teach.predict("One time step of the LSTM has", flop_per_byte=...)
intensity

# %% [markdown]
# ### Run


# %%
def flop_per_byte(m, n, k, size=2):
    """Of a product, if each number is read or written once."""
    return 2 * m * n * k / (size * (m * k + k * n + m * n))


# %%
PRODUCTS = {  # M, N, K; of the LSTM one time step, and the inputs of all 64 at once
    "LeNet's filter": (256 * 64, 6, 9),
    "LSTM, a step": (32, 1024, 256),
    "LSTM, inputs": (2048, 1024, 64),
    "4,096 square": (4096, 4096, 4096),
}
points = [(name, flop_per_byte(*shape)) for name, shape in PRODUCTS.items()]

with teach.after(intensity):
    print(here)
    print(v100)

# %% tags=["hide-input"]
columns = ("kind", *bars)
table = [(kind, *(f"{held[kind] / 1e3:,.0f} kB" for held in bars.values())) for kind in KINDS]
table += [("whole", *(f"{n / 1e3:,.0f} kB" for n in totals.values()))]
table += [
    (f"{name}: {f:.3g} flop/byte", f"here at most {min(here.half_rate, f * here.bandwidth) / 1e9:.3g} "
     f"Gflop/s", f"V100 at most {min(v100.half_rate, f * v100.bandwidth) / 1e9:.3g} Gflop/s", "", "")
    for name, f in points
]  # fmt: skip
step = flop_per_byte(*PRODUCTS["LSTM, a step"])

with teach.after(intensity):
    teach.show(bytes_and_roofline(bars, (here, v100), points), "bytes_and_roofline", columns, table)

# %% [markdown]
# ### Explain

# %%
teach.explain("intensity")

# %% [markdown]
# ## 3. Time, here
#
# ### Predict
#
# How many times as long does a step of the LSTM take in mixed precision as in float32, on the machine that you run this on? A processor has hardly any arithmetic for float16; a GPU has tensor cores.

# %%
slower = teach.predict("A step in mixed precision takes that of float32 times", times=...)
slower

# %% [markdown]
# ### Run
#
# Steps of the two precisions take turns, so whatever else your machine does meanwhile affects both. On a GPU `fp.capture` makes one CUDA graph of a whole step; on a processor it changes nothing.

# %%
seconds = memory_and_time.seconds_in_turn(steps=teach.fast_or(14, 8))
median = {name: np.median(found[4:]) for name, found in seconds.items()}

# %% [markdown]
# The kernels of a step on the processor, one by one, and the least time that they would take on a V100:

# %%
rows = memory_and_time.kernels_of_a_step("mixed", repeats=teach.fast_or(3, 1))
on_v100 = bounds(rows, v100)
products = sum(row.seconds for row in rows if row.role == "dot") / sum(r.seconds for r in rows)
waits = on_v100.shares()
times = median["mixed"] / median["float32"]

# %% [markdown]
# ### Explain

# %%
teach.explain("slower")

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


# %% tags=["hide-input"]
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


# %%
with teach.after(whole):
    teach.explore(speed_up, share=(0, 100, 50), times=(1, 16, 5))

# %% [markdown]
# ### Explain

# %%
teach.explain("whole")

# %% [markdown]
# ## 5. Shapes
#
# Tensor cores multiply float16 in blocks: M, N and K should be multiples of 8. Other sizes are padded, and the padding is multiplied, too; or slower kernels are used. For the LSTM's step:

# %%
advice = shape_advice(rows)
print(advice)
teach.explain("padded")

# %% [markdown]
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
# Use your ledger: all five kinds count, and activations are those of one example times the batch. `saved=0.25` asks for at least 25%.


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
# 1. From which batch on does one step of the LSTM with 256 units wait for arithmetic on a V100? And is there such a batch with 128 units?
# 2. With `fp.summary(..., optimizer="sgd")` there is no optimizer state. Does mixed precision then save more, or less?
# 3. Give LeNet's first convolution 8 channels instead of 6. By how much does its work grow, and what does that mean for tensor cores?
#
# ## On a real GPU

# %%
teach.explain("here" if on_gpu else "elsewhere")

# %% [markdown]
# ## What to read next
#
# - S. Williams, A. Waterman and D. Patterson (2009), *Roofline: an insightful visual performance model for multicore architectures*, Communications of the ACM 52(4).
# - NVIDIA, *Matrix Multiplication Background User's Guide*, on tiles and multiples of 8; *Training With Mixed Precision*, on tuning for tensor cores.
# - S. Rajbhandari and others (2019), *ZeRO*, [arXiv:1910.02054](https://arxiv.org/abs/1910.02054), section 3: where the 16 bytes for each weight go, and how several GPUs share them.
# - P. Micikevicius and others (2018), *Mixed Precision Training*, [arXiv:1710.03740](https://arxiv.org/abs/1710.03740), section 3.1, which says itself that weights take more.
