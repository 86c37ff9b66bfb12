# %% [markdown]
# # 2. The update that wasn't
#
# **When is w - u equal to w?** Training changes weights by steps that are much smaller than the weights. A step too small for float16's eleven significant bits (ten stored, and the leading 1) leaves the weight where it was, and nothing tells you.
#
# - **You need**: minifp with its `plot` extra, lesson 1, and about half a minute of computing. For you: 20 minutes as far as *For home*.
# - **How to read it**: *predict*, *run*, *explain*; the [glossary](../docs/teaching/glossary.md) has the words.

# %% tags=["hide-input"]
import numpy as np
from IPython.display import display

import minifp as fp
from minifp import optim, teach
from minifp.teach.drawings import update_that_wasnt
from minifp.teach.tasks import lost_updates

teach.begin("02-the-update-that-wasnt")

# %% [markdown]
# ## Predict
#
# Here are five updates of a float16 weight. The paper that introduced mixed precision (section 3.1) has a rule: an update may vanish if the weight is at least 2,048 times as large. In all five it is. How many of the five leave the weight as it was?
#
# | | weight | update |
# |---|---|---|
# | a | 256 | - 0.009 |
# | b | 1 | + $2^{-11}$ |
# | c | 1 + $2^{-10}$ | + $2^{-11}$ |
# | d | 1 | - $2^{-11}$ |
# | e | 1 | - $2^{-12}$ |

# %%
vanish = teach.predict("How many of these five vanish?", number=...)
vanish

# %% [markdown]
# ## Run

# %%
cases = {
    "a": (256, -0.009),
    "b": (1, 2.0**-11),
    "c": (1 + 2.0**-10, 2.0**-11),
    "d": (1, -(2.0**-11)),
    "e": (1, -(2.0**-12)),
}
after = {name: float(np.float16(w + u)) for name, (w, u) in cases.items()}

with teach.after(vanish):
    for name, (w, u) in cases.items():
        print(
            f"{name}: {w:.8g} {u:+.8g} = {after[name]:.8g}", "lost" if after[name] == w else "kept"
        )
    display(fp.explain("256 - 0.009", formats="float16"))

# %% [markdown]
# ## Explain

# %%
teach.explain("vanish")

# %% [markdown]
# ## What training asks for
#
# We train a small network in float32, where nearly every update counts: a perceptron that reads pictures of digits, 8x8 pixels each. We record all weights and updates at the first step and at a late one (step 1,000), and ask what float16 would have done with each.
#
# ## Predict
#
# The optimizer is Adam. Its first step is as large as the learning rate, here 0.0001, for nearly every weight whose gradient is not zero. Of these first updates float16 would lose hardly any. Later ones are lr times the mean of a weight's recent gradients over the root of their mean square, a ratio that is mostly below 1. Most weights lie between 1/64 and 1/4. What percentage would it lose at the late step?

# %%
late = teach.predict("Which share of updates would float16 lose at the late step?", percent=...)
late

# %% [markdown]
# ## Run

# %%
STEPS, lr = teach.fast_or(1000, 600), 1e-4  # the second number is for FAST=1, in tests
watched = {"step 1": 0, f"step {STEPS:,}": STEPS - 1}
seen = lost_updates.weights_and_updates(lambda p: optim.Adam(p, lr=lr), STEPS, watched.values())
pairs = dict(zip(watched, seen))

with teach.after(late):
    teach.show(
        update_that_wasnt.phase_diagram(pairs),
        "phase_diagram",
        update_that_wasnt.COLUMNS,
        update_that_wasnt.table(pairs),
    )

# %% [markdown]
# ## Explain

# %%
teach.explain("late")

# %% [markdown]
# ## Does it matter?
#
# The same small updates may be thrown away again and again. Does that harm training? We train the perceptron by plain SGD in float16, without a second copy of the weights in float32: each update is computed in float32, subtracted, and the weight rounded. We count what is lost. Float32 runs beside it, with the same first weights and batches.
#
# ## Predict
#
# At a learning rate of 0.1, by how many percentage points will the accuracy be lower with float16 weights? (A negative number says higher.)

# %%
points = teach.predict("How much worse are float16 weights at lr 0.1?", points=...)
points

# %% [markdown]
# ## Run

# %%
SGD_STEPS, SEEDS = teach.fast_or(500, 300), teach.fast_or(3, 1)
fast = np.array([lost_updates.beside_float32(0.1, SGD_STEPS, seed) for seed in range(SEEDS)])

with teach.after(points):
    print("seed  float32  float16  lost")
    for seed, (base, alone, share) in enumerate(fast):
        print(f"{seed:4}  {base:6.1f}%  {alone:6.1f}%  {share:3.0f}%")

# %% [markdown]
# ## Explain

# %%
teach.explain("points")

# %% [markdown]
# ## Another learning rate
#
# Now it is 0.003: the same gradient makes an update 33 times smaller. Training is longer, too: 900 steps, with one seed.

# %%
SLOW_STEPS = 900  # a small learning rate needs them
base_slow, alone_slow, share_slow = lost_updates.beside_float32(0.003, SLOW_STEPS)

with teach.after(points):
    teach.explain("smaller_rate")

# %% [markdown]
# ## Your turn
#
# ### 1. The exact rule
#
# For each weight: what is half the distance down to its neighbour, and is an update of exactly that size lost? The check tries all positive float16 numbers.


# %%
def lost_up_to(w):
    """w: float16 numbers above zero, in float64, an array (n). Returns two arrays (n): half of the
    distance to the next smaller number, float64, and whether w minus this half is stored as w,
    bool."""
    code = w.astype(np.float16).view(np.uint16)  # patterns; the next smaller number's is one less
    ### BEGIN SOLUTION
    below = (code - np.uint16(1)).view(np.float16).astype(np.float64)
    return (w - below) / 2, code % 2 == 0
    ### END SOLUTION


# %%
teach.check(lost_up_to)

# %% [markdown]
# ## For home
#
# The lesson ends here. All that follows on this page is for home, or for the curious.
#
# ### Weight decay
#
# Weight decay subtracts from each weight a small part of itself, $\text{lr} \cdot \lambda \cdot w$, at each step. Some pixels are black in every training picture, so the weights that read them have no gradient at all: only decay ever changes them.
#
# *Predict.* The learning rate is 0.1 and $\lambda = 0.002$. In float32 the weights of black pixels fade step by step. What percentage of their size is left at the end in float16?

# %%
faded = teach.predict("How much of them is left in float16?", percent=...)
faded

# %%
decayed = {
    precision: lost_updates.left_after_decay(precision, 2e-3, SGD_STEPS)
    for precision in ("float32", lost_updates.ALONE)
}
without = lost_updates.left_after_decay("float32", 0.0, SGD_STEPS)

teach.explain("faded")

# %% [markdown]
# ### 2. Where Adam stands still
#
# Suppose that no update is larger than the learning rate. From which weight on are all updates lost, up or down? Give the smallest c * lr such that no weight of at least that size ever moves.


# %%
def adam_stands_still_above(lr):
    """lr: the largest update, a number. Returns the magnitude from which on no float16 weight
    takes an update of that size."""
    ### BEGIN SOLUTION
    return 4096 * lr
    ### END SOLUTION


# %%
teach.check(adam_stands_still_above)

# %% [markdown]
# ### 3. The largest decay that does nothing
#
# From a weight that has no gradient, decay subtracts $\text{lr} \cdot \lambda \cdot w$. Up to which $\lambda$ does no normal float16 weight ever move?


# %%
def decay_dead_up_to(lr):
    """lr: the learning rate, a number. Returns the largest weight decay that moves no normal
    float16 weight."""
    ### BEGIN SOLUTION
    return 2.0**-12 / lr
    ### END SOLUTION


# %%
teach.check(decay_dead_up_to)

# %% [markdown]
# ### 4. Find the error
#
# A published lesson subtracts 0.009 from 256 again and again, as optimizers do. Its text says that float32 gets to 254.65. Its own program prints another number, so nobody compared the two. Subtract 200 times: what is left in float32, to two decimals, and what in float16? Give a pair: `after_200 = (float32's, float16's)`.

# %%
### BEGIN SOLUTION
after_200 = (254.20, 256.0)
### END SOLUTION

# %%
teach.check(after_200=after_200)

# %% [markdown]
# ### How large can an update of Adam be?

# %%
with teach.after(late):
    teach.explain("largest")

# %% [markdown]
# ### More to try
#
# - Draw the phase diagram of your own network: record `p.numpy()` of all parameters before and after a step. `minifp inspect` and `fp.microscope` count lost updates for each parameter.
# - A schedule that lowers the learning rate to 0 moves all dots down through the staircase. Does that matter at the end of training?
#
# ## What would change on a real GPU
#
# - **The numbers**: nothing. The update of a float16 weight is rounded there as it is here.
# - **Where you meet it**: hardly anybody updates float16 weights on purpose. PyTorch's autocast keeps weights in float32; Apex's O2 and minifp's `mixed` keep float32 masters. You meet it by accident, with `model.half()` and a plain optimizer.
#
# ## What to read next
#
# - Lesson 3: the float32 copy, and two other ways.
# - P. Micikevicius and others, *Mixed Precision Training*, [arXiv:1710.03740](https://arxiv.org/abs/1710.03740), section 3.1 (2018): the 2048 rule, and why masters.
# - D. Kingma and J. Ba, *Adam*, [arXiv:1412.6980](https://arxiv.org/abs/1412.6980), section 2.1 (2015): the bound on an update.
# - P. Zamirai and others, *Revisiting BFloat16 Training*, [arXiv:2010.06192](https://arxiv.org/abs/2010.06192) (2020), section 3: why rounding of updates, and not of anything else, is what ends training in bfloat16.
# - [Precision](../docs/precision.md) and [the microscope](../docs/microscope.md), which counts lost updates.
