# %% [markdown]
# # 3. Master weights
#
# **Who needs them?** Lesson 2 was about updates that float16 weights do not take. The remedy of the paper that introduced mixed precision is a second copy of each weight, in float32, that takes them all. This lesson takes the copy away, and asks what else helps.
#
# - **You need**: minifp with its `plot` extra, lesson 2, and about two minutes of computing. For you: 20 minutes as far as *For home*. Start a long cell, and read on while it runs.
# - **How to read it**: *predict*, *run*, *explain*; the [glossary](../docs/teaching/glossary.md) has the words.
# - **What was arranged**: the learning rates. At 0.001 the network here learns well. We go a hundred times lower, to rates that large models have at the end of training.

# %% tags=["hide-input"]
from functools import partial

import numpy as np

from minifp import models, optim, teach
from minifp.teach.drawings import master_weights
from minifp.teach.tasks import digits
from minifp.teach.tasks import masters as by_masters

teach.begin("03-master-weights")

# %% [markdown]
# ## The experiment
#
# A perceptron reads 8x8 pictures of digits. Runs with one seed begin with the same weights and see the same batches; they differ in how weights are kept. In `"mixed"` the optimizer has a float32 copy, the [*master weights*](../docs/teaching/glossary.md#master-weights). It updates the copy, and rounds it to the float16 weights that the network computes with. In `"mixed,master_weights=off"` there are only float16 weights: the update is computed in float32, added, and the sum is rounded.

# %%
SIZES = teach.fast_or((64, 128, 64, 10), (64, 256, 10))  # of the network's layers


def accuracy(precision, lr, steps, seed=0):
    """Percent of the test pictures that are read correctly after so many steps of Adam."""
    rule = partial(optim.Adam, lr=lr)
    return digits.accuracy(digits.trained(precision, rule, steps, seed, sizes=SIZES))


# %% [markdown]
# ## Predict
#
# Adam's learning rate is 0.00001, and training lasts until float32 reads 60 to 80% of the digits. Guessing reads 10%. What percentage of float32's accuracy do float16 weights without masters *lose*? (If float32 reads 70% and float16 35%, that is 50%.)

# %%
relative = teach.predict("How much of the accuracy is lost without masters?", percent=...)
relative

# %% [markdown]
# ## Run

# %%
LONG, SEEDS = teach.fast_or(2500, 600), teach.fast_or(2, 1)
WAYS = {"float32": "float32", "masters": "mixed", "float16 alone": "mixed,master_weights=off"}
reached = {
    name: [accuracy(precision, 1e-5, LONG, seed) for seed in range(SEEDS)]
    for name, precision in WAYS.items()
}
first_weights = [p.numpy().ravel() for p in models.MLP(*SIZES).parameters()]
median = np.median(np.abs(np.concatenate(first_weights)))

with teach.after(relative):
    for name, of in reached.items():
        print(f"{name:>14}:", ", ".join(f"{percent:.1f}%" for percent in of))

# %% [markdown]
# ## Explain

# %%
teach.explain("relative")

# %% [markdown]
# ## A dose and its response
#
# One failure is an anecdote. If lost updates are the cause, the failure must get worse as steps get smaller, and it must begin where a step is half a gap. A second format, bfloat16, tests that again.
#
# There is also another way. [*Stochastic rounding*](../docs/teaching/glossary.md#stochastic-rounding) rounds up by chance: a number that lies a tenth of the way to the next one goes up once in ten times. Each weight is wrong, but right on average. It is the fifth line in the figure below, *float16, by chance*: float16 weights without masters.
#
# ## Predict
#
# The learning rate is lowered from 0.001 to 0.00001. Bfloat16 has the range of float32, and float16 does not. Which of the two, without masters, will fail first, or will neither?

# %%
first = teach.predict("Which fails first?", of=("float16", "bfloat16", "neither"), choice=...)
first

# %% [markdown]
# ## Run

# %%
RATES = teach.fast_or([1e-5, 2e-5, 5e-5, 1e-4, 3e-4, 1e-3], [2e-5, 1e-4, 1e-3])
STEPS = teach.fast_or(900, 300)
LINES = {
    "float32": "float32",
    "float16 + masters": "mixed",
    "float16 alone": "mixed,master_weights=off",
    "bfloat16 alone": "bfloat16,master_weights=off",
    "float16, by chance": "mixed,master_weights=off,update_rounding=stochastic",
}
by_rate = {
    name: [accuracy(precision, lr, STEPS) for lr in RATES] for name, precision in LINES.items()
}

# %% tags=["hide-input"]
power = 2.0 ** np.floor(np.log2(median))
limits = {"float16": power * 2.0**-10 / 2, "bfloat16": power * 2.0**-7 / 2}
columns, rows = master_weights.table(RATES, by_rate)
in_float32, with_masters, float16_alone, bfloat16_alone, by_chance = map(np.array, by_rate.values())
at = RATES.index(2e-5)

with teach.after(first):
    teach.show(
        master_weights.accuracy_by_rate(RATES, by_rate, limits), "accuracy_by_rate", columns, rows
    )

# %% [markdown]
# ## Explain

# %%
teach.explain("first")

# %%
with teach.after(first):
    teach.explain("behind")

# %% [markdown]
# ## Your turn
#
# ### 1. The master copy
#
# Write gradient descent with a master copy, in about six lines. `scaled_gradient(w)` takes float16 weights and returns S times the gradient, in float16. Without this factor, the [loss scale](../docs/teaching/glossary.md#loss-scale), small gradients would become 0 (lesson 4). Divide it out, in float32, before the update.


# %%
def descend_with_master(w, scaled_gradient, steps, lr, S):
    """w: float16 weights, an array (n). scaled_gradient: a function from float16 weights (n) to S
    times the gradient, float16 (n). Returns the float16 weights after so many steps."""
    ### BEGIN SOLUTION
    master = w.astype(np.float32)
    for _ in range(steps):
        gradient = scaled_gradient(w).astype(np.float32) / S
        master -= lr * gradient
        w = master.astype(np.float16)
    return w
    ### END SOLUTION


# %%
teach.check(descend_with_master)

# %% [markdown]
# ## For home
#
# The lesson ends here. All that follows on this page is for home, or for the curious. For the figure's differences with intervals over five seeds, see [docs/precision.md](../docs/precision.md#small-updates-without-master-weights).
#
# ### 2. Stochastic rounding
#
# Round each number to one of the two float16 numbers beside it, so that the mean is right. A float16 number stays what it is. The check looks at the neighbours, and at how often each is taken.


# %%
def stochastic(x, random):
    """x: float32 numbers, an array (n). random: a NumPy Generator. Returns float16 numbers (n)."""
    ### BEGIN SOLUTION
    near = x.astype(np.float16)
    low = np.where(near > x, np.nextafter(near, np.float16(-np.inf)), near)
    high = np.where(near < x, np.nextafter(near, np.float16(np.inf)), near)
    gap = high.astype(np.float32) - low
    share = np.divide(x - low, gap, out=np.zeros_like(x), where=gap > 0)
    return np.where(random.random(x.shape) < share, high, low)
    ### END SOLUTION


# %%
teach.check(stochastic)

# %% [markdown]
# ### 3. Which format needs masters most?
#
# The names of eight-bit formats tell their bits: e4m3 has 4 of exponent and 3 of mantissa (fn: all its numbers are finite, it has no Inf).
#
# Sort `"float16"`, `"float32"`, `"bfloat16"`, `"float8_e4m3fn"` and `"float8_e5m2"`: first the one that loses the largest updates.

# %%
### BEGIN SOLUTION
masters_by_need = ("float8_e5m2", "float8_e4m3fn", "bfloat16", "float16", "float32")
### END SOLUTION

# %%
teach.check(masters_by_need=masters_by_need)

# %% [markdown]
# ### Your masters in a network
#
# There is nothing to write here, only to run. Your function of exercise 1 trains the perceptron (until it is right, a solution of minifp's does). All float16 weights are in one array, and the backward pass begins with S = 1024. minifp's `MixedOptimizer`, which does the same, and float16 weights alone run beside it.

# %%
steps, lr = teach.fast_or(900, 500), 0.003
descend = teach.or_solution(descend_with_master, by_masters.by_optimizer)
yours = by_masters.by_hand(descend, steps, lr)
minifps, nobodys = (
    by_masters.by_minifp(precision, steps, lr)
    for precision in ("mixed", "mixed,master_weights=off")
)
teach.explain("your_masters")

# %% [markdown]
# ### More to try
#
# - `"mixed,master_weights=off,compensated=on"` keeps the error of each rounding, in float16, for the next update. Add it as a sixth line. What does it cost, compared with masters?
# - Write a sibling of `descend_with_master` that has no master and rounds with your `stochastic`, and train with it.
# - Find the largest rate at which float16 weights alone are still as good as float32 for a network of your own: `minifp sweep mlp --set lr=1e-5..1e-3:5 --precision float32 mixed mixed,master_weights=off`.
#
# ## What would change on a real GPU
#
# - **The numbers**: little. Optimizers update masters in float32 there as well, and round as here.
# - **The time**: an update is limited by memory. Masters are read and written in float32, so an update saves less than the rest of a step. Fused kernels update and round in one pass over memory, as minifp's compiled rules do here.
# - **Stochastic rounding**: some accelerators do it in hardware; on others a kernel draws the bits. minifp's bits depend on the seed, the step and the place of the weight, so they are the same on every device.
# - **Who does what**: PyTorch's autocast keeps the weights themselves in float32 and rounds them at each use, which has the same effect as masters. With `model.half()` or `model.bfloat16()` and a plain optimizer, nobody keeps masters.
#
# ## What to read next
#
# - Lesson 4: the other half of the recipe, for gradients that are too small by themselves.
# - P. Micikevicius and others, *Mixed Precision Training*, [arXiv:1710.03740](https://arxiv.org/abs/1710.03740), section 3.1 and Figures 1 and 2 (2018).
# - S. Gupta and others, *Deep Learning with Limited Numerical Precision*, [arXiv:1502.02551](https://arxiv.org/abs/1502.02551) (2015): stochastic rounding of weights.
# - P. Zamirai and others, *Revisiting BFloat16 Training*, [arXiv:2010.06192](https://arxiv.org/abs/2010.06192) (2020): masters, stochastic rounding and Kahan summation, compared.
# - [docs/precision.md](../docs/precision.md), on small updates without master weights, with intervals over seeds.
