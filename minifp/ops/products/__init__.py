"""Sums of products: linear layers, matrices, einsum, attention."""
