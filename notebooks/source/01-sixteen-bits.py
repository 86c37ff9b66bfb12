# %% [markdown]
# # 1. Sixteen bits
#
# **What can float16 say?** Sixteen bits are 65,536 patterns. This lesson looks at all of them: how far apart numbers lie, where they end, and what happens to a number that is not among them.
#
# - **You need**: minifp with its `plot` extra, and about 20 seconds.
# - **How to read it**: *predict*, then *run*, then *explain*. Write your guess where `...` stands: the explanation is hidden until you do.

# %%
import numpy as np

from minifp import teach

teach.begin("01-sixteen-bits")

# %% [markdown]
# ## Predict
#
# A gradient is 0.00000003 ($3 \cdot 10^{-8}$). The smallest float16 number above zero is $2^{-24} \approx 5.96 \cdot 10^{-8}$. What will be stored?

# %%
stored = teach.predict("3e-8 is stored as", of=("0", "2^-24", "3e-8"), choice=...)
stored

# %% [markdown]
# ## Exercise: round to float16


# %%
def round_f16(x):
    """x: float32 numbers, an array (n). Returns the nearest float16 numbers, still in float32."""
    ### BEGIN SOLUTION
    fraction, exponent = np.frexp(x)
    shift = np.maximum(exponent, -13) - 11
    y = np.ldexp(np.rint(np.ldexp(x, -shift)), shift)
    return np.where(np.abs(x) >= 65520, np.copysign(np.inf, x), y).astype(np.float32)
    ### END SOLUTION


# %%
teach.check(round_f16)

# %%
### BEGIN SOLUTION
zero_up_to = 2.0**-25
### END SOLUTION

# %%
teach.check(zero_up_to=zero_up_to)
