"""Contexts kept in variables and used again, as PyTorch allows; one is left too early."""

# warns: MisuseWarning: is left before fp.precision("float64")

import minifp as fp
from minifp import nn

half, evaluating = fp.precision("mixed"), fp.no_grad()
with half:
    body = nn.Linear(4, 3)
with half:
    head = nn.Linear(3, 2)
for _ in range(2):
    with evaluating:
        assert head(body(fp.ones(1, 4))).is_leaf


@fp.no_grad
def evaluate(x):
    return head(body(x))


assert evaluate(fp.ones(1, 4)).dtype == fp.float16
assert not head(body(fp.ones(1, 4))).is_leaf

exact = fp.precision("float64")
half.__enter__()
exact.__enter__()
half.__exit__(None, None, None)
assert fp.ones(1).dtype == fp.float64
exact.__exit__(None, None, None)
assert fp.ones(1).dtype == fp.float32
