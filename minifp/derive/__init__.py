"""One formula, three machines: a NumPy reference becomes a graph, of which kernels are written.

`trace.py` calls a reference with symbols for its arrays (`symbol.py`): what it does with them is a
graph (`graph.py`), in which exp, tanh, erf and their like are arithmetic (`elementary.py`).
`llvm.py` writes a graph for the CPU, and `cuda.py` for a GPU.
"""
