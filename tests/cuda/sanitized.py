"""A few calls of every kernel with a text of its own; run by test_imitation.py in a process with
the address sanitizer, which ends it where a kernel reads or writes beyond memory."""

import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import build  # noqa: E402
import fake_cupy  # noqa: E402

sys.modules["cupy"] = fake_cupy
os.environ["MINIFP_CUBLAS"] = str(build.library("fake_cublas.cpp"))

import test_device_kernels  # noqa: E402

from minifp.runtime.cuda.source import Text  # noqa: E402

CALLS = int(sys.argv[1])  # of each kernel


def main() -> None:
    """Run them, and say how many."""
    done = 0
    for kernel in test_device_kernels.KERNELS:
        compiled = kernel.device_kernel
        module = sys.modules.get(getattr(compiled, "__module__", ""), None)
        if module is None or not any(isinstance(v, Text) for v in vars(module).values()):
            continue
        made = test_device_kernels.calls().get(kernel.name, [])
        halves = [c for c in made if any(getattr(a, "dtype", "") == "float16" for a in c.args)]
        halves.sort(key=lambda call: -sum(getattr(a, "size", 0) for a in call.args))
        for call in halves[:CALLS]:
            test_device_kernels.excess(call)
            done += 1
    print(f"{done} calls of kernels")


if __name__ == "__main__":
    main()
