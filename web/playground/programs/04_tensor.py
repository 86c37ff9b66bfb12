"""A tensor of your own

The square of 1,000 is beyond 65,504, the largest number of float16. What becomes of the sum, and
of the gradient?
"""

# %% program
import minifp as fp

x = fp.tensor([0.1, 1000.1, 1e-7], dtype=fp.float16, requires_grad=True)
y = (x * x).sum()
y.backward()
print("sum of squares", float(y), "gradient", x.grad.tolist())
x
