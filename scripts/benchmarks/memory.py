"""How much memory this process holds, and held at its peak, as the system says."""

import re
import sys
from pathlib import Path

STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def held():
    """{"now", "peak"} in bytes; only the peak where the system tells no more; {} on Windows.

    On Linux the peak is VmHWM, which is that of getrusage without what the parent held when it made
    this process.
    """
    if STATUS.exists():
        found = dict(re.findall(r"Vm(HWM|RSS):\s+(\d+) kB", STATUS.read_text("ascii", "replace")))
        return {"now": 1024 * int(found["RSS"]), "peak": 1024 * int(found["HWM"])}
    try:
        import resource
    except ModuleNotFoundError:
        return {}
    unit = 1 if sys.platform == "darwin" else 1024
    return {"peak": unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}


def forget_peak():
    """Begin a new peak from what is held now; whether the system can."""
    try:
        CLEAR.write_text("5", encoding="ascii")
    except OSError:
        return False
    return True
