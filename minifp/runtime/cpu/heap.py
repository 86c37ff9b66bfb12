"""Memory that is freed stays with the process, for the next step's arrays of the same sizes.

By its own settings glibc hands large blocks back to the system, which clears every page before it
gives it out again: a tenth of a step of LeNet went there. What was set by the environment holds.
"""

import ctypes
import os
import platform

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # of malloc.h
LARGEST = 2**25  # bytes: the highest threshold that glibc takes
SETTINGS = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES")


def keep_what_is_freed():
    """Tell glibc's malloc, where it is what allocates; whether it was told."""
    if platform.libc_ver()[0] != "glibc" or any(name in os.environ for name in SETTINGS):
        return False
    mallopt = ctypes.CDLL(None).mallopt
    return bool(mallopt(M_MMAP_THRESHOLD, LARGEST) and mallopt(M_TRIM_THRESHOLD, 2**31 - 1))
