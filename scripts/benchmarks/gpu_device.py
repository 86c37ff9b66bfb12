"""The section "device": on what all was measured."""

import platform
import subprocess

from minifp.lab.environment import environment
from minifp.runtime.cuda.arrays import cupy
from minifp.runtime.cuda.product import current_handle

WEIGHT, LIMIT = 1, 60
QUERY = ("driver_version", "clocks.sm", "clocks.max.sm", "clocks.max.mem", "power.limit")


def units(settings):
    """There is only one."""
    return ["device"]


def measure(unit, machine):
    """A row for each fact."""
    facts = [
        ("GPU", lambda: _properties()["name"].decode()),
        ("compute capability", lambda: cupy().cuda.Device().compute_capability),
        ("memory, GB", lambda: _properties()["totalGlobalMem"] / 1e9),
        ("free memory, GB", lambda: cupy().cuda.Device().mem_info[0] / 1e9),
        ("CUDA of the driver", lambda: cupy().cuda.runtime.driverGetVersion()),
        ("CUDA of CuPy", lambda: cupy().cuda.runtime.runtimeGetVersion()),
        ("CuPy", lambda: cupy().__version__),
        ("cuBLAS of minifp", lambda: current_handle().version()),
        ("Python", platform.python_version),
    ]
    facts += [(name, lambda v=value: v) for name, value in environment().items()]
    if machine.theirs is not None:
        torch = machine.theirs.torch
        facts += [
            ("PyTorch", lambda: torch.__version__),
            ("CUDA of PyTorch", lambda: torch.version.cuda),
            ("cuDNN of PyTorch", lambda: torch.backends.cudnn.version()),
        ]
    facts += [("nvidia-smi", _asked)]
    rows = {name: _told(fact) for name, fact in facts}
    return [{"name": name, "value": value} for name, value in rows.items()]


def _properties():
    return cupy().cuda.runtime.getDeviceProperties(0)


def _asked():
    command = ["nvidia-smi", f"--query-gpu={','.join(QUERY)}", "--format=csv,noheader"]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=20)
    values = (done.stdout.splitlines() or [done.stderr])[0].split(", ")
    return ", ".join(f"{name} {value}" for name, value in zip(QUERY, values))


def _told(fact):
    try:
        value = fact()
    except Exception as error:
        return f"unknown ({type(error).__name__})"
    return f"{value:.1f}" if isinstance(value, float) else str(value)
