# %% [markdown]
# # 5. The bathtub
#
# **How big should the loss scale be?** In mixed precision the paper's detector diverges without a loss scale, and trains with S = 8. Why not 1,024, or a million? This lesson trains a small detector at many scales, finds two walls with a flat floor between them, and predicts both from one run in float32.
#
# - **You need**: minifp with its `plot` extra, and about two minutes. What the gradients of a network look like in float16: lesson 4.
# - **How to read it**: *predict*, *run*, *explain*; the [glossary](../docs/teaching/glossary.md) has the words.
# - **What was arranged**: the [*exponent dial*](../docs/teaching/glossary.md#exponent-dial) is at 14. Until the update, all gradients are $2^{14}$ times smaller than this network's own, as if its loss were a mean over $2^{14}$ times as many terms. Large detectors have such losses.

# %% tags=["hide-input"]
import numpy as np

import minifp as fp
from minifp import teach
from minifp.teach.drawings import bathtub
from minifp.teach.tasks import detector

teach.begin("05-the-bathtub")
DIAL = 14

# %% [markdown]
# ## A detector
#
# Scenes of 32 by 32 pixels show one or two digits. Four convolutions give each of 8 by 8 cells a score for "nothing" and for each of ten digits. Most cells show nothing. So the loss takes the cells that hold the centre of a digit, and three times as many others: those that the detector gets most wrong (*hard negatives*). `detector.mined??` shows the code.

# %% [markdown]
# ## The loop
#
# `minimize` runs backward with S as the first gradient and looks for Inf and NaN. If there is none, it divides by S in float32 and updates the float32 masters; otherwise it [skips the step](../docs/teaching/glossary.md#skipped-step). After 50 skipped steps in a row it gives up. (Below, you write the middle part yourself.)

# %%
STEPS = teach.fast_or(400, 100)
SEEDS = teach.fast_or((0, 1), (0,))


def scaled(k, seed):
    """F1 with S = 2^k in mixed precision, and how many steps were made."""
    model, optimizer = detector.begun(f"mixed,loss_scale={2.0**k}", seed, DIAL)
    made = detector.train(model, optimizer, seed, STEPS)
    return detector.f1(model), made


# %% [markdown]
# ## One run in float32
#
# The microscope counts its gradients at every tenth step, as in lesson 4.

# %%
in_float32, scopes = [], []
for seed in SEEDS:
    model, optimizer = detector.begun("float32", seed, DIAL)
    with fp.microscope(model, optimizer, every=10) as scope:
        detector.train(model, optimizer, seed, STEPS)
    in_float32.append(detector.f1(model))
    scopes.append(scope)
scope = scopes[0]

of_activations, of_weights = scope.total("activation gradients"), scope.total("weight gradients")
print(f"F1 in float32: {np.mean(in_float32):.2f}")
print(f"activation gradients: {of_activations.zeros / of_activations.total:.0%} are exactly zero,")
print(f"of the others float16 would lose {of_activations.lost(0):.0%} at S = 1")
print(f"largest activation gradient: {of_activations.largest:.2e}")
print(f"largest weight gradient:     {of_weights.largest:.2e}")

# %% [markdown]
# ## Predict
#
# The paper's detector has 67% zeros, and diverges with S = 1. What will this one do?

# %%
unscaled = teach.predict("What will F1 be with S = 1?", percent=...)
unscaled

# %% [markdown]
# ## Run and explain

# %%
scores, dead = {}, []
scores[0] = [scaled(0, seed)[0] for seed in SEEDS]
scores[3] = [scaled(3, seed)[0] for seed in SEEDS]
base, failed, eight = np.mean(in_float32), np.mean(scores[0]), np.mean(scores[3])

teach.explain("unscaled")

# %% [markdown]
# ## Predict
#
# Now upward. A step is skipped if a gradient exceeds 65,504 after the multiplication. The largest gradients are printed above. What is the largest power of two at which the detector still trains?

# %%
highest = teach.predict("With which S, as a power of two, does it still train?", powers_of_two=...)
highest

# %% [markdown]
# ## Run
#
# First both walls are predicted, from the float32 run alone. The left one is where, in the worst layer, rounding to float16 makes an error of half the gradient's length. The right one is where the largest gradient reaches 65,504.

# %%
left = scope.advice(tolerance=0.5).low
right = np.log2(65504 / max(of_activations.largest, of_weights.largest))
activations_alone = np.log2(65504 / of_activations.largest)
ceiling = int(right)

# %%
more = teach.fast_or((1, 2, 4, 6, 10, 16, 22, 27), (10,))
for k in (*more, ceiling, ceiling + 1, ceiling + 4):
    runs = [scaled(k, seed) for seed in SEEDS]
    scores[k] = [score for score, _ in runs]
    if not any(made for _, made in runs):
        dead.append(k)

# %% tags=["hide-input"]
predicted = {
    f"half is lost: $2^{{{left}}}$": left,
    f"65504 is reached: $2^{{{right:.1f}}}$": right,
}

with teach.after(highest):
    tub = bathtub.bathtub(scores, dead, in_float32, predicted)
    teach.show(tub, "bathtub", bathtub.COLUMNS, bathtub.table(scores, dead))

# %% [markdown]
# ## Explain

# %%
teach.explain("highest")

# %% [markdown]
# ## Predict
#
# Now turn the exponent dial from 14 to 10: gradients become 16 times larger. Which wall of the tub moves, as a power of S?

# %%
walls = ("the left wall", "the right wall", "both walls", "none")
moves = teach.predict("With the dial at 10 instead of 14, what moves?", of=walls, choice=...)
moves

# %% [markdown]
# ## Run
#
# Backward begins with $S \cdot 2^{-dial}$, a power of two, which changes no mantissa: two settings with the same product should agree to the last bit. A short run at three places decides.


# %%
def weights_after(k, dial, steps=20):
    """All weights as bits, after some steps with S = 2^k."""
    model, optimizer = detector.begun(f"mixed,loss_scale={2.0**k}", 0, dial)
    made = detector.train(model, optimizer, 0, steps)
    return made, [p.numpy().view(np.uint16).copy() for p in model.parameters()]


pairs = []

with teach.after(moves):
    for k in (0, 10, ceiling + 1):  # left of the tub, in it, and right of it
        (made, here), (as_many, there) = weights_after(k, DIAL), weights_after(k - 4, DIAL - 4)
        same = made == as_many and all(np.array_equal(a, b) for a, b in zip(here, there))
        pairs.append((k, k - 4, made, same))
        print(f"dial 14, S = 2^{k}; dial 10, S = 2^{k - 4}: {made} steps made; same bits: {same}")

# %% [markdown]
# ## Explain

# %%
teach.explain("moves")

# %% [markdown]
# ## Your turn: loss scaling in the loop
#
# This is what `minimize` does between the loss and the update. `loss` is a number in float32, the gradients are stored in float16. `loss.backward()` puts them into `p.grad`; `p.grad.numpy()` is the stored array.


# %%
def gradients_of(loss, parameters, S):
    """Backward with loss scale S. Returns the gradients without S, a float32 array for each
    parameter; None if one of them is not finite, so that the step is to be skipped."""
    ### BEGIN SOLUTION
    (loss * S).backward()
    stored = [p.grad.numpy() for p in parameters]
    if not all(np.isfinite(g).all() for g in stored):
        return None
    return [g.astype(np.float32) / np.float32(S) for g in stored]
    ### END SOLUTION


# %%
teach.check(gradients_of)

# %% [markdown]
# ## Your turn: unscale before you clip
#
# Gradient clipping shortens a gradient whose length (over all parameters together) is more than `max_norm`. A length of 2 is stored as 2,048 if S = 1024. Clip that to 1, divide by S, and the length is 1/1024: training stands still, and no error is raised. This is one of the most common mistakes with loss scaling.


# %%
def clipped(stored, S, max_norm):
    """stored: float16 gradients, each multiplied by S. Returns the gradients without S, in float32,
    all shortened by one factor if their length together is more than max_norm."""
    ### BEGIN SOLUTION
    gradients = [g.astype(np.float32) / np.float32(S) for g in stored]
    length = np.sqrt(sum(np.sum(np.square(g, dtype=np.float64)) for g in gradients))
    factor = np.float32(min(1.0, max_norm / length)) if length else np.float32(1)
    return [g * factor for g in gradients]
    ### END SOLUTION


# %%
teach.check(clipped)

# %% [markdown]
# ## For home
#
# The lesson ends here. What follows is for home, or for the curious.
#
# ### What overflows first?
#
# You get all gradients of a step, by name. Which of them is the first to overflow, and what is the largest power of two at which none does?


# %%
def ceiling_of(gradients):
    """gradients: float32 arrays by name, unscaled. Returns the name of the one that overflows first
    when S is doubled again and again, and log2 of the last S at which all |g| S <= 65504."""
    ### BEGIN SOLUTION
    largest = {name: float(np.abs(g).max()) for name, g in gradients.items()}
    first = max(largest, key=largest.get)
    _, exponent = np.frexp(65504 / largest[first])
    return first, int(exponent) - 1
    ### END SOLUTION


# %%
teach.check(ceiling_of)

# %% [markdown]
# ## What would change on a real GPU
#
# - **The walls**: nothing. The format and the gradients decide where they are. A GPU adds the products of a weight gradient in another order, which changes last bits.
# - **The price of the check**: looking for Inf reads all gradients once. On a GPU one kernel does it, and the decision to skip is made there, too, so nothing waits for the host.
# - **The dial**: leave it at 0. Large networks have small gradients by themselves.
#
# ## What to read next
#
# - Micikevicius and others, *Mixed Precision Training*, [arXiv:1710.03740](https://arxiv.org/abs/1710.03740): section 3.2 (Figure 3, how to choose S, unscale before clipping) and Table 2 (SSD: 76.9 in float32, diverges, 77.1 with scaling).
# - Liu and others, *SSD: Single Shot MultiBox Detector*, [arXiv:1512.02325](https://arxiv.org/abs/1512.02325), section 2.2: hard negative mining.
# - In minifp: `minifp gallery bathtub`, the same on a real SSD; lesson 6, where the left wall kills late; lesson 7, where S is found by itself.
