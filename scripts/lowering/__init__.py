"""The parts of write_kernels.py."""
