# %% [markdown]
# # 12. Gallery
#
# **Do the rules carry over?** Three techniques have been shown one by one: master weights, loss scaling, sums in float32. Here are tasks that no lesson was built around: speech, translation, and pictures that a network invents. Say beforehand what each of them needs.
#
# - **You need**: minifp with its extras `plot` and `translation`, and about twelve minutes on two cores; it is the longest lesson. Speech and translation need data that do not come with minifp: spoken digits (16 MB) and Multi30k (2 MB). If they are in the folder that `MINIFP_DATA` names, or in minifp's cache, they are used. If not, nothing is downloaded: LeNet on digits and an LSTM on Shakespeare stand in, and the panels say so. (`fp.data.spoken_digits()` and `fp.data.multi30k()` download them once.)
# - **How to read it**: *predict*, then *run*, then *explain*. Write your guess where `...` stands, or click it: what comes out is hidden until you do. Your first guess is kept, so that you can see later what you thought.
# - **Words**: the [glossary](../docs/teaching/glossary.md) explains them.

# %% tags=["hide-input"]
from dataclasses import replace
from functools import partial
from math import nan

import numpy as np

import minifp as fp
from minifp import optim, teach
from minifp.teach.drawings.gallery import NAMES, panels
from minifp.teach.tasks import exhibits

teach.begin("12-gallery")

# %% [markdown]
# ## 1. Three tasks
#
# Each is small, and each stands for a claim of the paper that introduced mixed precision (Micikevicius and others, 2018):
#
# - **Speech** (table 3): without loss scaling, mixed precision makes 5 to 10% *fewer* errors than float32. Here a small Deep Speech 2 reads strings of spoken digits.
# - **Translation** (figure 4): with loss scaling, mixed precision stays within the spread of three float32 trainings. Here LSTMs with attention translate short English sentences to French. So small a network has large gradients, so the **exponent dial** makes them 2^10 times smaller, as if the loss were a mean over 1,024 times as many words (lesson 5). A few minutes are not enough to learn to translate (every BLEU is about 1). So we compare how surprised each model is by the next piece of a French sentence: its perplexity.
# - **A GAN** (section 4.6): needs no loss scaling, "judged by eye". Here a DCGAN invents digits, and a number replaces the eye: how far its pictures are from real ones in the features of a fixed network.

# %%
SEEDS, JOBS = teach.fast_or(3, 2), teach.fast_or(2, 1)
UNSCALED, SCALED = "mixed,loss_scale=1", "mixed,loss_scale=128"
speech, translation, gan = exhibits.chosen()
speech[0], translation[0], gan[0]

# %% [markdown]
# ### Predict

# %%
dead = teach.predict(
    "With the dial, without loss scaling, translation (or what stands in for it) will",
    of=("end within float32's spread", "end outside of it"), choice=...)  # fmt: skip
dead

# %%
gains = teach.predict(
    "Without the dial or loss scaling, speech (or what stands in for it) is better in mixed precision",
    of=("with every seed", "with none", "with some"), choice=...)  # fmt: skip
gains

# %%
pictures = teach.predict(
    "Without the dial or loss scaling, the GAN will",
    of=("end within its margin of float32", "make worse pictures"), choice=...)  # fmt: skip
pictures

# %% [markdown]
# ### Run
#
# This is the part that takes time: each task is trained in float32 and in mixed precision, with the same seeds.

# %%
compare = partial(fp.compare, seeds=SEEDS, jobs=JOBS, progress=False)
compared = {
    speech[0]: compare(speech[1], ["float32", UNSCALED]),
    translation[0]: compare(translation[1], ["float32", UNSCALED, SCALED]),
    gan[0]: compare(gan[1], ["float32", UNSCALED]),
}

# %% tags=["hide-input"]
heard, translated, made = compared.values()
rows = [
    (title, NAMES[arm], run.seed, c.task.metric_name, nan if run.metric is None else run.metric,
     run.status)
    for title, c in compared.items()
    for arm in c.precisions
    for run in c.runs_of(arm)
]  # fmt: skip

with teach.after(dead, gains, pictures):
    teach.show(
        panels(compared), "panels", ("task", "precision", "seed", "metric", "value", "status"), rows
    )

# %% [markdown]
# ### Explain

# %%
teach.explain("dead")

# %%
teach.explain("gains")

# %%
teach.explain("pictures")

# %% [markdown]
# ## 2. Which technique was it?
#
# `fp.ablate` trains a task with every combination of the three techniques, and with float32 beside them. It tests everything that you can predict about a task. Float16 sums are slow here, because every partial sum is rounded, so we use a perceptron on digits, in three settings:
#
# - **as usual**: Adam at 0.001;
# - **small gradients**: the same with the exponent dial at 17 (2^17 times smaller);
# - **small updates**: Adam at 0.00002, no dial.
#
# ### Predict

# %%
CHOICES = ("master weights", "loss scaling", "float32 sums", "none of them")
usual = teach.predict("As usual, it needs", of=CHOICES, choice=...)
usual

# %%
gradients = teach.predict("With small gradients, it needs above all", of=CHOICES, choice=...)
gradients

# %%
updates = teach.predict("With small updates, it needs above all", of=CHOICES, choice=...)
updates

# %% [markdown]
# ### Run

# %%
mlp = fp.load_task("mlp")
MOODS = {
    "as usual": replace(mlp, steps=teach.fast_or(200, 20)),
    "small gradients": replace(mlp, dial=17, steps=teach.fast_or(200, 40)),
    "small updates": replace(
        mlp, optimizer=partial(optim.Adam, lr=2e-5), steps=teach.fast_or(800, 250)
    ),
}

# %%
FACTORS = dict.fromkeys(MOODS, tuple(exhibits.FACTORS))
if teach.fast_or(False, True):  # one technique there
    FACTORS |= {"as usual": ("loss_scale",), "small updates": ("master_weights",)}
ablations = {
    mood: fp.ablate(task, FACTORS[mood], seeds=SEEDS, jobs=JOBS, progress=False)
    for mood, task in MOODS.items()
}
costs = {mood: exhibits.costs(ablation) for mood, ablation in ablations.items()}

with teach.after(usual, gradients, updates):
    print(ablations["small gradients"])

# %% [markdown]
# ### Explain

# %%
teach.explain("usual")

# %%
teach.explain("gradients")

# %%
teach.explain("updates")

# %% [markdown]
# ## Your turn
#
# ### How many end within the spread of others


# %%
def within_spread(values, baseline):
    """How many of these results lie within the range of float32's. NaN is a run that failed."""
    ### BEGIN SOLUTION
    low, high = np.nanmin(baseline), np.nanmax(baseline)
    return sum(low <= value <= high for value in values)
    ### END SOLUTION


# %%
teach.check(within_spread)

# %% [markdown]
# ### What a technique does on average
#
# `cells` has the metric of each combination, by a tuple of three truth values: `cells[True, False, True]` is the one with masters and float32 sums, and without scaling.


# %%
def main_effects(cells):
    """The average effects of masters, scaling and float32 sums, over all combinations of others."""
    ### BEGIN SOLUTION
    return [
        np.mean([m for key, m in cells.items() if key[i]])
        - np.mean([m for key, m in cells.items() if not key[i]])
        for i in range(3)
    ]
    ### END SOLUTION


# %%
teach.check(main_effects)

# %% [markdown]
# ### Which techniques are needed


# %%
def needed(cells, margin):
    """The set of techniques that cannot be taken away alone without losing more than the margin.

    cells: accuracies, as above; NaN is a run that failed. Names: "master weights", "loss scaling",
    "float32 sums".
    """
    ### BEGIN SOLUTION
    found = set()
    for i, name in enumerate(("master weights", "loss scaling", "float32 sums")):
        without = tuple(j != i for j in range(3))
        if not cells[without] >= cells[True, True, True] - margin:
            found.add(name)
    return found
    ### END SOLUTION


# %%
teach.check(needed)

# %% [markdown]
# ### To try
#
# 1. Pick a task from `minifp gallery --help`, say which techniques it needs, then ask `fp.ablate`, first with few steps.
# 2. Up to which dial does translation train with S = 8? And with S = 1? Say so before you run it, from the result at 2^10.
# 3. A source reads the paper as "over half of the gradients of SSD lie where float16 cannot represent them". The paper says that 67% *are zero*. Which of these is a reason for loss scaling? Run `minifp inspect` on a network of your own: how many zeros does float32 have?
#
# ## What would change on a real GPU
#
# - **Size.** The paper's networks are a thousand times larger and were trained for days. Their gradients are as small as the dial makes ours; a short run has no room for their late failures (lesson 6).
# - **Sums in float16** do not happen there by accident: tensor cores add in float32, or nearly so. Libraries have switches for narrower sums, and there the question comes back, above all for FP8.
# - **What is needed** is not a property of the hardware. It follows from how small gradients and updates are, and you can find it out on a processor.
#
# ## What to read next
#
# - P. Micikevicius and others (2018), *Mixed Precision Training*, [arXiv:1710.03740](https://arxiv.org/abs/1710.03740), section 4: all tasks.
# - [docs/gallery.md](../docs/gallery.md): minifp's own gallery, with more seeds, longer runs, and everything that did not come out as in the paper.
# - G. Box, J. Hunter and W. Hunter, *Statistics for Experimenters*, chapter 5: factorial designs, of which `ablate` is one.
# - D. Amodei and others (2015), *Deep Speech 2*, [arXiv:1512.02595](https://arxiv.org/abs/1512.02595); A. Radford and others (2015), *DCGAN*, [arXiv:1511.06434](https://arxiv.org/abs/1511.06434).
