# %% [markdown]
# # 7. Let the machine choose
#
# **How does dynamic loss scaling behave?** A loss scale S that is too small loses gradients, and one that is too large turns them into Inf. What is too small or too large changes while a network learns. So let the run find S: begin high, halve S when a gradient overflows, double it when all has gone well for a while. This lesson watches such a rule at work, asks what its mistakes cost, and makes it fail.
#
# - **You need**: minifp with its `plot` extra, and about a minute. What a loss scale is for: lessons 4 and 5.
# - **How to read it**: *predict*, then *run*, then *explain*. Write your guess where `...` stands, or click it: what comes out is hidden until you do. Your first guess is kept, so that you can see later what you thought.
# - **Words**: the [glossary](../docs/teaching/glossary.md) explains them.
# - **Nothing was arranged in part 1**: the exponent dial is at 0. In parts 2 and 3 something is broken on purpose, and the text says what.

# %% tags=["hide-input"]
import math
from functools import partial
from itertools import islice

import numpy as np
from IPython.display import Markdown, display

import minifp as fp
import minifp.nn.functional as F
from minifp import models, teach
from minifp.teach.drawings import let_the_machine_choose as drawing
from minifp.teach.exercises.let_the_machine_choose import DEFAULTS
from minifp.teach.tasks import camera, digits, shakespeare

teach.begin("07-let-the-machine-choose")

# %% [markdown]
# ## 1. Halve, count, double
#
# An LSTM reads Shakespeare and predicts the next character. This is its training loop, with everything about the loss scale in view: `backward` multiplies by S; `step` divides by S, or [skips the step](../docs/teaching/glossary.md#skipped-step), and then tells the scale which of the two it did.

# %%
STEPS, HIDDEN = teach.fast_or(600, 150), teach.fast_or(128, 48)
OFTEN = teach.fast_or(100, 25)  # good steps until S doubles


def dynamic(start, interval):
    """S begins with 2^start."""
    return fp.DynamicLossScale(2.0**start, growth_interval=interval)


# %%
def trained(name, loss_scale):
    """Train; returns the Run, the reason of each skipped step, and the loss on text that was held
    out, in nats."""
    model, optimizer = shakespeare.begun("mixed", HIDDEN, loss_scale=loss_scale)
    run, reasons = drawing.Run(name, [], [], []), []
    for x, t in shakespeare.batches(STEPS):
        optimizer.backward(F.cross_entropy(model(x), t))  # gradients, times S
        run.stored.append(max(float(abs(p.grad.array).max()) for p in model.parameters()))
        result = optimizer.step()  # divides by S and updates, or skips; then adapts S
        optimizer.zero_grad()
        run.scale.append(result.scale_before)
        run.skipped.append(result.skipped)
        reasons += [result.reason] if result.skipped else []
    return run, reasons, shakespeare.judge(model)


# %% [markdown]
# ### Predict
#
# S begins with $2^{24}$, and the largest gradient of a fresh network is about 0.1. Every overflow halves S. How many of the first 20 steps will be skipped?

# %%
first_skips = teach.predict("Of the first 20 steps, how many are skipped?", steps=...)
first_skips

# %% [markdown]
# A second run begins with $2^{16}$, with the same batches and the same first weights. By how many percent will the final loss of the run that lost steps be higher?

# %%
cost = teach.predict("The loss of the run from 2^24 is higher by", percent=...)
cost

# %% [markdown]
# PyTorch, TensorFlow and minifp double S after 2,000 good steps; the runs above do so after fewer. How often will S double in this run if the rule waits for 2,000?

# %%
doublings = teach.predict("With N = 2000, S doubles in this run", times=...)
doublings

# %% [markdown]
# ### Run

# %%
high, reasons, high_loss = trained(f"from 2^24, N = {OFTEN}", dynamic(24, OFTEN))
low, _, low_loss = trained(f"from 2^16, N = {OFTEN}", dynamic(16, OFTEN))
patient, _, patient_loss = trained("from 2^24, N = 2000", dynamic(24, 2000))
statistics, _, statistics_loss = trained("log-normal", fp.LogNormalLossScale())
runs = high, low, patient, statistics

with teach.after(first_skips, cost, doublings):
    teach.show(drawing.timeline(runs), "timeline", drawing.COLUMNS, drawing.table(runs))

# %% [markdown]
# ### Explain

# %%
teach.explain("first_skips")

# %%
teach.explain("cost")

# %%
teach.explain("doublings")

# %% [markdown]
# ## 2. The death spiral
#
# The rule believes that an Inf means "S is too large". Now break something else. A network gets pictures of digits as a 12-bit camera might deliver them, with readings from 0 to 4,095 that somebody forgot to scale, and its activation is a squared ReLU. (`camera.SquaredReLU??` and `camera.NoFloor??` show the code.) The readings fit into float16, and so do their weighted sums. The square of anything above 255 does not.
#
# The scale below follows the textbook rule without a floor, as some libraries did: halve at each Inf, and go on.

# %%
(images, _), (test_images, _) = (one.arrays for one in digits.pictures())
EPOCHS = teach.fast_or(8, 4)

# %% [markdown]
# ### Predict
#
# S begins with $2^{16}$. Will the rule find an S at which this network trains?

# %%
ENDS = "yes, after some steps", "no, S falls for ever"
spiral = teach.predict("Will the rule find an S?", of=ENDS, choice=...)
spiral

# %% [markdown]
# ### Run

# %%
TRIED = 60
model, optimizer = camera.built(
    camera.SquaredReLU, camera.NoFloor(2.0**16, patience=10**6), diagnose=False
)
skipped = 0
for x, t in islice(camera.batches(camera.readings(images), EPOCHS), TRIED):
    skipped += optimizer.minimize(F.cross_entropy(model(x), t)).skipped
fallen = math.log2(optimizer.scale)

# %% [markdown]
# Where does this end? In Python, S is a 64-bit number. The rule alone, without the network:

# %%
S, halvings = 2.0**16, 0
while S:
    S, halvings = S / 2, halvings + 1
try:
    1 / S
except ZeroDivisionError as error:
    ended = f"ZeroDivisionError: {error}"

with teach.after(spiral):
    display(f"after {halvings:,} skipped steps S = {S}, and the unscaling says {ended}")

# %% [markdown]
# minifp's own scale, on the same data:

# %%
model, optimizer = camera.built(camera.SquaredReLU, fp.DynamicLossScale())
try:
    for x, t in camera.batches(camera.readings(images), EPOCHS):
        optimizer.minimize(F.cross_entropy(model(x), t))
    stopped = ""
except fp.TrainingError as error:
    stopped = str(error)
floor = optimizer.scale
model, optimizer = camera.built(camera.SquaredReLU, fp.DynamicLossScale())
for x, t in camera.batches(camera.readings(images) / 4095, EPOCHS):
    optimizer.minimize(F.cross_entropy(model(x), t))

with teach.after(spiral):
    display(Markdown(f"> {stopped}"))

# %% [markdown]
# ### Explain

# %%
teach.explain("spiral")

# %% [markdown]
# ## 3. One step that was not skipped
#
# What does skipping protect us from? Train the perceptron on its usual pictures with S = 128. At one step, number 30, let S be $2^{40}$. One run skips as always; in the other the check is turned off.
#
# ### Predict

# %%
FATES = "back after some steps", "worse than before", "lost for ever"
one_step = teach.predict("After one update with Inf, the network is", of=FATES, choice=...)
one_step

# %% [markdown]
# ### Run


# %%
def with_a_spike(**settings):
    """The accuracy after training with S = 128, but for S = 2^40 at one step; and the skipped."""
    model, optimizer = camera.built(
        partial(models.MLP, 64, 128, 64, 10), fp.StaticLossScale(128.0), diagnose=False, **settings
    )
    usual, spike, skipped = optimizer.loss_scale, fp.StaticLossScale(2.0**40), []
    for step, (x, t) in enumerate(camera.batches(images, EPOCHS)):
        optimizer.loss_scale = spike if step == 30 else usual
        skipped += [step] if optimizer.minimize(F.cross_entropy(model(x), t)).skipped else []
    return camera.accuracy(model, test_images), skipped, model


kept, skips, _ = with_a_spike()
ruined, _, wreck = with_a_spike(skip_nonfinite=False)

# %% [markdown]
# ### Explain

# %%
teach.explain("one_step")

# %% [markdown]
# ## Your turn: the rule


# %%
def next_scale(S, good, finite, interval, least, most):
    """S: of the step that was made. good: how many good steps in a row there were before it, since
    S last changed. finite: whether its gradients were. Returns S and `good` for the next step.

    Halve at an overflow, not below `least`; double after `interval` good steps, not above `most`.
    """
    ### BEGIN SOLUTION
    if not finite:
        return max(S / 2, least), 0
    if good + 1 < interval:
        return S, good + 1
    return min(S * 2, most), 0
    ### END SOLUTION


# %%
teach.check(next_scale)

# %% [markdown]
# ## Your turn: the step
#
# SGD with momentum 0.9, on gradients that are S times too large: v becomes 0.9 v + g / S, then w becomes w - lr v.


# %%
def careful_step(w, v, g, S, lr):
    """w, v: weights and momentum, float32 (n). g: gradients times S, float16 (n). Returns the new w
    and v; the old ones, to the last bit, if a gradient is not finite."""
    ### BEGIN SOLUTION
    if not np.isfinite(g).all():
        return w, v
    v = np.float32(0.9) * v + g.astype(np.float32) / np.float32(S)
    return w - np.float32(lr) * v, v
    ### END SOLUTION


# %%
teach.check(careful_step)

# %% [markdown]
# ## Your turn: statistics instead of trial and error
#
# Let x be $\log_2 \max |g|$ of some steps, and assume that it is normally distributed, with their mean and their standard deviation (`np.std`). What is the largest power of two S that overflows in the next step with a probability of at most 0.001?

# %%
from statistics import NormalDist


def log_normal_scale(x):
    """x: log2 of the largest |gradient| of each step, (n). Returns S."""
    ### BEGIN SOLUTION
    above = NormalDist().inv_cdf(1 - 0.001) * np.std(x)
    return 2.0 ** math.floor(math.log2(65504) - np.mean(x) - above)
    ### END SOLUTION


# %%
teach.check(log_normal_scale)

# %% [markdown]
# `fp.LogNormalLossScale` does this with moving averages, and does not trust them: an overflow still halves S.
#
# ## Your turn: whose default?
#
# The table has the S that some libraries begin with, and after how many good steps they double it. All halve it at an overflow. (The paper has no dynamic scale: it names constants from 8 to 32,768, and leaves the rest to future work.)

# %% tags=["hide-input"]
rows = [
    f"| {name} | 2^{math.log2(S):.0f} | {interval} |" for name, (S, interval) in DEFAULTS.items()
]
Markdown("| scaler | first S | doubles after |\n|---|---|---|\n" + "\n".join(rows))

# %% [markdown]
# A network always trains with S = $2^{20}$, and with $2^{21}$ or more every step overflows. After how many steps does each library reach S = $2^{20}$ for the first time? Give a dict, from the names in the table to numbers of steps.

# %%
### BEGIN SOLUTION
steps_to_find = {}
for name, (S, interval) in DEFAULTS.items():
    good, steps = 0, 0
    while S != 2.0**20:
        S, good = next_scale(S, good, S <= 2.0**20, interval, 1.0, 2.0**24)
        steps += 1
    steps_to_find[name] = steps
### END SOLUTION

# %%
teach.check(steps_to_find=steps_to_find)

# %% [markdown]
# Which of them would you choose for a run of 600 steps, and which for one of a million? Beginning too high costs one step for each power of two, beginning too low costs N steps.
#
# ## To try
#
# 1. Give the first run of part 1 `lr=0.05`. What do its overflows tell you before its loss does?
# 2. `fp.DynamicLossScale(backoff_interval=2)` halves S only at every second overflow in a row. Which mistake does that forgive, and what does it cost?
# 3. In part 2, let one batch in a hundred contain a picture with unscaled readings, and scale all the others. Does the spiral come? What does `result.reason` say?
#
# ## What would change on a real GPU
#
# - **The rule**: nothing. But to learn whether the gradients are finite, the host would have to wait for the GPU at every step. Good libraries keep S, the count and the decision in the GPU's memory; minifp does ([docs/gpu.md](../docs/gpu.md)).
# - **Many GPUs**: if one overflows, all must skip, and all must keep the same S. A gradient that is summed over GPUs can overflow although none of its parts did.
# - **bfloat16** has float32's range and needs no loss scale. Where you have it, this lesson is history, until float8 brings the question back (lesson 13 asks why float16 does, too).
#
# ## What to read next
#
# - NVIDIA, *Training With Mixed Precision*, section "Choosing a scaling factor": the rule of part 1, step by step.
# - P. Micikevicius and others (2018), *Mixed Precision Training*, [arXiv:1710.03740](https://arxiv.org/abs/1710.03740), section 3.2, whose last paragraph has overflow and skipping; section 5 names the automatic choice of a scale as future work.
# - O. Kuchaiev and others (2018), *Mixed-Precision Training for NLP and Speech Recognition with OpenSeq2Seq*, [arXiv:1805.10387](https://arxiv.org/abs/1805.10387): both scalers, *Backoff* and *LogNormal*.
# - [NVIDIA/apex, issue 318](https://github.com/NVIDIA/apex/issues/318), and [PyTorch, issue 40497](https://github.com/pytorch/pytorch/issues/40497): what users saw.
# - In minifp: [docs/precision.md](../docs/precision.md), "The loss scale", and `minifp/training/loss_scale.py`, which is shorter than this lesson.
