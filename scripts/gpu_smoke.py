"""The first minute on a GPU: each check by itself, one line each, with what it saw.

    python scripts/gpu_smoke.py
    python scripts/gpu_smoke.py product captured_is_eager

It needs CuPy, NumPy and this checkout, and nothing else. Names on the command line choose checks.
What raises is a line with FAILED (its traceback goes to the error stream), and keeps no other check
from running; what the machine lacks a library for is "not tried". The last line counts failures,
and so does the exit status.
"""

import argparse
import gc
import sys
import time
import traceback
import warnings
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

CHECKS = {}


class Absent(Exception):
    """What a machine lacks without which a check cannot be done."""


def check(function):
    """Register a check: it returns what to say, and raises where something is wrong."""
    CHECKS[function.__name__] = function
    return function


def numbers(seed, *shape):
    """Normal numbers in float16."""
    return np.random.default_rng(seed).normal(size=shape).astype("float16")


@check
def one_file():
    """Without minifp: the essay's two networks, by CuPy's own arrays and products."""
    import cupy
    import mixed_precision_in_one_file as essay

    losses = []
    for essay.xp in (np, cupy):
        tasks = essay.NORMED, essay.LSTM
        losses.append([essay.train(task, essay.MIXED, steps=4)[0] for task in tasks])
    difference = np.abs(np.subtract(*losses)).max()
    assert difference < 0.02, losses
    return f"losses after 4 steps within {difference:.1e} of NumPy's"


@check
def libraries():
    """CuPy finds a GPU, and minifp a cuBLAS."""
    import cupy

    from minifp.runtime.cuda.product import current_handle

    runtime, handle = cupy.cuda.runtime, current_handle()
    name = runtime.getDeviceProperties(0)["name"].decode()
    return (
        f"{name}, CUDA {runtime.runtimeGetVersion()}, driver {runtime.driverGetVersion()}, "
        f"CuPy {cupy.__version__}, NumPy {np.__version__}, "
        f"cuBLAS {handle.version()} ({Path(handle.cublas.path).name})"
    )


@check
def derived_kernel():
    """ReLU, whose CUDA text is derived from its NumPy reference, gives the same bits."""
    import minifp as fp
    import minifp.nn.functional as F

    x = numbers(0, 1000, 999)
    assert np.array_equal(F.relu(fp.tensor(x, device="cuda")).numpy(), np.maximum(x, 0))
    return "bits are equal"


@check
def product():
    """A float16 product is summed in float32: its error is that of so many additions."""
    import cupy

    from minifp.runtime.cuda.product import product as multiply

    a, b = numbers(1, 512, 512), numbers(2, 512, 512)
    got = multiply(cupy.asarray(a), cupy.asarray(b), "float32").get().astype("float64")
    exact = a.astype("float64") @ b.astype("float64")
    limit = 512 * 2.0**-23 * (np.abs(a).astype("float64") @ np.abs(b).astype("float64"))
    assert (np.abs(got - exact) <= limit).all(), np.abs(got - exact).max()
    error = np.linalg.norm(got - exact) / np.linalg.norm(exact)
    return f"relative error {error:.1e}, float16 sums would have some 1e-2"


@check
def teaching_kernel():
    """The product that is there to be read uses tensor cores; it needs the header crt/mma.h."""
    import cupy

    from minifp.runtime.cuda.teaching import matmul

    a = cupy.ones((48, 40), "float16")
    assert (matmul(a, a.T).get() == 40).all()
    return "sums of ones are exact"


def lenet_losses(device, is_captured=False, steps=12):
    """Losses of LeNet in mixed precision, with dropout, from the same weights and batches."""
    import minifp as fp
    import minifp.nn.functional as F
    from minifp import optim
    from minifp.models import LeNet

    fp.manual_seed(0)
    random = np.random.default_rng(3)
    with fp.precision("mixed"):
        model = LeNet(size=28).to(device)
        optimizer = fp.MixedOptimizer(optim.Adam(model.parameters(), lr=1e-3))

        def step(x, t):
            loss = F.cross_entropy(F.dropout(model(x), 0.1), t)
            optimizer.minimize(loss)
            return loss

        call = fp.capture(step, device="cuda") if is_captured else step
        batches = [
            (random.random((32, 1, 28, 28), "float32"), random.integers(0, 10, 32))
            for _ in range(steps)
        ]
        losses = [call(*(fp.tensor(a, device=device) for a in batch)) for batch in batches]
        return [loss.item() for loss in losses]


@check
def eager_is_the_cpu():
    """A training run on the GPU is the CPU's, but for the order of sums."""
    gpu, cpu = lenet_losses("cuda"), lenet_losses("cpu")
    difference = max(abs(a - b) for a, b in zip(cpu, gpu))
    assert difference < 0.05, (cpu, gpu)
    return f"losses of 12 steps within {difference:.4f}"


@check
def captured_is_eager():
    """A step as a CUDA graph gives the bits of ordinary steps."""
    eager, captured = lenet_losses("cuda"), lenet_losses("cuda", True)
    assert eager == captured, (eager, captured)
    return "losses are equal bit for bit"


@check
def repeated_is_the_same():
    """No sum depends on time."""
    assert lenet_losses("cuda") == lenet_losses("cuda")
    return "losses are equal bit for bit"


@check
def capture_after_a_refused_one():
    """A step whose capture fails is captured at the next call, on another stream."""
    import cupy

    import minifp as fp

    w, x = (fp.Tensor(cupy.ones((64, 64), "float16")) for _ in range(2))
    calls = []

    def step(x):
        calls.append(1)
        y = x @ w
        if len(calls) == 4:
            cupy.cuda.get_current_stream().synchronize()
        return y

    captured = fp.capture(step, device="cuda")
    for _ in range(3):
        captured(x)
    try:
        captured(x)
    except fp.CaptureError:
        pass
    else:
        raise AssertionError("a step that waits for its stream was captured")
    assert (captured(x).numpy() == 64).all() and captured.graphs == 1
    return "a graph was made"


@check
def dropped_steps_give_memory_back():
    """Captured steps that nobody has any more hold neither memory nor handles of cuBLAS."""
    import cupy

    from minifp.runtime.cuda.product import handles

    free, count = [], []
    for _ in range(8):
        lenet_losses("cuda", True, 6)
        gc.collect()
        cupy.get_default_memory_pool().free_all_blocks()
        free.append(cupy.cuda.Device().mem_info[0])
        count.append(len(handles()))
    assert count[-1] == count[1], count
    lost = (free[1] - free[-1]) / 6 / 2**20
    assert lost < 1, free
    return f"{count[-1]} handles; {lost:.2f} MiB lost a step"


@check
def uploads():
    """Batches that are copied ahead, on a stream of their own, arrive whole."""
    import minifp as fp

    rows = np.arange(4096 * 64, dtype="float32").reshape(4096, 64)
    loader = fp.data.DataLoader(
        fp.data.TensorDataset(rows), batch_size=64, device="cuda", prefetch=2
    )
    assert all((x.numpy() == rows[64 * i : 64 * i + 64]).all() for i, (x,) in enumerate(loader))
    return "64 batches"


@check
def float8_products():
    """cublasLt multiplies float8 codes, if its sums are float32's; else minifp warns."""
    import minifp as fp
    from minifp import nn

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            fp.set_gpu_math("float8")
        except fp.DeviceError as error:
            raise Absent(error) from None
        try:
            with fp.precision("float8"):
                layer = nn.Linear(64, 64).to("cuda")
                layer(fp.ones(32, 64, device="cuda")).sum().item()
        finally:
            fp.set_gpu_math("tensor_cores")
    return "; ".join(str(w.message)[:250] for w in caught) or "cublasLt's sums are taken"


@check
def cudnn_convolution():
    """cuDNN, where it is asked for, gives the product's result, or is refused with a reason."""
    import cupy

    import minifp as fp
    import minifp.nn.functional as F
    from minifp.runtime.cuda import cudnn

    x, w = (fp.Tensor(cupy.ones(s, "float16")) for s in ((8, 64, 28, 28), (64, 64, 3, 3)))
    try:
        cudnn.use(True)
    except fp.DeviceError as error:
        raise Absent(error) from None
    try:
        y = F.conv2d(x, w, padding=1).numpy()
        refusals = [str(reason)[:160] for reason in cudnn.refused().values()]
    finally:
        cudnn.use(False)
    assert y[0, 0, 5, 5] == 576
    return f"refused: {'; '.join(refusals)}" if refusals else "taken"


@check
def own_kernels_are_the_references(seconds=15):
    """Kernels of minifp's own, on a case of each operation, are as far from the references on CuPy
    as the bounds of both allow. Operations come in a random order, as many as there is time for."""
    sys.path.insert(0, str(ROOT / "tests"))
    try:
        from bounds import Calls
        from cases import CASES
    except ImportError as lack:
        raise Absent(lack) from None
    import minifp as fp

    left = list({case.operation: case for case in reversed(CASES)}.values())
    np.random.default_rng(0).shuffle(left)
    stop, count, distances = time.perf_counter() + seconds, len(left), {}
    with fp.precision("float32,storage=float16"):
        while left and time.perf_counter() < stop:
            with by_references(), Calls() as calls:
                run_backward(left.pop())
            for call in calls:
                if call.kernel.device_kernel is not None:
                    name = call.kernel.name
                    distances[name] = max(distance(call), distances.get(name, 0))
    worst = max(distances, key=distances.get)
    beyond = [name for name, d in distances.items() if not d <= 1]
    assert not beyond, f"{len(beyond)} of {len(distances)} kernels differ: {', '.join(beyond)}"
    return (
        f"{len(distances)} kernels, of {count - len(left)} of {count} operations; the worst, "
        f"{worst}, is at {distances[worst]:.2f} of the bounds"
    )


def by_references():
    """The precision in which the references compute, for a `with` statement."""
    import minifp as fp
    from minifp.numerics import policy

    return fp.precision(policy.by_references(policy.get_precision()))


def run_backward(case):
    """A case of tests/cases, forward and backward, on the CPU."""
    import minifp as fp

    y = case.fn(*(fp.tensor(a, requires_grad=True) for a in case.arrays()))
    for out in y if isinstance(y, tuple) else (y,):
        if out.requires_grad:
            out.backward(gradient=np.ones(out.shape), retain_graph=True)


def distance(call):
    """How far apart a kernel's results and those of its reference on CuPy are, in units of the sum
    of both bounds (see tests/bounds.py)."""
    from bounds import STEPWISE, Call, excess

    from minifp.numerics.formats import float64, is_float, upcast
    from minifp.runtime.cuda.arrays import to_device, to_host

    def results():
        args = [to_device(a) if isinstance(a, np.ndarray) else a for a in call.args]
        found = call.kernel(*args, to=tuple(r.dtype for r in call.results), **call.params)
        return tuple(map(to_host, found if isinstance(found, tuple) else (found,)))

    own = results()
    with by_references():
        theirs = results()
    if call.kernel.name in STEPWISE:  # whose bounds are from step to step
        both = (Call(call.kernel, call.args, call.params, r, call.formats) for r in (own, theirs))
        return max(each.excess() for each in both)
    with np.errstate(all="ignore"):
        exact, addends = call.exact()
        several = zip(own, theirs, call.magnitudes(exact))
        of_each = [
            excess(a, upcast(b, float64), m, addends) / 2
            if is_float(a.dtype)
            else (0.0 if np.array_equal(a, b) else np.inf)
            for a, b, m in several
        ]
    return max(of_each)


def main():
    """Run the checks; the exit status is how many failed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "checks", nargs="*", metavar="CHECK", help=f"some of {', '.join(CHECKS)} (all)"
    )
    names = parser.parse_args().checks or list(CHECKS)
    if unknown := [name for name in names if name not in CHECKS]:
        parser.error(f"no check {', '.join(unknown)}; there are {', '.join(CHECKS)}")
    warnings.simplefilter("ignore")
    failures = []
    for name in names:
        start = time.perf_counter()
        try:
            said = CHECKS[name]()
        except Absent as lack:
            said = f"not tried: {lack}"
        except Exception as error:
            traceback.print_exc()
            failures.append(name)
            said = f"FAILED {type(error).__name__}: {str(error)[:300]}"
        print(f"{name:32} {time.perf_counter() - start:6.2f} s  {said}", flush=True)
    print(f"{len(failures)} of {len(names)} checks failed", *failures, flush=True)
    sys.exit(len(failures))


if __name__ == "__main__":
    main()
