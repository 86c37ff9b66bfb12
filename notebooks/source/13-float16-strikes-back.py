# %% [markdown]
# # 13. Float16 strikes back
#
# **Why does reinforcement learning ask for float16 again?** Once bfloat16 had come, whose range needs no loss scaling, float16 seemed to be over. Then people who train language models by reinforcement learning found that their runs collapsed, and that float16 helped ([arXiv:2510.26788](https://arxiv.org/abs/2510.26788)). This lesson builds the smallest machine in which the reason can be measured.
#
# - **You need**: minifp with its `plot` extra, and about a minute of one core. Nothing is downloaded. Lesson 1 (spacing of numbers) helps.
# - **How to read it**: *predict*, then *run*, then *explain*. Write your guess where `...` stands, or click it: what comes out is hidden until you do. Your first guess is kept, so that you can see later what you thought.
# - **Words**: the [glossary](../docs/teaching/glossary.md) explains them.
# - **What to know beforehand**: this is a small policy at a small game. It measures the mismatch between two ways to compute the same policy. Whether that mismatch ruins the training is another question, and the answer here is not the paper's: see part 4.

# %% tags=["hide-input"]
import inspect

import numpy as np
from IPython.display import display

from minifp import teach
from minifp.teach.drawings import float16_strikes_back as drawing
from minifp.teach.tasks import letters

teach.begin("13-float16-strikes-back")

# %% [markdown]
# ## 1. One policy, two machines
#
# The game: write letters, one after the other, from an alphabet of eight. A letter earns 1 if it is the successor of the letter before it (after the last comes the first), otherwise 0. Random writing earns 1/8 of a point per letter.
#
# The player is an LSTM. It is used in two ways, as large language models are:
#
# - the **sampler** writes: letter by letter, each step made of small operations, as an inference engine does;
# - the **trainer** reads what was written, all letters at once in one compiled kernel, and computes the probabilities again, to differentiate them.
#
# Both have the same weights and the same equations. What differs is *where numbers are rounded*: the sampler stores the result of each small operation, while the trainer's kernel rounds the four gates, c and h, each once in a step. The sums before the gates, the two products that c is the sum of, and tanh(c) stay in float32 there.

# %% tags=["hide-input"]
for way in (letters.Policy.one_step, letters.Policy.forward):
    print(inspect.getsource(way))

# %% [markdown]
# The loop is REINFORCE: make what earned more than the mean more likely, and what earned less, less likely. It pretends that the letters were drawn from the *trainer's* probabilities. They were drawn from the sampler's. (`letters.play??` shows it.)

# %% [markdown]
# ## 2. How far are they apart?
#
# ### Predict
#
# float16 has 10 bits of mantissa and bfloat16 has 7. In both, the same policy writes and reads. The *mismatch* is the mean of |log p by the sampler - log p by the trainer| of a letter. How many times larger will it be in bfloat16?

# %%
larger = teach.predict("In bfloat16 the mismatch is that of float16 times", times=...)
larger

# %% [markdown]
# ### Run
#
# A policy is trained in float32 for a few steps, until it is good but not certain. Then its weights are rounded to each format, and both machines compute in that format. Formats with fewer bits, such as `e8m4` (8 bits of exponent, 4 of mantissa), are made up for this: minifp takes any format.

# %%
FORMATS = {23: "float32", 10: "float16", 8: "e8m8", 7: "bfloat16", 5: "e8m5", 4: "e8m4"}
half_way, _ = letters.play("float32", 0, 25)
mismatch = {
    bits: np.abs(letters.differences(half_way, name)).mean() for bits, name in FORMATS.items()
}

with teach.after(larger):
    display({FORMATS[bits]: f"{value:.2g}" for bits, value in mismatch.items()})

# %% [markdown]
# ### Explain

# %%
teach.explain("larger")

# %% [markdown]
# ## 3. Does it matter for a letter? For a text?
#
# To correct for the wrong sampler, or to see how wrong it is, a whole text is weighted by its *importance ratio*: its p by the trainer over its p by the sampler. Its logarithm is the sum of the letters' differences.
#
# ### Predict
#
# A text of 256 letters is 16 times as long as one of 16. How many times larger is the typical |log ratio|?

# %%
growth = teach.predict(
    "16 times as long, its |log ratio| is larger about", of=("1", "4", "16"), choice=...)  # fmt: skip
growth

# %% [markdown]
# ### Run

# %%
lengths = (16, 64, 256)
sums = {
    name: [np.abs(letters.differences(half_way, name, n).sum(1)).mean() for n in lengths]
    for name in ("float16", "bfloat16")
}

with teach.after(growth):
    display(sums)

# %% [markdown]
# ### Explain

# %%
teach.explain("growth")

# %% [markdown]
# ## 4. And what is learned?
#
# ### Predict
#
# The player is trained in float32, in float16 (`mixed`, with loss scaling) and in bfloat16, from the same first weights. What will bfloat16 do?

# %%
learned = teach.predict(
    "Beside float32, bfloat16 will",
    of=("learn nothing", "learn clearly less", "learn as much"), choice=...)  # fmt: skip
learned

# %% [markdown]
# ### Run

# %%
PRECISIONS = ("float32", "mixed", "bfloat16")
seeds, steps = teach.fast_or(range(3), range(1)), teach.fast_or(150, 60)
runs = {name: [letters.play(name, seed, steps)[1] for seed in seeds] for name in PRECISIONS}
rewards = {name: [reward for reward, _ in found] for name, found in runs.items()}
final = {name: np.mean([r[-10:].mean() for r in found]) for name, found in rewards.items()}

# %% tags=["hide-input"]
table = drawing.table(FORMATS, mismatch, final)

with teach.after(learned):
    figure = drawing.mismatch_and_reward(mismatch, rewards)
    teach.show(figure, "mismatch_and_reward", drawing.COLUMNS, table)

# %% [markdown]
# ### Explain

# %%
teach.explain("learned")

# %% [markdown]
# ## Your turn
#
# ### The importance ratio of a sequence


# %%
def sequence_ratio(log_trainer, log_sampler):
    """p_trainer / p_sampler of each sequence, (B), from log p of its letters, (B, T) each."""
    ### BEGIN SOLUTION
    return np.exp((log_trainer - log_sampler).sum(1))
    ### END SOLUTION


# %%
teach.check(sequence_ratio)

# %% [markdown]
# ### How far apart two policies are
#
# The Kullback-Leibler divergence KL(sampler || trainer) is the mean of log p_sampler - log p_trainer over letters that the sampler draws. As a mean over a batch this can come out negative, which no divergence is. Find an estimate from the same numbers that is never negative and right on average.


# %%
def kl_estimate(log_trainer, log_sampler):
    """An estimate of KL(sampler || trainer) of a letter, one number, from (B, T) each."""
    ### BEGIN SOLUTION
    d = log_trainer - log_sampler
    return np.mean(np.expm1(d) - d)
    ### END SOLUTION


# %%
teach.check(kl_estimate)

# %% [markdown]
# ### Why ten bits and seven make eight


# %%
def rounding_error(mantissa_bits):
    """The largest error of rounding a number next to 1 (between 1 and 2), to nearest."""
    ### BEGIN SOLUTION
    return 2.0 ** -(mantissa_bits + 1)
    ### END SOLUTION


# %%
teach.check(rounding_error)

# %% [markdown]
# ### To try
#
# 1. The KL grows with the *square* of the mismatch. By what factor does bfloat16's exceed float16's? Compute it with your `kl_estimate` on `differences("bfloat16")`.
# 2. Sample in bfloat16 and train in float32, as people do if the sampler must be fast: `write` with one policy, `read` with another that has the same weights. Is the mismatch larger than with both in bfloat16?
# 3. Give the reward once for the whole text, 1 only if all letters are right. Does the game get hard enough to separate the formats?
#
# ## What would change on a real GPU
#
# - **The two machines are real there.** One library samples, with fast kernels and its own batching; another trains. The order of sums depends on the batch, so even one and the same engine may give different bits for the same text.
# - **Float16 needs its loss scaling back** (lessons 4 to 7), and you must watch for overflow. That is the price of the three bits; the paper pays it.
# - **Speed** is the same: tensor cores multiply both formats at one rate.
# - **Another remedy**: kernels that round alike in both engines remove the mismatch altogether, at some cost in speed.
#
# ## What to read next
#
# - P. Qi and others (2025), *Defeating the Training-Inference Mismatch via FP16*, [arXiv:2510.26788](https://arxiv.org/abs/2510.26788).
# - R. J. Williams (1992), *Simple statistical gradient-following algorithms for connectionist reinforcement learning*, Machine Learning 8: REINFORCE and its baseline.
# - J. Schulman (2020), *Approximating KL divergence*, on his page: the estimate of the second exercise, and two others.
# - D. Kalamkar and others (2019), *A Study of BFLOAT16 for Deep Learning Training*, [arXiv:1905.12322](https://arxiv.org/abs/1905.12322): why bfloat16 is enough if nothing is computed twice.
