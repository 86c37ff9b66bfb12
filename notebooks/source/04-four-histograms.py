# %% [markdown]
# # 4. Four histograms
#
# **Where do tensors live?** Training makes four kinds of numbers: weights, activations, and the gradients of both. float16 holds magnitudes from $2^{-24}$ to 65,504. This lesson counts a network's numbers by their power of two, lays the window of float16 over them, and asks what a loss scale does to the picture.
#
# - **You need**: minifp with its `plot` extra, and about half a minute. What a float16 number is: lesson 1.
# - **How to read it**: *predict*, *run*, *explain*; the [glossary](../docs/teaching/glossary.md) has the words.
# - **Nothing was arranged here**: these are the gradients of a small network as they are.

# %% tags=["hide-input"]
import numpy as np

import minifp as fp
import minifp.nn.functional as F
from minifp import teach
from minifp.teach.drawings import four_histograms
from minifp.teach.tasks import shakespeare

teach.begin("04-four-histograms")

# %% [markdown]
# ## The run
#
# An LSTM with 128 units reads Shakespeare and predicts the next character. `fp.microscope` looks at every tenth step and counts all numbers by their exponent, without changing a single bit.

# %%
STEPS, HIDDEN = teach.fast_or(300, 30), teach.fast_or(128, 64)


def trained(precision, seed=0):
    """Train, and return what the microscope saw and the loss on text that was held out, in nats."""
    model, optimizer = shakespeare.begun(precision, HIDDEN, seed)
    with fp.microscope(model, optimizer, every=10) as scope:
        for x, t in shakespeare.batches(STEPS, seed):
            optimizer.minimize(F.cross_entropy(model(x), t))
    return scope, shakespeare.judge(model)


# %% [markdown]
# ## Predict
#
# We train in float32 first, where hardly anything is lost, and look at the [*activation gradients*](../docs/teaching/glossary.md#activation) of the LSTM's gates (the gradients of the inputs of its sigmoids). If they had been stored in float16, how many of them would have become zero?

# %%
flushed = teach.predict("How many of the gates' gradients would float16 lose?", percent=...)
flushed

# %% [markdown]
# ## Run

# %%
scope, in_float32 = trained("float32")


# %% tags=["hide-input"]
def draw(log2_S):
    """The four histograms, with gradients multiplied by 2^log2_S."""
    rows = four_histograms.rows_of(scope, log2_S)
    lost = four_histograms.lost_percent(scope, log2_S)
    teach.show(
        four_histograms.ridges(rows, f"S = $2^{{{log2_S}}}$: {lost:.1f}% of all gradients lost"),
        "ridges",
        four_histograms.COLUMNS,
        four_histograms.table(rows),
    )


# %%
gates = scope.total("activation gradients", "lstm gates")
zeros, below = gates.zeros / gates.total, gates.lost(0)
advice = scope.advice()

with teach.after(flushed):
    teach.explore(draw, log2_S=(-16, 32, 0))

# %% [markdown]
# With widgets there is a slider. A larger S moves the gradients into the window, and in the end out of it on the other side. At $S = 2^{-8}$ they are as small as if the loss were a mean over 256 times as many terms.
#
# ## Explain

# %%
teach.explain("flushed")

# %% [markdown]
# ## Predict
#
# So without a loss scale a good part of the gates' gradients becomes zero. We train again in mixed precision with S = 1, from the same first weights and with the same batches. By how many percent will the loss on held-out text be higher than float32's?

# %%
worse = teach.predict("How much higher will the loss be with S = 1?", percent=...)
worse

# %% [markdown]
# ## Run and explain

# %%
seen, unscaled = trained("mixed,loss_scale=1")
_, other_seed = trained("float32", seed=1)

teach.explain("worse")

# %% [markdown]
# ## Predict
#
# In the paper's speech model (Figure 2b) about 5% of the *weight gradients* lie below $2^{-24}$. Here they do not. How many times must we halve all gradients before 5% of the nonzero weight gradients fall below $2^{-24}$?

# %%
until = teach.predict("By which power of two must gradients shrink?", bits=...)
until

# %% [markdown]
# ## Explain
#
# No run is needed: multiplying by $2^{-k}$ moves a histogram by k bins and changes nothing else.

# %%
of_weights = scope.total("weight gradients")


def share_below(k):
    """The share below 2^-24 of the weight gradients that are not 0, if all were 2^k smaller."""
    counts = of_weights.shifted(-k).exponents
    return sum(n for e, n in counts.items() if e < -24) / of_weights.nonzero


k = next(k for k in range(40) if share_below(k) >= 0.05)

teach.explain("until")

# %% [markdown]
# ## Your turn: the largest loss scale
#
# What must not overflow is the largest gradient: $S \cdot \max |g| \le 65504$. Write the function that finds the largest allowed power of two.


# %%
def scale_for(largest):
    """largest: max |g|, above 0. Returns the largest power of two S with S * largest <= 65504."""
    ### BEGIN SOLUTION
    fraction, exponent = np.frexp(65504 / largest)  # 65504 / largest = fraction * 2^exponent
    return 2.0 ** (int(exponent) - 1)
    ### END SOLUTION


# %%
teach.check(scale_for)

# %% [markdown]
# ## Your turn: 67% zeros
#
# An account of the paper says that *over 50% of the values fall into the range that float16 cannot represent*. The paper says that **67% of the activation gradients of its detector are exactly zero**, in float32. That is something else: a ReLU that is off has a gradient of zero, which float16 can hold. Tell the two apart.


# %%
def shares(g):
    """g: gradients, float32 (n). Returns three shares of all n numbers: those that are exactly
    zero, those that become zero in float16 only, and those that are subnormal in float16."""
    ### BEGIN SOLUTION
    stored = np.abs(g.astype(np.float16))
    zero, flushed = g == 0, (g != 0) & (stored == 0)
    subnormal = (stored > 0) & (stored < np.float16(2.0**-14))
    return zero.mean(), flushed.mean(), subnormal.mean()
    ### END SOLUTION


# %%
teach.check(shares)

# %% [markdown]
# ## For home
#
# The lesson ends here. What follows is for home, or for the curious.
#
# Call your `scale_for` with `advice.largest`, and compare with what the microscope advises: `print(scope.advice())`.
#
# ### The smallest loss scale that is harmless
#
# How far is the gradient that the optimizer gets from the exact one? Take the length (the root of the sum of squares) of the difference, relative to the length of the gradient. Unlike the share of zeros, it says whether the direction has changed.


# %%
def smallest_harmless(g, tolerance):
    """g: gradients, float32 (n). Returns the smallest S of 1, 2, 4, ... 2^40 with which
    float16(g * S) / S differs from g by at most `tolerance` times the length of g; None if none."""
    ### BEGIN SOLUTION
    g = g.astype(np.float64)
    for k in range(41):
        S = 2.0**k
        stored = (g * S).astype(np.float16).astype(np.float64) / S
        if np.linalg.norm(stored - g) <= tolerance * np.linalg.norm(g):
            return S
    return None
    ### END SOLUTION


# %%
teach.check(smallest_harmless)

# %% [markdown]
# ### What loss scaling multiplies
#
# The account of the paper also says that loss scaling *multiplies the activations by 8*. Which of the four kinds of numbers does it multiply? Give a set of names: `"weights"`, `"activations"`, `"activation gradients"`, `"weight gradients"`. (Draw with two values of `log2_S` and see what moves.)

# %%
### BEGIN SOLUTION
multiplied = {"activation gradients", "weight gradients"}
### END SOLUTION

# %%
teach.check(multiplied=multiplied)

# %% [markdown]
# ## What would change on a real GPU
#
# - **The histograms**: nothing. They say where the numbers of a network lie, and the network, its loss and its batch decide that.
# - **Subnormal numbers**: NVIDIA's GPUs keep those of float16, as minifp does. On hardware that flushes them to zero the lower edge is at $2^{-14}$, ten powers of two higher: look at how much would be lost there (the pale part of the window).
# - **The size**: you will train networks whose loss is a mean over a million terms. Their gradients lie ten powers of two lower than these.
#
# ## What to read next
#
# - Micikevicius and others, *Mixed Precision Training*, [arXiv:1710.03740](https://arxiv.org/abs/1710.03740): section 3.1 with Figure 2b (weight gradients), section 3.2 with Figure 3 (activation gradients, 67% zeros, S = 8).
# - Blake, Orr and Luschi, *Unit Scaling*, [arXiv:2303.11257](https://arxiv.org/abs/2303.11257): a network built so that all four histograms begin in the middle of the window, without a loss scale.
# - In minifp: `docs/microscope.md`, and `minifp inspect charlstm --data shakespeare`, whose page has these histograms with sliders for step and scale.
