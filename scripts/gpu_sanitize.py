"""Launch every CUDA kernel once or a few times, each array in memory of its own.

    compute-sanitizer --tool memcheck python scripts/gpu_sanitize.py --seconds 40

It is for NVIDIA's sanitizer, which then sees a byte that is read or written beyond an array. The
calls, and the bounds of their results, are those of tests/cuda/test_device_kernels.py.
"""

import argparse
import sys
import time
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "tests" / "cuda")]


def main():
    """Launch kernels until all are done or the time is over."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=40, help="when to stop (40)")
    parser.add_argument("--calls", type=int, default=1, help="calls of each kernel (1)")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    import cupy
    import test_device_kernels

    cupy.cuda.set_allocator(None)
    end, count, errors = time.monotonic() + options.seconds, 0, 0
    for name in test_device_kernels.NAMES:
        if time.monotonic() > end:
            print(f"the time is over at {name}")
            break
        for call in test_device_kernels.calls().get(name, ())[: options.calls]:
            try:
                excess = test_device_kernels.excess(call)
                if excess is not None and excess > 1:
                    raise AssertionError(f"errs by {excess:.3g} of the bound")
                count += 1
            except Exception as error:
                errors += 1
                print(f"{name}: {type(error).__name__}: {str(error)[:200]}")
    cupy.cuda.Device().synchronize()
    print(f"{count} calls, {errors} errors")
    sys.exit(bool(errors))


if __name__ == "__main__":
    main()
