"""The kernels, and how they are called: products, sums, conversions and operands, written by hand;
those that are made of formulas (pointwise, rows, updates); and the pool of threads of all.

A hand-written one is compiled by numba, or starts from the *.kernels.zip beside it.
"""
