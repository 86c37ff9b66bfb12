"""Scale a loss by hand

One weight, one batch, float16 throughout: the gradient of this loss is 3e-9, and becomes 0. Write
loss scaling yourself: return the gradient in float32, right to three digits, for each S that is
given.
"""

# %% program
import minifp as fp


def gradient(w, x, S):
    """w, x: float16 tensors of one number. Returns d(loss)/dw, a float."""
    w.grad = None
    loss = 1e-4 * (w * x).sum()
    loss.backward()
    return float(w.grad)


w = fp.tensor([0.5], dtype=fp.float16, requires_grad=True)
x = fp.tensor([3e-5], dtype=fp.float16)
for S in (1.0, 2.0**10, 2.0**14):
    print(f"S = {S:>8,.0f}: {gradient(w, x, S):.4g}")

# %% check
import minifp as fp

SHOWS = (
    "Multiply before backward, divide after the gradient is float32: divided in float16 it would "
    "be 0 again. That is all of loss scaling; a MixedOptimizer puts S into the seed of backward."
)


def check(run):
    gradient = run.names.get("gradient")
    if not callable(gradient):
        return "There is no function `gradient` any more."
    for number in (3e-5, 7e-5):
        x = fp.tensor([number], dtype=fp.float16)
        exact = 1e-4 * float(x)
        for S in (2.0**14, 2.0**12):
            w = fp.tensor([0.25], dtype=fp.float16, requires_grad=True)
            got = float(gradient(w, x, S))
            if got == 0:
                return f"With S = {S:,.0f} it is 0: was it divided in float16, or not scaled?"
            if abs(got / exact - 1) > 2e-3:
                return f"With S = {S:,.0f} it is {got:.3g}, not {exact:.3g}: divide S out."
            largest = abs(float(w.grad)) if w.grad is not None else 0.0
            if w.dtype != fp.float16 or not 0.5 < largest / (S * exact) < 2:
                return "The gradient was to go through w.grad, S times as large: call backward()."
