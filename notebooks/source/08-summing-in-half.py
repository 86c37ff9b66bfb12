# %% [markdown]
# # 8. Summing in half
#
# **What must be summed in float32?** A rounded number is off by at most one part in two thousand, and often that is good enough. A *sum* is another matter: it is rounded as many times as it has terms. This lesson adds in float16 and looks at where that goes wrong, where NumPy only seems to do it, and where, against all warnings, it does no harm.
#
# - **You need**: minifp with its `plot` extra, and about half a minute.
# - **How to read it**: *predict*, then *run*, then *explain*. Write your guess where `...` stands, or click it: what comes out is hidden until you do. Your first guess is kept, so that you can see later what you thought.
# - **Words**: the [glossary](../docs/teaching/glossary.md) explains them.
# - **Nothing was arranged with the exponent dial**: it is at 0 throughout.

# %% tags=["hide-input"]
import math
from itertools import islice

import numpy as np
from IPython.display import Markdown, display

import minifp as fp
from minifp import teach
from minifp.teach.drawings import summing_in_half as drawing
from minifp.teach.tasks import raw_digits
from minifp.teach.tasks import sums as sums_of

teach.begin("08-summing-in-half")

# %% [markdown]
# ## 1. One and one and one
#
# ### Predict
#
# 4,096 ones are added in float16, one after the other, and each partial sum is rounded. What is the result?

# %%
counted = teach.predict("4,096 ones, added in float16, are", ones=...)
counted

# %% [markdown]
# NumPy has float16. Below are eleven ways to add (or to multiply and add) 4,096 float16 ones. In how many of them does NumPy add in float16?

# %%
calls = teach.predict("Of eleven calls, how many add in float16?", calls=...)
calls

# %% [markdown]
# ### Run

# %%
column = np.ones((4096, 2), np.float16)  # two columns of ones
row, v = np.ones((2, 4096), np.float16), np.ones(4096, np.float16)
ways = {
    "row @ column": lambda: (row @ column)[0, 0],
    "np.dot(v, v)": lambda: np.dot(v, v),
    "np.inner(v, v)": lambda: np.inner(v, v),
    "np.tensordot(row, column, 1)": lambda: np.tensordot(row, column, 1)[0, 0],
    "np.einsum('ij,jk->ik', row, column)": lambda: np.einsum("ij,jk->ik", row, column)[0, 0],
    "the same with optimize=True": lambda: np.einsum("ij,jk->ik", row, column, optimize=True)[0, 0],
    "v.sum()": lambda: v.sum(),
    "row.sum(axis=1)": lambda: row.sum(axis=1)[0],
    "column.sum(axis=0)": lambda: column.sum(axis=0)[0],
    "column.mean(axis=0) * 4096": lambda: column.mean(axis=0)[0] * np.float32(4096),
    "np.cumsum(v)[-1]": lambda: np.cumsum(v)[-1],
}

# %%
sums = {name: float(way()) for name, way in ways.items()}
in_half = [name for name, found in sums.items() if found != 4096]
lines = "\n".join(f"| `{name}` | {found:,.0f} |" for name, found in sums.items())
with fp.precision("mixed,reduce=float16"):
    ours = fp.tensor(v).sum().item()

with teach.after(counted, calls):
    display(Markdown(f"| call | result |\n|---|---|\n{lines}"))

# %% [markdown]
# ### Explain

# %%
teach.explain("counted")

# %%
teach.explain("calls")

# %% [markdown]
# ## 2. The longer, the worse
#
# A layer with K inputs computes dot products of K numbers; here these lie between 0 and 1. All three ways get the same float16 numbers and store the result in float16. They differ in how they add.
#
# ### Predict
#
# What is the relative error, in percent, of a dot product of 16,384 such numbers whose partial sums are float16?

# %%
long = teach.predict("The error at K = 16,384 is", percent=...)
long

# %% [markdown]
# Every language model has a long sum: the denominator of its softmax. An untrained model gives all 10,000 words of its vocabulary the same probability, so its loss should be $\ln 10{,}000 \approx 9.21$. What will it be if that denominator is summed in float16?

# %%
untrained = teach.predict("The loss of an untrained model of 10,000 words is", nats=...)
untrained

# %% [markdown]
# ### Run

# %%
WAYS = ("float16", "chunked:64", "float32")
LENGTHS = [4**k for k in range(3, 8)]

errors = {way: [sums_of.error(K, way) for K in LENGTHS] for way in WAYS}
losses = {
    f"{n:,}": (sums_of.loss(n, "float16"), sums_of.loss(n, "float32")) for n in (10_000, 32_000)
}

# %% tags=["hide-input"]
with teach.after(long, untrained):
    teach.show(
        drawing.errors_and_losses(LENGTHS, errors, losses),
        "errors_and_losses",
        ("sum", *(f"K = {K:,}" for K in LENGTHS)),
        [(way, *found) for way, found in errors.items()]
        + [
            (f"loss, {name} words: {half:.2f} for {right:.2f}", *[""] * len(LENGTHS))
            for name, (half, right) in losses.items()
        ],
    )

# %% [markdown]
# ### Explain

# %%
teach.explain("long")

# %%
teach.explain("untrained")

# %% [markdown]
# ## 3. Where it does break: batch normalisation
#
# Batch normalisation takes the mean and the variance of a whole batch: sums over all pictures and all pixels. LeNet gets raw pixels of digits, from 0 to 16, and normalises them itself. A batch has 64 pictures of 64 pixels.
#
# ### Predict

# %%
LEVELS = "as good", "worse", "that of guessing"
raw = teach.predict("With statistics summed in float16, accuracy is", of=LEVELS, choice=...)
raw

# %% [markdown]
# ### Run

# %%
EPOCHS = teach.fast_or(5, 2)
SETTINGS = {
    "float32 sums, pixels 0 to 16": ("mixed", 1),
    "float16 sums, pixels 0 to 16": ("mixed,reduce=float16", 1),
    "float16 sums, pixels 0 to 1": ("mixed,reduce=float16", 1 / 16),
    "chunks of 32, pixels 0 to 16": ("mixed,reduce=chunked:32", 1),
}
found = {
    name: raw_digits.trained(
        raw_digits.behind_a_norm, precision, raw_digits.batches(64, scale, EPOCHS), scale
    )
    for name, (precision, scale) in SETTINGS.items()
}

# %% tags=["hide-input"]
lines = [
    f"| {name} | {np.mean(losses[-20:]):.2f} | {accuracy:.1f}% |"
    for name, (losses, accuracy) in found.items()
]

with teach.after(raw):
    display(
        Markdown("| statistics | loss at the end | accuracy |\n|---|---|---|\n" + "\n".join(lines))
    )

# %% [markdown]
# ### Explain

# %%
teach.explain("raw")

# %% [markdown]
# ## 4. Where it does not break
#
# The gradient of a convolution's weight sums over all pictures and all places: with 256 pictures of 64 pixels each sum has 16,384 products. In part 2 such sums were off by tens of percent. Now train LeNet with exactly these sums in float16, and all others in float32. (In minifp, that is `wgrad:accumulate=float16`.)
#
# ### Predict
#
# By how many points will its accuracy be lower?

# %%
weight_sums = teach.predict("With those sums in float16, accuracy is lower by", points=...)
weight_sums

# %% [markdown]
# ### Run

# %%
HALF = "mixed,wgrad:accumulate=float16"

exact, rounded = map(raw_digits.first_gradient, ("mixed", HALF))
cosine = exact @ rounded / np.linalg.norm(exact) / np.linalg.norm(rounded)
off = np.linalg.norm(exact - rounded) / np.linalg.norm(exact)

STEPS = teach.fast_or(120, 30)
full, halved = (
    raw_digits.trained(
        raw_digits.LeNet, precision, islice(raw_digits.batches(256, 1 / 16, 40), STEPS), 1 / 16
    )[1]
    for precision in ("mixed", HALF)
)

# %% [markdown]
# ### Explain

# %%
teach.explain("weight_sums")

# %% [markdown]
# ## Your turn: where does a sum stand still?
#
# A sum of ones stands still at some point, as you have seen. What about a sum of other numbers?


# %%
def sticks_at(x):
    """x: a positive number of float16, at least 2^-24. Returns what x + x + x + ... becomes if each
    partial sum is rounded to float16, in the end; Inf if it does."""
    ### BEGIN SOLUTION
    stands = 2.0 ** math.ceil(math.log2(2048 * x))
    return stands if stands <= 65504 else math.inf
    ### END SOLUTION


# %%
teach.check(sticks_at)

# %% [markdown]
# ## Your turn: chunks


# %%
def chunked_sum(x, size):
    """x: float16 (n). Returns its sum, a float32 number: chunks of `size` are added in float16, one
    number after the other, and their sums in float32, first to last."""
    ### BEGIN SOLUTION
    total = np.float32(0)
    for at in range(0, len(x), size):
        total += np.float32(np.cumsum(x[at : at + size], dtype=np.float16)[-1])
    return total
    ### END SOLUTION


# %%
teach.check(chunked_sum)

# %% [markdown]
# ## Your turn: a tensor core
#
# In one cycle the first tensor cores (V100) multiplied two 4 by 4 matrices of float16 exactly, and added the products to a 4 by 4 matrix of float32. Here the order is fixed: D begins as C; then add the products of the first column of A and the first row of B, then those of the second, and so on. Each addition is rounded to float32.


# %%
def mma(A, B, C):
    """A, B: float16 (4, 4). C: float32 (4, 4). Returns C + A B, float32 (4, 4)."""
    ### BEGIN SOLUTION
    D = C.copy()
    for k in range(4):
        D += A[:, k, None].astype(np.float32) * B[k].astype(np.float32)
    return D
    ### END SOLUTION


# %%
teach.check(mma)

# %% [markdown]
# The check compares every bit. With it, `C = mma(A[:, k:k+4], B[k:k+4], C)` in a loop over k is a dot product of any length. What happens to the error of part 2 if you round C to float16 after each of these steps?
#
# ## Your turn: break batch normalisation
#
# A batch has n numbers; each is c or -c, and their mean is 0. Its variance needs the sum of n squares, in float16, one after the other. From which power of two c on is that Inf?


# %%
def breaking_amplitude(n):
    """n: how many numbers. Returns the smallest power of two c whose n squares add up to Inf."""
    ### BEGIN SOLUTION
    c = 1.0
    while not np.isinf(np.cumsum(np.full(n, c * c).astype(np.float16), dtype=np.float16)[-1]):
        c *= 2
    return c
    ### END SOLUTION


# %%
teach.check(breaking_amplitude)

# %% [markdown]
# ## Your turn: and repair it


# %%
def normalized(x):
    """x: float16 (n), any numbers that are finite. Returns (x - mean) / sqrt(variance + 1e-5),
    rounded once, float16 (n). The variance divides by n."""
    ### BEGIN SOLUTION
    x = x.astype(np.float32)
    x = x - x.mean()
    return (x / np.sqrt(np.square(x).mean() + np.float32(1e-5))).astype(np.float16)
    ### END SOLUTION


# %%
teach.check(normalized)

# %% [markdown]
# ## To try
#
# 1. In part 2, draw the numbers from `random.normal` instead of `random.random`, and take the error relative to the sum of magnitudes. What does part 4 say about the result?
# 2. In part 3, how large may pixels be with `reduce=float16` if the batch has 16 pictures instead of 64? Use `breaking_amplitude`, then try it.
# 3. `"mixed,accumulate=float16"` sums the products of all layers in float16, in the forward pass, too. Does part 4 change?
#
# ## What would change on a real GPU
#
# - **Products**: tensor cores take float16 and sum in float32, so you do not meet part 2's first line there, unless you ask for it: GeForce cards and some libraries offer sums in float16 because they are faster.
# - **Their order and rounding**: the products of a block are added together and truncated, not rounded one after the other (measured by Fasi and others, 2021). The last bits differ from those of `mma`.
# - **Reductions**: ordinary kernels make them, not tensor cores, in the format that their author chose. CuPy's kernels are not NumPy's: run part 1 again there before you trust it.
# - **float8**: the H100's tensor cores keep about 14 bits of sums of float8 products, which is why DeepSeek-V3 adds chunks of 128 in float32.
#
# ## What to read next
#
# - P. Micikevicius and others (2018), *Mixed Precision Training*, [arXiv:1710.03740](https://arxiv.org/abs/1710.03740), section 3.3: which sums need float32.
# - N. Wang and others (2018), *Training Deep Neural Networks with 8-bit Floating Point Numbers*, [arXiv:1812.08011](https://arxiv.org/abs/1812.08011), section 3.1: sums in chunks.
# - M. Fasi, N. Higham, M. Mikaitis and S. Pranesh (2021), *Numerical behavior of NVIDIA tensor cores*, PeerJ Computer Science 7:e330.
# - DeepSeek-AI (2024), *DeepSeek-V3*, [arXiv:2412.19437](https://arxiv.org/abs/2412.19437), section 3.3.2.
# - N. Higham (2002), *Accuracy and Stability of Numerical Algorithms*, chapter 4: summation.
# - In minifp: [docs/precision.md](../docs/precision.md), "Sums".
