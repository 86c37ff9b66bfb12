# %% [markdown]
# # Does half precision change what a network learns?
#
# Mixed-precision training stores almost every number in 16 bits instead of 32. This notebook trains the same networks both ways and looks at what differs: first where nothing differs, then at two places where training breaks unless something is done about it.
#
# - **You need**: minifp with its `plot` extra, and about a minute of one processor core. No network: the data comes with minifp.
# - **How to read it**: each part asks you to *predict*, then *runs*, then *explains*. Write your guess where `...` stands, or click it: what comes out is hidden until you do. Your first guess is kept, so that you can see later what you thought. Numbers in the explanations are taken from the run above them, and what the sentences say is checked against it.
# - **Words**: the [glossary](../docs/teaching/glossary.md) explains them.
# - **No results are stored in this file**, so that what you see is what your machine computed. Run it cell by cell.

# %% tags=["hide-input"]
from dataclasses import replace
from functools import partial

import numpy as np
from IPython.display import Markdown, display

import minifp as fp
from minifp import models, optim, teach
from minifp.scope.hardware.machines import machine

teach.begin("compare")
here = machine("here")  # this processor, or the GPU if MINIFP_DEVICE=cuda

# %% [markdown]
# ## 1. What is compared
#
# A [*precision*](../docs/teaching/glossary.md#precision) in minifp says which format each kind of number has. These three differ in every line below. Each line is also a switch of its own: `"mixed,master_weights=off"` is mixed precision without one of its techniques.

# %% tags=["hide-input"]
names = ("float32", "mixed", "float16")
switches = ("weights", "activations", "gradients", "accumulate", "reduce")
switches += ("norm_parameters", "optimizer_state", "master_weights", "loss_scale")

rows = ["| switch | " + " | ".join(names) + " |", "|---|---|---|---|"]
for switch in switches:
    values = [str(getattr(fp.Precision.parse(name), switch)) for name in names]
    rows.append(f"| `{switch}` | " + " | ".join(values) + " |")
Markdown("\n".join(rows))

# %% [markdown]
# Where it says `float16`, numbers are rounded to 11 significant bits whenever they are stored. Under `mixed`, sums are still made in `float32`, and rounded once at the end.
#
# `fp.compare` trains a task once for each precision and seed. Runs with the same [seed](../docs/teaching/glossary.md#seed) begin with the same weights and see the same batches in the same order, so they can be compared pair by pair.
#
# ### Predict
#
# LeNet, a small convolutional network, learns to read 8x8 pictures of digits. By how many points will its accuracy on pictures it has not seen be lower in mixed precision than in float32?

# %%
lower = teach.predict("How much lower will the accuracy be in mixed precision?", points=...)
lower

# %% [markdown]
# ### Run

# %%
epochs = teach.fast_or(6, 1)
lenet = fp.compare("lenet", ["float32", "mixed"], seeds=3, epochs=epochs, progress=False)
base, mixed = lenet.rows()
slower = mixed.seconds_per_step / base.seconds_per_step

with teach.after(lower):
    display(lenet)

# %% [markdown]
# ### Explain

# %%
teach.explain("lower")

# %% [markdown]
# ## 2. An update that is too small to be written
#
# Near 0.1, float16 numbers lie $2^{-14} \approx 0.00006$ apart: that is their [gap](../docs/teaching/glossary.md#gap). A step of the optimizer that is smaller than half of that is rounded back to where it came from.
#
# ### Predict
#
# A perceptron has weights up to ±0.125. Adam's first step moves each of them by the learning rate, here 0.00001. What percentage of the weights will not move at all if they are stored in float16?

# %%
unmoved = teach.predict("How many float16 weights will not move?", percent=...)
unmoved

# %%
fp.manual_seed(0)
with fp.precision("mixed"):
    model = models.MLP(64, 128, 64, 10)
w = np.concatenate([p.numpy().ravel() for p in model.parameters()])
moved = (w.astype(np.float32) - np.float32(1e-5)).astype(np.float16)
lost = 100 * np.mean(moved == w)

teach.explain("unmoved")

# %% [markdown]
# Does it matter? Mixed precision keeps *master weights*, a float32 copy in the optimizer. The copy takes every step, and is then rounded to the float16 weights. Small steps add up in it until they are large enough to show. The next cell trains with masters and without.
#
# ### Predict
#
# After more than a thousand such steps, will the network without masters be slightly worse, much worse, or no better than guessing (10%)?

# %%
ends = ("slightly worse", "much worse", "no better than guessing")
without_masters = teach.predict("What will it be without masters?", of=ends, choice=...)
without_masters

# %% [markdown]
# ### Run

# %%
slow = replace(
    fp.load_task("mlp"),
    name="mlp with a tiny learning rate",
    description="a perceptron on digits; Adam with a learning rate of 0.00001",
    optimizer=partial(optim.Adam, lr=1e-5),
)
without = "mixed,master_weights=off"
steps, seeds = teach.fast_or(1500, 800), teach.fast_or(3, 1)
masters = fp.compare(slow, ["float32", "mixed", without], seeds=seeds, steps=steps, progress=False)

with teach.after(without_masters):
    display(masters)

# %% [markdown]
# ### Explain

# %%
teach.explain("without_masters")

# %% [markdown]
# ## 3. A gradient that is too small to be written
#
# The smallest float16 number above zero is $2^{-24}$. Whatever is not above half of that becomes zero.
#
# A small network has few gradients as small as that: its loss is a mean over a few dozen terms. The loss of a large language model or detector is a mean over millions, so each term's gradient is thousands of times smaller. To show that trouble here, minifp has the **exponent dial**: with `dial=17`, gradients are $2^{17} = 131{,}072$ times smaller than they would be, from the loss back to the update, where the factor is taken out again. In float32 that changes nothing. In float16 it stands for a loss that is a mean over 131,072 times as many terms. All results of this part use the dial.
#
# *Loss scaling* multiplies all gradients by a large number S before they are stored, and divides them by it, in float32, before they are used.
#
# ### Predict
#
# What will the perceptron do at its usual learning rate, with the dial at 17, without loss scaling: train as well, train slowly, stand still, or get worse than it was?

# %%
ways = ("train as well", "train slowly", "stand still", "get worse than it was")
unscaled_does = teach.predict("What will it do without loss scaling?", of=ways, choice=...)
unscaled_does

# %% [markdown]
# ### Run

# %%
unscaled = "mixed,loss_scale=off"
scaling = fp.compare(
    "mlp", ["float32", "mixed", unscaled], seeds=seeds, epochs=5, dial=17, progress=False
)

with teach.after(unscaled_does):
    display(scaling)

# %% [markdown]
# ### Explain

# %%
teach.explain("unscaled_does")

# %% [markdown]
# ## On a real GPU

# %%
teach.explain("here" if here.launches_steps else "elsewhere")

# %% [markdown]
# ## Your turn
#
# 1. Run part 2 with `optim.Adam` at `lr=1e-3`, and with `optim.SGD` at `lr=0.1`. Are masters needed?
# 2. Find the smallest dial at which part 3 without scaling ends below float32, to the nearest power of two. Then add `"mixed,loss_scale=8"`: up to which dial does that one train? Can you say so before you run it?
# 3. Compare `"float16"`, without any of the techniques, with float32 on LeNet. Which of its switches would you turn back first? Test it: `"float16,accumulate=float32"`.
# 4. In part 1, how many seeds are needed before the verdict is EQUIVALENT? Run that many, with `out="runs/lenet"`, so that nothing is lost if you stop.
#
# ## What to read next
#
# - Lesson 1 begins with the sixteen bits themselves; each of the techniques above has lessons of its own: lesson 3 for masters, lessons 4 to 7 for loss scaling, lesson 8 for float32 sums.
# - P. Micikevicius and others, *Mixed Precision Training*, [arXiv:1710.03740](https://arxiv.org/abs/1710.03740), sections 3.1 to 3.3 (2018): the three techniques in four pages.
# - [docs/comparing.md](../docs/comparing.md): what the verdict means, and how to get a result that can be published.
