# %% [markdown]
# # 6. A late death
#
# **Why did it look fine at first?** The paper's largest language model learns for 300,000 steps without a loss scale, and then its loss rises. With S = 128 it ends where float32 ends. This lesson makes a small language model die like that, within a few hundred steps, and finds the sign that was there from the first step on.
#
# - **You need**: minifp with its `plot` extra, and about a minute. What a loss scale is: lessons 4 and 5.
# - **How to read it**: *predict*, *run*, *explain*; the [glossary](../docs/teaching/glossary.md) has the words.
# - **What was arranged**: the *exponent dial* is at 11. All gradients are $2^{11} = 2{,}048$ times smaller than this network's own, as if its loss were a mean over 2,048 times as many characters. In float32 that changes nothing.

# %% tags=["hide-input"]
import json

import numpy as np

from minifp import teach
from minifp.teach.drawings import late_death
from minifp.teach.exercises import late_death as judged
from minifp.teach.tasks import shakespeare

teach.begin("06-a-late-death")

# %% [markdown]
# ## The run
#
# An LSTM reads Shakespeare and predicts the next character. Every 20 steps it is judged on text that was held out, and the microscope counts how many of its activation gradients are stored as zero. (`shakespeare.watched??` shows the loop.)

# %%
DIAL, EVERY = 11, 20
STEPS, HIDDEN = teach.fast_or(401, 141), teach.fast_or(128, 64)


def trained(S, dial=DIAL, seed=0, steps=STEPS):
    """Train in mixed precision with the loss scale S, or in float32 for None. Returns its curve,
    and what the microscope saw."""
    precision = "float32" if S is None else f"mixed,loss_scale={S}"
    losses, scope = shakespeare.watched(precision, HIDDEN, seed, dial, steps, EVERY)
    found = [seen.total("activation gradients") for seen in scope.steps]
    zeros = [histogram.zeros / histogram.total for histogram in found]
    return late_death.Curve([seen.step for seen in scope.steps], losses, zeros), scope


# %% [markdown]
# ## Predict
#
# A model that guesses all 65 characters alike has a loss of 4.17. float32 comes to about 2. What will the loss be at the end with S = 1?

# %%
unscaled = teach.predict("What will the loss be with S = 1?", nats=...)
unscaled

# %% [markdown]
# And when will it show? Not in the loss, but in what is stored: at which step will more than 90% of the activation gradients be zero for the first time?

# %%
told = teach.predict("From which step on are more than 90% zero with S = 1?", step=...)
told

# %% [markdown]
# ## Run

# %%
curves, scopes = {}, {}
for S in (None, *teach.fast_or((1, 4, 16, 32, 128), (1, 4, 128))):
    name = "float32" if S is None else f"S = {S}"
    curves[name], scopes[name] = trained(S)
alone, scaled, base = curves["S = 1"], curves["S = 128"], curves["float32"]
lowest = int(np.argmin(alone.losses))

with teach.after(unscaled, told):
    teach.show(
        late_death.losses_and_zeros(curves),
        "losses_and_zeros",
        late_death.COLUMNS,
        late_death.table(curves),
    )

# %% [markdown]
# ## Explain

# %%
teach.explain("unscaled")

# %%
teach.explain("told")

# %% [markdown]
# ## Predict
#
# The paper's translation model (Figure 4) does not die without a loss scale: it shows a *slight degradation*. We turn the dial back from 11 to 8, so that gradients are eight times larger, and train with S = 1 again, beside float32 runs with other seeds, as the paper does. What will this run do?

# %%
fates = ("dies", "worse", "matches")
at_eight = teach.predict("With the dial at 8 and S = 1, what becomes of it?", of=fates, choice=...)
at_eight

# %% [markdown]
# ## Your turn: what became of a run?
#
# First define these words, so that nobody can choose after seeing the curve.


# %%
def fate(losses, references):
    """losses: of a run, in order. references: the last losses of float32 runs with other seeds.
    Returns "dies" if a loss is Inf or NaN, or the last is more than 0.1 above the lowest;
    else "matches" if the last is not above the highest of the references, else "worse"."""
    ### BEGIN SOLUTION
    if not np.isfinite(losses).all() or losses[-1] > min(losses) + 0.1:
        return "dies"
    return "matches" if losses[-1] <= max(references) else "worse"
    ### END SOLUTION


# %%
teach.check(fate)

# %% [markdown]
# ## Run and explain

# %%
eight, _ = trained(1, dial=8)
others = [trained(None, seed=n)[0] for n in teach.fast_or((1, 2), (1,))]
references = [curve.losses[-1] for curve in (base, *others)]

teach.explain("at_eight")

# %% [markdown]
# ## Your turn: an early warning
#
# Here are recorded runs, with what the microscope saw at every tenth step. Some end well, some do not. (`scripts/record_lesson_runs.py` made them: characters as above; digits read by a perceptron with ReLU; digits read by one that drops nine of ten activations.)

# %% tags=["hide-input"]
for run in judged.recorded_runs()[:-1]:
    about = {key: run[key] for key in ("name", "dial", "log2 S", "ends well", "turns at")}
    print(json.dumps(about))
print(json.dumps(judged.recorded_runs()[0]["looks"][1], indent=1))

# %% [markdown]
# Write a rule that warns of the runs that do not end well **before their loss rises**, and never of the others. It is called after each look, with all looks so far.


# %%
def warns(looks):
    """looks: dicts with "step", "loss" (the mean since the look before), and "layers": for each
    layer, of its activation gradients as stored, the shares that are "zeros" and "subnormal", of
    all its numbers. Returns whether this run is going to fail."""
    ### BEGIN SOLUTION
    for layer in looks[-1]["layers"].values():
        there = 1 - layer["zeros"]
        if layer["zeros"] > 0.6 and there > 0 and layer["subnormal"] > 0.9 * there:
            return True
    return False
    ### END SOLUTION


# %%
teach.check(warns)

# %% [markdown]
# ## For home
#
# The lesson ends here. What follows is for home, or for the curious.
#
# ### The smallest scale that survives
#
# Each question costs a training run. Find the smallest power with as few questions as possible.


# %%
def smallest_scale(survives, low, high):
    """survives(k): whether a run with S = 2^k does; it holds at `high`, and above every k at which
    it holds. Returns the smallest whole k from low to high at which it holds."""
    ### BEGIN SOLUTION
    while low < high:
        middle = (low + high) // 2
        if survives(middle):
            high = middle
        else:
            low = middle + 1
    return low
    ### END SOLUTION


# %%
teach.check(smallest_scale)

# %% [markdown]
# Use it on runs of your own: `smallest_scale(lambda k: fate(trained(2**k)[0].losses, references) == "matches", 0, 7)` trains three times, for about half a minute. Before you do, read off the figure where the answer should be.

# %% [markdown]
# ## What would change on a real GPU
#
# - **When it dies**: not at the same step. A failing run follows whatever is left of its gradients, and another order of sums changes that. But it fails there, too.
# - **What it costs to look**: counting zeros of one step in twenty is cheap there too. Reading a number back to the host waits for all earlier steps, so do it rarely.
# - **The scale**: with a dynamic loss scale (lesson 7) nobody chooses S. A wrong constant dies late; so does a dynamic scale that is never allowed to grow.
#
# ## What to read next
#
# - Micikevicius and others, *Mixed Precision Training*, [arXiv:1710.03740](https://arxiv.org/abs/1710.03740): section 4.5 with Figure 5 (bigLSTM: diverges after 300,000 steps without scaling, matches with S = 128), section 4.4 with Figure 4 (translation).
# - Jozefowicz and others, *Exploring the Limits of Language Modeling*, [arXiv:1602.02410](https://arxiv.org/abs/1602.02410): the model of Figure 5.
# - In minifp: `minifp gallery language`, a larger model that dies late, five seeds; `docs/gallery.md` has the results.
