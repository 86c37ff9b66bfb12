"""A few calls of kernels with texts of their own; run by test_imitation.py in a process with the
address sanitizer, which ends it where a kernel reads or writes beyond memory."""

import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = map(str, (HERE, *HERE.parents[:2]))

import build  # noqa: E402
import fake_cupy  # noqa: E402

sys.modules["cupy"] = fake_cupy
os.environ["MINIFP_CUBLAS"] = str(build.library("fake_cublas.cpp"))

import test_device_kernels  # noqa: E402
from sampling import ENVIRONMENT, number_of  # noqa: E402

from minifp.runtime.cuda.source import Text  # noqa: E402

CALLS, ONE_IN = map(int, sys.argv[1:])  # of each kernel; of how many kernels one is drawn


def main() -> None:
    done, kernels = 0, [k for k in test_device_kernels.KERNELS if has_text(k)]
    for kernel in kernels[number_of(os.environ[ENVIRONMENT]) % ONE_IN :: ONE_IN]:
        calls = test_device_kernels.calls().get(kernel.name, [])
        halves = [c for c in calls if any(getattr(a, "dtype", "") == "float16" for a in c.args)]
        halves.sort(key=lambda call: -sum(getattr(a, "size", 0) for a in call.args))
        for call in halves[:CALLS]:
            test_device_kernels.excess(call)
            done += 1
    print(f"{done} calls of kernels")


def has_text(kernel) -> bool:
    module = sys.modules.get(getattr(kernel.device_kernel, "__module__", ""))
    return module is not None and any(isinstance(v, Text) for v in vars(module).values())


if __name__ == "__main__":
    main()
