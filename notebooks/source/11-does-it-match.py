# %% [markdown]
# # 11. Does it match?
#
# **When may I say "the same accuracy"?** Two trainings never end with the same weights, and two accuracies are hardly ever equal. This lesson trains a small network in float32 and in mixed precision, ten times each, and asks what you may say afterwards.
#
# - **You need**: minifp with its `plot` extra, and about two minutes. Nothing is downloaded.
# - **How to read it**: *predict*, then *run*, then *explain*. Write your guess where `...` stands, or click it: what comes out is hidden until you do. Your first guess is kept, so that you can see later what you thought.
# - **Words**: the [glossary](../docs/teaching/glossary.md) explains them.

# %% tags=["hide-input"]
from dataclasses import replace
from functools import partial
from math import sqrt
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import minifp as fp
from minifp import optim, teach
from minifp.lab.conclusions.claims import metric_differences
from minifp.lab.statistics.paired import compare_paired
from minifp.teach.drawings.does_it_match import differences_and_distances

teach.begin("11-does-it-match")

# %% [markdown]
# ## 1. First the margin
#
# "No significant difference" proves nothing: with few and noisy runs nothing is ever significant. What you can show is that a difference is *smaller than something*. That something is the [margin](../docs/teaching/glossary.md#margin). You choose it **before the first run**, by what a difference would cost you and not by what the runs show.
#
# The task is LeNet on pictures of digits. 360 of them are kept for the test, so one picture is worth 0.28 points. The margin here is one point, not quite four pictures. Mixed precision has no loss scaling here, as in the first table of the paper by Micikevicius and others, whose classifiers matched float32 without it.

# %%
MARGIN = 1.0  # points of accuracy
SEEDS = teach.fast_or(10, 3)

task = replace(
    fp.load_task("lenet"),
    name="lenet with momentum",
    optimizer=partial(optim.SGD, lr=0.05, momentum=0.9),
    schedule=None,
    epochs=teach.fast_or(12, 4),
    margin=MARGIN,
)

# %%
ARMS = {
    "mixed,loss_scale=1": "mixed, S = 1",
    "float32@ulp": "float32, 1 ulp moved",
    "float32@order": "float32, other order",
}

# %% [markdown]
# Beside mixed precision there are two [*controls*](../docs/teaching/glossary.md#control), float32 trainings that nobody would call different: `@ulp` moves one weight by one unit in its last place before the first step, and `@order` shuffles the pictures in another order. They show what *any* harmless disturbance does.
#
# Runs with the same seed begin with the same weights and, except with `@order`, see the same batches. So they are compared in pairs.
#
# ### Predict
#
# In what percentage of the pairs (float32, mixed) will mixed precision end *strictly better*?

# %%
better = teach.predict("Mixed precision is strictly better in", percent_of_the_pairs=...)
better

# %%
parted = teach.predict(
    "One weight of float32 is moved by about 0.00000006 of itself. At the end the weights are apart by",
    of=("less than 0.00001", "0.00001 to 0.01", "more than 0.01"), choice=...)  # fmt: skip
parted

# %% [markdown]
# ### Run

# %%
result = fp.compare(task, ["float32", *ARMS], seeds=SEEDS, progress=False)
found = {arm: metric_differences(result, arm) for arm in ARMS}
seeds = [run.seed for run in result.runs_of("float32")]
differences = found["mixed,loss_scale=1"]
row, base = result.row("mixed,loss_scale=1"), result.row("float32")

with teach.after(better, parted):
    teach.show(
        differences_and_distances(result, ARMS),
        "differences_and_distances",
        ("seed", *ARMS.values()),
        [(seed, *(f"{pairs[i]:+.2f}" for pairs in found.values())) for i, seed in enumerate(seeds)],
    )

# %% [markdown]
# ### Explain

# %%
teach.explain("better")

# %%
teach.explain("parted")

# %% [markdown]
# ## 2. The verdict
#
# With n differences of mean D and standard deviation s, the 90% [confidence interval](../docs/teaching/glossary.md#interval) of the true difference is D ± t s / √n. Compared with the margin m, there are three answers: EQUIVALENT, if the whole interval lies within ±m; DIFFERENT, if it lies outside; and INCONCLUSIVE otherwise. The first is the same as two one-sided t tests at 5%, known as TOST.
#
# ### Predict

# %%
verdict = teach.predict(
    "Mixed precision against float32, at a margin of one point, is",
    of=("EQUIVALENT", "DIFFERENT", "INCONCLUSIVE"), choice=...)  # fmt: skip
verdict

# %% [markdown]
# ### Explain

# %%
paired = compare_paired(differences, [0.0] * len(differences), MARGIN)
half = compare_paired(differences, [0.0] * len(differences), MARGIN / 2)

teach.explain("verdict")

# %% [markdown]
# ## 3. Not every number belongs in a mean
#
# The same with the **exponent dial** at 17: gradients are 2^17 times smaller, as if the loss were a mean over 131,072 times as many terms (lesson 5). Now loss scaling is needed, and S = 1 means that there is none.

# %%
failing = fp.compare(
    task, ["float32", "mixed", "mixed,loss_scale=1"], dial=17, progress=False,
    seeds=teach.fast_or(3, 2), steps=teach.fast_or(100, 40),
)  # fmt: skip
teach.explain("diverged")

# %% [markdown]
# ## 4. When runs scatter
#
# In its third table the paper reports that in speech recognition mixed precision makes 5 to 10% *fewer* errors than float32; its authors guess that half precision regularises. minifp's gallery trains a small network of that kind on strings of spoken digits. That takes longer than a lesson, so here are its recorded results (`scripts/results/gallery/speech/gallery.csv`): character error rates in percent, of eight seeds.

# %%
speech = {
    "float32": [1.36, 0.56, 0.33, 0.55, 1.49, 2.09, 0.65, 0.64],
    "mixed, S = 1": [4.81, 0.65, 0.48, 0.21, 1.08, 5.26, 0.75, 0.75],
}
gain = 0.1  # points: half of the gain that is claimed, for an error rate of about 2%

# %% [markdown]
# ### Predict
#
# How many seeds would it take to show that the difference here is less than 0.1 points, if there truly is none?

# %%
needed = teach.predict("It would take", seeds=...)
needed

# %% [markdown]
# ### Explain

# %%
said = compare_paired(speech["mixed, S = 1"], speech["float32"], gain)
one = np.subtract(speech["mixed, S = 1"], speech["float32"])

teach.explain("needed")

# %% [markdown]
# ## 5. What you pass on
#
# A comparison writes its own report, one file that needs no network. With `out=`, a folder keeps all runs, tables for further use, and what was registered before the first run.

# %%
with TemporaryDirectory() as folder:
    page = result.report(Path(folder) / "report.html")
    kilobytes, text = page.stat().st_size / 1024, page.read_text(encoding="utf-8")
teach.explain("report")

# %% [markdown]
# ## Your turn
#
# ### Two one-sided tests
#
# `t_cdf(t, df)` is the probability that Student's t with `df` degrees of freedom lies below t. The [p value](../docs/teaching/glossary.md#p-value) of each test says how often a mean at least this far inside its end of the margin would come up if the true difference lay at that end.


# %%
from minifp.lab.statistics.distributions import t_cdf


def tost_p(differences, margin):
    """The p value of "it is not equivalent". differences: of pairs, an array (n)."""
    ### BEGIN SOLUTION
    n = len(differences)
    error = np.std(differences, ddof=1) / sqrt(n)
    nearest = margin - abs(np.mean(differences))  # the larger p is that of the nearer end
    return 1 - t_cdf(float(nearest / error), n - 1)
    ### END SOLUTION


# %%
teach.check(tost_p)

# %% [markdown]
# ### How many seeds a margin needs
#
# Use the normal distribution: 5% of it lie above 1.645 and 10% above 1.282. Below three pairs there is no verdict.


# %%
def seeds_for(sd, margin):
    """How many pairs show equivalence in 80% of all cases, if there is truly no difference."""
    ### BEGIN SOLUTION
    return max(3, int(np.ceil(((1.6449 + 1.2816) * sd / margin) ** 2)))
    ### END SOLUTION


# %%
teach.check(seeds_for)

# %% [markdown]
# minifp computes the same exactly, with Student's t, and wants a few more:

# %%
from minifp.lab.statistics.power import seeds_needed

{f"deviation {sd}, margin {m}": seeds_needed(sd, m) for sd, m in ((0.39, 0.5), (1.72, 1.0))}

# %% [markdown]
# ### What pairing gains


# %%
def pairing_gain(values, baseline):
    """How many times fewer seeds pairing needs, from accuracies seed by seed: arrays (n)."""
    ### BEGIN SOLUTION
    unpaired = np.var(values, ddof=1) + np.var(baseline, ddof=1)
    return unpaired / np.var(values - baseline, ddof=1)
    ### END SOLUTION


# %%
teach.check(pairing_gain)

# %% [markdown]
# ### To try
#
# 1. Plan before you compare: `fp.plan(task, seeds=4)` trains a pilot and says how many seeds your margin needs.
# 2. Compare float32 with float32: `fp.compare(task, ["float32", "float32@repeat"])`. What must the differences be, and what is their deviation?
# 3. Three arms are each tested against float32 at the 5% level, and none truly differs. What is the probability that at least one test rejects? What does Holm's correction, in brackets in the table, do about it?
#
# ## What would change on a real GPU
#
# - **Repeatability.** minifp gives the same bits for the same seed. On a GPU some kernels add in an order that depends on timing, so float32 differs from *itself*: the control to run is the same seed twice.
# - **Cost.** Ten seeds of a network that trains for a week are out of reach. MLPerf's answer is reference runs, twice as many as the runs to be judged, and a test of the number of epochs to a target. Two or three seeds with an honest "no verdict" are worth more than one with a claim.
# - **The mathematics**: nothing.
#
# ## What to read next
#
# - D. J. Schuirmann (1987), *A comparison of the two one-sided tests procedure and the power approach for assessing the equivalence of average bioavailability*, Journal of Pharmacokinetics and Biopharmaceutics 15.
# - X. Bouthillier and others (2021), *Accounting for variance in machine learning benchmarks*, [arXiv:2103.03098](https://arxiv.org/abs/2103.03098): which sources of variation count, and how much.
# - P. Micikevicius and others (2018), *Mixed Precision Training*, [arXiv:1710.03740](https://arxiv.org/abs/1710.03740), tables 1 and 3: one run each.
# - [docs/comparing.md](../docs/comparing.md): what minifp's verdict means, exactly, and how to publish a result.
