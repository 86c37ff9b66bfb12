# %% [markdown]
# # 9. The list of operations
#
# **Which may be float16?** Libraries that cast automatically have a list: these operations in float16, those in float32, the rest in whatever they are given. This lesson asks where such a list comes from. It tries to break a network at nine places, once for each format, and looks at what the accuracy shows, and where it shows nothing although something is wrong.
#
# - **You need**: minifp with its `plot` extra, and about half a minute. What float16 sums are: lesson 8.
# - **How to read it**: *predict*, then *run*, then *explain*. Write your guess where `...` stands, or click it: what comes out is hidden until you do. Your first guess is kept, so that you can see later what you thought.
# - **Words**: the [glossary](../docs/teaching/glossary.md) explains them.
# - **What was arranged**: each network has one operation more than it needs, and pixels that are hard for that operation (raw, from 0 to 16, or bytes). The exponent dial is at 0.

# %% tags=["hide-input"]
from collections import Counter
from functools import partial

import numpy as np
from IPython.display import Markdown, display

import minifp as fp
from minifp import optim, teach
from minifp.teach.drawings import the_op_list as drawing
from minifp.teach.tasks import nine_places

teach.begin("09-the-op-list")

# %% [markdown]
# ## 1. A list, and what it does
#
# minifp's precision [`autocast`](../docs/teaching/glossary.md#autocast) keeps weights in float32 and casts the inputs of each operation by a table, which is PyTorch's.
#
# ### Predict
#
# What percentage of the operations in this table work in float32?

# %%
wide = teach.predict("Operations that work in float32", percent=...)
wide

# %% [markdown]
# ### Run

# %%
table = list(fp.op_list())
formats = Counter(row.format for row in table)
looked_at = ("linear", "exp", "softmax", "batch_norm", "relu", "max_pool2d", "cross_entropy")
lines = [
    f"| `{row.operation}` | {row.format} | {row.reason} |"
    for row in table
    if row.operation in looked_at
]

with teach.after(wide):
    display(Markdown("| operation | format | why |\n|---|---|---|\n" + "\n".join(lines)))

# %% [markdown]
# What that means for a step of a perceptron: the trace names each kernel, and the formats that it read and wrote.

# %%
traced = nine_places.kernels_of_a_step("autocast")
lines = [
    f"| {row.operation} | {', '.join(row.inputs)} | {', '.join(row.outputs)} | {row.role} |"
    for row in traced
    if row.phase == "forward"
]

with teach.after(wide):
    display(
        Markdown("| operation | reads | writes | kind |\n|---|---|---|---|\n" + "\n".join(lines))
    )

# %% [markdown]
# ### Explain

# %%
teach.explain("wide")

# %% [markdown]
# ## 2. Nine places to break
#
# Each row of the figure below is a network or a training loop with one suspect. Each column is a format for that suspect; everything else stays as it is.
#
# | row | what it is | pixels |
# |---|---|---|
# | exp | log(1 + exp(x)) before the network | 0 to 16 |
# | softmax | pixels are weighted by a softmax | 0 to 1 |
# | batch norm | pixels are normalised by the batch | 0 to 16 |
# | norm | pictures are divided by their length | 0 to 255 |
# | loss | the cross entropy | 0 to 1 |
# | pow | x to the power of 4 before the network | 0 to 16 |
# | Adam | both moments are stored in the format | 0 to 1 |
# | decay | λ times all weights squared is added to the loss, λ = 0.00001 | 0 to 1 |
# | clip order | gradients are clipped before they are unscaled; S = 1024 where float16 needs one | 0 to 1 |
#
# The columns are float32, bfloat16, float16 with sums in float32 inside, and float16 with sums in float16 too.
#
# ### Predict
#
# There are 27 cells that are not float32. In how many will accuracy fall by more than 5 points?

# %%
fallen = teach.predict("Of 27 cells, how many lose more than 5 points?", cells=...)
fallen

# %% [markdown]
# Before you go on, go through the rows and say for each cell whether its accuracy will fall, and why: because numbers get too large, too small, or too coarse? The networks and loops are in `minifp.teach.tasks.nine_places`: `nine_places.clipping_step??` and `nine_places.decayed_step??` show what people write themselves.
#
# ### Run

# %%
COLUMNS, EPOCHS = nine_places.COLUMNS, teach.fast_or(4, 1)
accuracy = {
    name: [row(column, EPOCHS) for column in COLUMNS] for name, row in nine_places.ROWS.items()
}
changes = {name: [a - found[0] for a in found] for name, found in accuracy.items()}
cells = {(name, c): d for name, row in changes.items() for c, d in zip(COLUMNS[1:], row[1:])}

with teach.after(fallen):
    teach.show(
        drawing.heat_map(COLUMNS, changes),
        "heat_map",
        ("operation", "accuracy in float32", *(f"{column}, change" for column in COLUMNS[1:])),
        [(name, accuracy[name][0], *found[1:]) for name, found in changes.items()],
    )

# %% [markdown]
# ### Explain

# %%
teach.explain("fallen")

# %% [markdown]
# ## 3. The order of clipping
#
# Some published programs clipped gradients before unscaling them. With S = 1024, what has been clipped to a norm of 1 is then divided by 1,024.
#
# ### Predict
#
# With this mistake, SGD with a learning rate of 0.5 learns nothing. What accuracy, in percent, does *Adam* reach with it?

# %%
with_adam = teach.predict("Adam, clipped before unscaling, reaches", percent=...)
with_adam

# %% [markdown]
# ### Run

# %%
plain_adam = partial(optim.Adam, lr=3e-3)
optimizers = {"SGD": nine_places.sgd, "Adam": lambda model: plain_adam(model.parameters())}
both = {
    (name, order): nine_places.clip_row("float16", EPOCHS, order == "clip first", optimizer)
    for name, optimizer in optimizers.items()
    for order in ("unscale first", "clip first")
}
lines = [f"| {name} | {order} | {found:.1f}% |" for (name, order), found in both.items()]

with teach.after(with_adam):
    display(Markdown("| optimizer | order | accuracy |\n|---|---|---|\n" + "\n".join(lines)))

# %% [markdown]
# ### Explain

# %%
teach.explain("with_adam")

# %% [markdown]
# ## 4. Adam's second moment
#
# Adam divides by $\sqrt{v} + \epsilon$, where v is a running mean of squared gradients: each step adds a thousandth of the new square. The usual ε is 0.00000001.
#
# ### Predict
#
# Above, moments in float16 lost everything. What accuracy does the same network reach with ε = 0.0001?

# %%
larger = teach.predict("With ε = 0.0001 and moments in float16, accuracy is", percent=...)
larger

# %% [markdown]
# ### Run

# %%
by_eps = {
    (state, eps): nine_places.trained(
        f"mixed,optimizer_state={state}", EPOCHS, optimizer=partial(nine_places.adam, eps=eps)
    )
    for state in ("float32", "float16")
    for eps in (1e-8, 1e-4)
}
lines = [f"| {state} | {eps:g} | {found:.1f}% |" for (state, eps), found in by_eps.items()]

with teach.after(larger):
    display(Markdown("| moments | ε | accuracy |\n|---|---|---|\n" + "\n".join(lines)))

# %% [markdown]
# ### Explain

# %%
teach.explain("larger")

# %% [markdown]
# ## 5. What accuracy does not see
#
# Weight decay in the loss has the gradient 2 λ w. OpenSeq2Seq's documentation warns about it.
#
# ### Predict
#
# With λ = 0.000001 and without a loss scale, what percentage of the perceptron's weights get a decay of exactly zero in float16?

# %%
no_decay = teach.predict("Weights whose decay is zero", percent=...)
no_decay

# %% [markdown]
# ### Run

# %%
arms = ("float32", "mixed,loss_scale=off", "mixed")
lost = {(arm, s): nine_places.without_decay(arm, s) for arm in arms for s in (1e-5, 1e-6)}
lines = [f"| {arm} | {s:g} | {share:.1%} |" for (arm, s), share in lost.items()]

with teach.after(no_decay):
    display(Markdown("| precision | λ | no decay |\n|---|---|---|\n" + "\n".join(lines)))

# %% [markdown]
# ### Explain

# %%
teach.explain("no_decay")

# %% [markdown]
# ## Your turn: a list of your own
#
# Here are twelve operations, with inputs as networks have them. Make each of them one of three:
#
# - `"float32"`: in float16 something overflows, or the largest relative error is more than 16 times that of one rounding ($2^{-11}$), although sums are made in float32;
# - `"float16"`: neither happens, and it multiplies at least 8 times for each number that it reads or writes, so a cast pays off;
# - `"widest"`: anything else. It takes what it is given, and the wider format if two differ.
#
# | operation | of what |
# |---|---|
# | `matmul` | 64 by 256 and 256 by 64 positive numbers around 1 |
# | `conv2d` | 32 channels to 32, 3 by 3, numbers around 1 |
# | `exp` | numbers with a standard deviation of 5 |
# | `log` | numbers within 1% of 1 |
# | `pow` | x to the power of 4, x from 0 to 16 |
# | `sum` | rows of 4,096 pixels from 0 to 40 |
# | `layer_norm` | rows of 256 pixels from 0 to 255 |
# | `softmax` | rows of 100 logits with a standard deviation of 8 |
# | `relu`, `tanh` | numbers around 0 |
# | `max_pool2d` | 2 by 2 |
# | `add` | two positive tensors |

# %%
### BEGIN SOLUTION
policy = dict.fromkeys(("matmul", "conv2d"), "float16")
policy |= dict.fromkeys(("exp", "log", "pow", "sum", "layer_norm", "softmax"), "float32")
policy |= dict.fromkeys(("relu", "tanh", "max_pool2d", "add"), "widest")
### END SOLUTION

# %%
teach.check(policy=policy)

# %% [markdown]
# ## Your turn: the order
#
# Between backward and the update: unscale, add the decay, clip, in this order and in the right format.


# %%
def gradient_to_use(g, S, w, decay, most):
    """g: gradients times S, float16 (n). w: masters, float32 (n). Returns the gradients to update
    with, float32 (n): without S, with 2 * decay * w added, and scaled down to a norm (the root of
    the sum of squares) of at most `most`."""
    ### BEGIN SOLUTION
    g = g.astype(np.float32) / np.float32(S) + np.float32(2 * decay) * w
    norm = np.sqrt(np.sum(np.square(g.astype(np.float64))))
    return g * np.float32(min(1, most / norm)) if norm else g
    ### END SOLUTION


# %%
teach.check(gradient_to_use)

# %% [markdown]
# ## Your turn: how large an update can get
#
# Take a weight's first step with Adam, with its second moment stored in float16: m = g (bias removed), and v is 0.001 g², rounded to float16, then divided by 0.001. The update is lr · m / (√v + ε). Over all positive float16 gradients g, how large does the update get, in units of lr?


# %%
def largest_update(eps):
    """eps: above 0. Returns the largest g / (sqrt(v) + eps) of all positive float16 g that are
    below 1, where v is stored in float16 and all else is exact."""
    ### BEGIN SOLUTION
    g = np.arange(1, np.float16(1).view(np.uint16), dtype=np.uint16).view(np.float16)
    g = g.astype(np.float64)
    v = (0.001 * g * g).astype(np.float16).astype(np.float64) / 0.001
    return float(np.max(g / (np.sqrt(v) + eps)))
    ### END SOLUTION


# %%
teach.check(largest_update)

# %% [markdown]
# In float32 no first step is larger than 1 lr, whatever ε is. How large must ε be here to keep it below 2 lr? And what would that ε do to gradients of 0.001?
#
# ## Your turn: when is decay off?
#
# Make OpenSeq2Seq's warning a rule. Up to which weight does 2 λ w become zero in float16, if it is computed exactly and rounded once?


# %%
def largest_without_decay(decay):
    """decay: λ, a power of two of at most 1/2. Returns the largest w for which 2 λ w becomes 0."""
    ### BEGIN SOLUTION
    return 2.0**-25 / (2 * decay)
    ### END SOLUTION


# %%
teach.check(largest_without_decay)

# %% [markdown]
# ## To try
#
# 1. `nine_places.trained("autocast-bfloat16,...", EPOCHS)`: find an operation that fails in bfloat16 and not in float16. (Think of precision instead of range: lesson 8's counts.)
# 2. Try the row pow with x³ instead of x⁴. And what does it take to make bfloat16 fail?
# 3. Write exp's row so that no format breaks it: log(1 + exp(x)) = max(x, 0) + log(1 + exp(-|x|)). If formulas were written like this, the float32 part of the list could be shorter.
#
# ## What would change on a real GPU
#
# - **Time decides what is worth a cast**: there, a product in float16 is several times as fast and a cast is a trip to memory, so libraries fuse casts into the kernels beside them.
# - **Which kernels sum in float32 inside** is up to the library: cuDNN's batch norm does; your own kernel does what you wrote.
# - **bfloat16** would make most of this list unnecessary, as the heat map shows. That is one reason why most networks are trained in it today.
#
# ## What to read next
#
# - P. Micikevicius and others (2018), *Mixed Precision Training*, [arXiv:1710.03740](https://arxiv.org/abs/1710.03740), section 3.3: products, reductions, pointwise operations.
# - PyTorch, *Automatic Mixed Precision*, "Autocast Op Reference": the list, with its three classes.
# - OpenSeq2Seq, *Mixed Precision Training*, on weight decay; O. Kuchaiev and others (2018), [arXiv:1805.10387](https://arxiv.org/abs/1805.10387).
# - T. Dettmers and others (2022), *8-bit Optimizers via Block-wise Quantization*, [arXiv:2110.02861](https://arxiv.org/abs/2110.02861): moments in few bits that work.
# - In minifp: [docs/precision.md](../docs/precision.md), "Autocast" and "Optimizer state in few bits"; `print(fp.op_list())`.
