"""What minifp asks of the machine and the process: devices, CPU, CUDA, random bits, callers."""
