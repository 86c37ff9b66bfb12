"""Kernels by their own names, without those of their families."""

from minifp.numerics.kernels import KERNELS

NAMED = {k.name.partition(".")[2]: k for k in KERNELS}
