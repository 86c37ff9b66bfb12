"""What minifp finds on this machine, and the exact line that installs what is missing.

`python -m minifp.lab.commands.doctor_text` prints it where click, which commands need, is missing.
"""

import os
import platform
import sys
from collections import Counter
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import minifp
from minifp.data.whereabouts import ALL, whereabouts
from minifp.errors import ArgumentError, DeviceError
from minifp.lab import environment
from minifp.numerics import accumulate, kernels
from minifp.numerics.formats import FORMATS, is_compiled
from minifp.numerics.implementations import BY_HAND, DERIVED, REFERENCE, implementation_of
from minifp.report.plain_text import entries
from minifp.runtime import cpu
from minifp.runtime.cpu.compile import kernel_cache
from minifp.runtime.cpu.threads import get_num_threads
from minifp.runtime.cuda.cublas import load
from minifp.runtime.cuda.devices import generation, lacks
from minifp.runtime.cuda.math_modes import MODES, get_gpu_math
from minifp.runtime.variables import VARIABLES

# What is worth having: the module, what it is for, and the name to install it by.
OPTIONAL = (
    ("numba", "compiled kernels, many times as fast", "numba"),
    ("click", "the command line", "click"),
    ("matplotlib", "pictures", "matplotlib"),
    ("pooch", "downloading data sets such as MNIST", "pooch"),
    ("PIL", "your own pictures, and CIFAR-10 packed as JPEG", "pillow"),
    ("safetensors", "checkpoints", "safetensors"),
)


def doctor_text() -> str:
    """Everything below, in sections of aligned lines."""
    sections = {
        "This machine": machine(),
        "Libraries": libraries(),
        "Kernels": kernel_rows(),
        "Data": data_places(),
        "Environment variables": variables(),
    }
    lines = []
    for title, rows in sections.items():
        lines += ["", title, *entries(rows)]
    return "\n".join([*lines[1:], "", *missing()])


def machine() -> list:
    """Python, the system, the processor and the cores that this process may use."""
    return [
        ("minifp", f"{minifp.__version__} in {Path(minifp.__file__).parent}"),
        ("Python", f"{platform.python_version()} ({sys.executable})"),
        ("system", platform.platform()),
        ("processor", environment.processor()),
        ("cores", f"{environment.cores()} for this process, {os.cpu_count()} in all"),
    ]


def libraries() -> list:
    """NumPy with its BLAS, numba, CuPy with its devices, and what else is optional."""
    rows = [
        ("NumPy", f"{environment.installed('numpy')}, products on {environment.blas()}{threads()}"),
        ("numba", f"{environment.installed('numba')}{numba_text()}"),
        ("CuPy", cupy_text()),
        ("GPU math", gpu_math_text()),
    ]
    others = "tqdm click matplotlib pillow pooch safetensors threadpoolctl loky jsonschema".split()
    return rows + [(name, environment.installed(name)) for name in (*others, "markupsafe")]


def threads() -> str:
    """How many threads BLAS uses, if threadpoolctl is there to tell."""
    if find_spec("threadpoolctl") is None:
        return ""
    pools = import_module("threadpoolctl").threadpool_info()
    counts = sorted({pool["num_threads"] for pool in pools if pool["user_api"] == "blas"})
    return f", threads: {', '.join(map(str, counts))}" if counts else ""


def numba_text() -> str:
    """Why a numba that is installed does not load, if so."""
    error = cpu.numba_error(is_tried=True)
    if error is None or find_spec("numba") is None:
        return ""
    return f", but it does not load: {type(error).__name__}: {first_line(error)}"


def first_line(error) -> str:
    """What an error says, in one line."""
    return next(iter(str(error).splitlines()), "")


def cupy_text() -> str:
    """CuPy's version and the GPUs it sees. It can be installed and see none."""
    try:
        cupy = import_module("cupy")
        runtime = cupy.cuda.runtime
        gpus = map(runtime.getDeviceProperties, range(runtime.getDeviceCount()))
        names = [gpu["name"].decode() for gpu in gpus]
    except ModuleNotFoundError:
        return "not installed"
    except Exception as error:  # CuPy has an error of its own for each way to lack a driver
        return f"installed, but it sees no GPU: {first_line(error)}"
    return f"{cupy.__version__}, GPUs: {', '.join(names) or 'none'}{gpu_text(cupy)}"


def gpu_text(cupy) -> str:
    """What the first GPU is and lacks, and which cuBLAS multiplies on it."""
    text, device = "", cupy.cuda.Device(0)
    try:
        of_gpu = generation(device.compute_capability)
        cuda = cupy.cuda.runtime.runtimeGetVersion() // 1000
        missing = [lacks(of_gpu, feature) for feature in ("bfloat16", "tf32", "float8", cuda)]
        text = "".join(f"; {sentence}" for sentence in [of_gpu.name, *filter(None, missing)])
        path = load(cuda).path
    except DeviceError as error:
        return f"{text}; {error}"
    free, total = device.mem_info
    return f"{text}; {free / 2**30:.1f} of {total / 2**30:.1f} GiB free; matrix products by {path}"


def gpu_math_text() -> str:
    """The math mode of products on a GPU, or what is wrong with the one that is asked for."""
    try:
        return f"{get_gpu_math()}: {MODES[get_gpu_math()].meaning}"
    except (ArgumentError, DeviceError) as error:
        return str(error)


def kernel_rows() -> list:
    """For each device how many kernels run on what, which formats they store fast, and how
    sequential float16 sums are made."""
    families = sorted({kernel.name.partition(".")[0] for kernel in kernels.KERNELS})
    return [
        ("cpu", counted("cpu")),
        ("", f"of {', '.join(families)}"),
        ("cuda", on_gpu()),
        ("cache", kernel_cache.summary()),
        ("threads", str(get_num_threads())),
        ("formats", formats_text()),
        *((f"{dtype} sums", sequential_text(dtype)) for dtype in accumulate.COMPILED),
    ]


def formats_text() -> str:
    """In which formats compiled kernels store numbers."""
    if cpu.numba_error(is_tried=True) is not None or not cpu.can_compile():
        return "all, computed by NumPy; those that NumPy lacks are slow: no kernel is compiled"
    fast = [name for name, format in FORMATS.items() if is_compiled(format.stored)]
    return f"compiled for {', '.join(fast)}; others run as NumPy, a hundred times slower"


def on_gpu() -> str:
    """How many kernels run on a GPU."""
    if cpu.numba_error(is_tried=True) is not None:
        return "none: they need numba, which does not load"
    if has_gpu():
        return counted("cuda")
    return f"no GPU here; on one, {counted('cuda')}"


def has_gpu() -> bool:
    """Whether CuPy sees a GPU."""
    try:
        return import_module("cupy").cuda.runtime.getDeviceCount() > 0
    except Exception:  # CuPy has an error of its own for each way to lack a driver
        return False


def counted(device) -> str:
    """How many kernels run on what on a device."""
    count = Counter(implementation_of(kernel, device).how for kernel in kernels.KERNELS)
    return ", ".join(f"{count[how]} {name}" for how, name in NAMES[device].items() if count[how])


NAMES = {
    "cpu": {BY_HAND: "compiled by numba", DERIVED: "derived by LLVM", REFERENCE: "in NumPy"},
    "cuda": {BY_HAND: "in CUDA C++", DERIVED: "derived in it", REFERENCE: "run on the CPU"},
}


def sequential_text(dtype) -> str:
    """Whether sequential sums in a narrow format are compiled."""
    if os.environ.get("MINIFP_KERNELS") == "numpy":
        return "in NumPy, slow: MINIFP_KERNELS=numpy"
    if accumulate.compiled(dtype) is None:
        return "in NumPy, slow: numba is not there"
    return "compiled by numba, one addition after the other"


def data_places() -> list:
    """What is bundled, and where the others would be found."""
    return [("digits, shakespeare", "bundled"), *((name, whereabouts(name)) for name in ALL)]


def variables() -> list:
    """Every variable that minifp reads, and others of its prefix, which may be typing errors."""
    known = [
        (name, f"{os.environ[name]}" if os.environ.get(name) else f"not set ({variable.meaning})")
        for name, variable in VARIABLES.items()
    ]
    strange = sorted(n for n in os.environ if n.startswith("MINIFP_") and n not in VARIABLES)
    return known + [
        (name, f"{os.environ[name]} (minifp {minifp.__version__} reads no such variable)")
        for name in strange
    ]


def missing() -> list:
    """What is not installed, what for, and the line that installs all of it."""
    absent = [row for row in OPTIONAL if find_spec(row[0]) is None]
    lines = [f"Missing: {module} ({purpose})" for module, purpose, _ in absent]
    names = [name for *_, name in absent]
    if numba_text():
        lines.append(f"Broken: numba {environment.installed('numba')}{numba_text()}")
        names = ["--upgrade", *names, "numba", "llvmlite"]
    if not lines:
        return ["Nothing is missing."]
    python = f'"{sys.executable}"' if " " in sys.executable else sys.executable
    return [*lines, f"To install: {python} -m pip install {' '.join(names)}"]


if __name__ == "__main__":
    print(doctor_text())
