# %% [markdown]
# # 1. Sixteen bits
#
# **What can float16 say?** Sixteen bits make 65,536 patterns. How far apart are the numbers that they stand for, where do they end, and what happens to a number that is not among them?
#
# - **You need**: minifp with its `plot` extra, and about 20 seconds of computing; no machine learning yet. For you: 20 minutes as far as *For home*.
# - **How to read it**: *predict*, *run*, *explain*. Write your guess where `...` stands, or in the field that appears: what comes out is hidden until you do. Your first guess is kept.
# - **Words**: the [glossary](../docs/teaching/glossary.md) explains them.

# %% tags=["hide-input"]
import numpy as np
from IPython.display import display

import minifp as fp
from minifp import teach
from minifp.teach.drawings import sixteen_bits

teach.begin("01-sixteen-bits")

# %% [markdown]
# ## A sign, a power of two, a fraction
#
# A float16 number has one bit $s$ for its sign, five for its exponent $E$, and ten for its fraction $F$ (also called *mantissa*):
#
# $(-1)^s \cdot 2^{E - 15} \cdot (1 + F / 1024)$ for $E$ from 1 to 30.
#
# The 1 in the brackets, the *leading 1*, is not stored: a normal number always has it. Two exponents mean something else. $E = 31$ is Inf, or NaN where $F$ is not 0. $E = 0$ is for zero and the [*subnormal*](../docs/teaching/glossary.md#subnormal-number) numbers, which have no leading 1: they are $F \cdot 2^{-24}$. Here is 0.1; with widgets, click a bit to flip it. Its error is counted in [*ulps*](../docs/teaching/glossary.md#ulp): one ulp is the distance to the next number.

# %%
teach.bits(0.1, "float16")

# %% [markdown]
# ## Predict
#
# Counting 1, 2, 3 and so on: which is the first whole number that float16 does not have?

# %%
missing = teach.predict("The first whole number that float16 lacks?", number=...)
missing

# %% [markdown]
# ## Run

# %%
whole = np.arange(1, 65505)
has = whole.astype(np.float16) == whole
first = whole[~has][0]

with teach.after(missing):
    print("it has", has.sum(), "of the", len(whole), "whole numbers up to", whole[-1])
    display(fp.explain(str(first), formats="float16"))

# %% [markdown]
# ## Explain

# %%
teach.explain("missing")

# %% [markdown]
# ## The staircase
#
# How far it is from a number to the next one, its [*gap*](../docs/teaching/glossary.md#gap), depends only on its power of two. So the gaps make a staircase. Bfloat16 has sixteen bits, too, but gives three bits of the fraction to the exponent.

# %% tags=["hide-input"]
teach.show(sixteen_bits.staircase(), "staircase", sixteen_bits.COLUMNS, sixteen_bits.table())

# %% [markdown]
# *Up and down* is precision: from $2^{-14}$ up to its largest number, float16 is eight times as fine as bfloat16; below, it loses this lead. *Left and right* is range: float16 covers 40 powers of two, the others more than 250. Lessons 2 and 3 are about too little precision, lessons 4 to 7 about too little range.

# %% [markdown]
# ## Predict
#
# A gradient is 0.00000003 ($3 \cdot 10^{-8}$). The smallest float16 number above zero is $2^{-24} \approx 5.96 \cdot 10^{-8}$, almost twice as large. What will be stored?

# %%
stored = teach.predict("3e-8 is stored as", of=("0", "2^-24", "3e-8"), choice=...)
stored

# %% [markdown]
# ## Run

# %%
with teach.after(stored):
    display(fp.explain("3e-8", formats="float16"))

# %% [markdown]
# ## Explain

# %%
teach.explain("stored")

# %% [markdown]
# ## Predict
#
# At the other end, the largest number is 65,504. A number that is a little larger is rounded down to it. From which number on is Inf stored instead?

# %%
overflow = teach.predict("From which number on is it Inf?", number=...)
overflow

# %% [markdown]
# ## Run and explain

# %%
large = np.arange(65504, 131072, dtype=np.float64)
with np.errstate(over="ignore"):  # that is what we look at
    becomes = large.astype(np.float16)
from_here = large[np.isinf(becomes)][0]

teach.explain("overflow")

# %% [markdown]
# ## Your turn
#
# ### 1. Round to float16
#
# Write the rounding that the hardware does: to the nearest number, ties to the one whose last bit is 0. The check compares with `x.astype(np.float16)`, on all 65,536 patterns, all midpoints and their neighbours: do it by arithmetic yourself (`np.rint` rounds to whole numbers, ties to even). A wrong answer gets its smallest counterexample and a hint.


# %%
def round_f16(x):
    """x: float32 numbers, an array (n). Returns the nearest float16 numbers, still in float32."""
    fraction, exponent = np.frexp(x)  # x = fraction 2^exponent, 2^(exponent-1) <= |x|
    shift = exponent - 11  # 2^shift is the gap at a normal number
    ### BEGIN SOLUTION
    shift = np.maximum(shift, -24)
    y = np.ldexp(np.rint(np.ldexp(x, -shift)), shift)
    return np.where(np.abs(x) >= 65520, np.copysign(np.inf, x), y).astype(np.float32)
    ### END SOLUTION


# %%
teach.check(round_f16)

# %% [markdown]
# ## For home
#
# The lesson ends here. All that follows on this page is for home, or for the curious.
#
# ### Where the patterns are
#
# *Predict.* Weights and gradients are mostly smaller than 1. What percentage of the 65,536 patterns are numbers between -1 and 1?

# %%
small = teach.predict("Which share of the patterns are numbers between -1 and 1?", percent=...)
small

# %%
patterns = np.arange(65536, dtype=np.uint16).view(np.float16).astype(np.float64)
between = np.abs(patterns) < 1
subnormal = (patterns != 0) & (np.abs(patterns) < 2**-14)
nan = np.isnan(patterns)

teach.explain("small")

# %% [markdown]
# ### 2. The gap
#
# Write the staircase of float16 as a function, for all of its numbers.


# %%
def gap_above(x):
    """x: float16 numbers that are not negative, in float32, an array (n). Returns how far it is
    from each to the next larger float16 number, in float32."""
    ### BEGIN SOLUTION
    _, exponent = np.frexp(x)  # x = fraction 2^exponent, the fraction from 1/2 to 1; of 0 it is 0
    exponent = np.where(x == 0, -14, exponent)
    return np.ldexp(np.float32(1), np.maximum(exponent - 11, -24))
    ### END SOLUTION


# %%
teach.check(gap_above)

# %% [markdown]
# ### 3. The floor
#
# What is the largest number that float16 stores as zero?

# %%
### BEGIN SOLUTION
zero_up_to = 2.0**-25
### END SOLUTION

# %%
teach.check(zero_up_to=zero_up_to)

# %% [markdown]
# ### 4. Find the error
#
# The documentation of a well-known library says that float16 "cannot represent values smaller than about 6e-5". That is the smallest *normal* number, $2^{-14}$. How many positive float16 numbers are smaller than it?

# %%
### BEGIN SOLUTION
below_normal = 1023
### END SOLUTION

# %%
teach.check(below_normal=below_normal)

# %% [markdown]
# ### More to try
#
# - Adam divides by $\sqrt{v} + \epsilon$, with $\epsilon = 10^{-8}$. What is $\epsilon$ in float16, and what is the quotient if a weight has had no gradient yet? (`fp.explain("1e-8")`)
# - `teach.bits(1.0, "bfloat16")` and `"float8_e4m3fn"` have buttons too. Find the largest number of each by flipping bits; one of the two has no Inf.
#
# ## What would change on a real GPU
#
# - **The numbers**: nothing. Float16 is the same format there (binary16 of IEEE 754), subnormal numbers included, and conversions from float32 round to nearest, ties to even.
# - **The time**: there, rounding is part of storing a result. Here NumPy converts number after number, and is slower where the results are subnormal.
# - **Inside a product**: tensor cores multiply float16 numbers exactly and sum in float32. Only what is stored is rounded to sixteen bits: lesson 8.
#
# ## What to read next
#
# - Lesson 2 subtracts small numbers from large ones.
# - P. Micikevicius and others, *Mixed Precision Training*, [arXiv:1710.03740](https://arxiv.org/abs/1710.03740), sections 3.1 and 3.2 (2018). With this lesson you can correct its sentence on $2^{-24}$.
# - D. Kalamkar and others, *A Study of BFLOAT16 for Deep Learning Training*, [arXiv:1905.12322](https://arxiv.org/abs/1905.12322) (2019): why to divide sixteen bits differently.
# - P. Micikevicius and others, *FP8 Formats for Deep Learning*, [arXiv:2209.05433](https://arxiv.org/abs/2209.05433) (2022), section 3: the same questions for eight bits.
# - D. Goldberg, *What Every Computer Scientist Should Know About Floating-Point Arithmetic* (ACM Computing Surveys, 1991).
