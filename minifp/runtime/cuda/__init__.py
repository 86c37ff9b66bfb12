"""The GPU: arrays of CuPy's, products through cuBLAS, kernels from texts of CUDA C++.

Nothing here needs a GPU to be imported. CuPy is imported when the first array is moved.
"""
