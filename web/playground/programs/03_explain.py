"""What is 0.1?

What becomes of a number, and of a sum, in each format?
"""

# %% program
import minifp as fp

display(fp.explain(0.1))
fp.explain(1.0, "+", 0.0004)
