"""From kernels to machine code: decorators of kernels for numba, LLVM's passes and object code, the
entries that CPython calls, the kernels that are shipped, and what is kept on disk.

machine.py compiles LLVM's text, whoever wrote it, without numba; front_end.py asks numba.
"""
