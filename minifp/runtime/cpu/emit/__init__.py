"""What writes kernels as LLVM's text: formulas of derive/, for the shapes and formats of a call.

It knows formats, loops, rows and sums in LLVM's terms, and computes nothing itself.
"""
