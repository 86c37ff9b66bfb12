# %% [markdown]
# # On a GPU
#
# The lessons run on any laptop, because minifp imitates in NumPy what a GPU stores and sums. This notebook asks a real one: does it compute what the CPU computes, how much faster are its float16 products, and does mixed precision end where float32 ends?
#
# - **You need**: an NVIDIA GPU from Volta on with its driver, and about five minutes. On Colab choose *Runtime, Change runtime type, T4 GPU* first.
# - **A T4 is of 2018** (Turing, compute capability 7.5). Its tensor cores multiply float16, and nothing else that is used here: bfloat16 is multiplied in float32, and the modes `tf32` and `float8` are refused. It has 15 GB, and Colab shares it, so compare the ratios in the pictures, not the times.
# - **Nothing here is a lesson**: there is nothing to predict. At the end all results are in one archive.

# %%
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from IPython.display import Image, Markdown, display

if shutil.which("nvidia-smi") is None:
    raise SystemExit("no NVIDIA driver here: choose a runtime with a GPU and run this cell again")
folders = (Path.cwd(), *Path.cwd().parents, Path.cwd() / "minifp-checkout")
ROOT = next((f for f in folders if (f / "scripts" / "gpu_smoke.py").is_file()), None)
if ROOT is None:
    raise SystemExit("this notebook uses programs in scripts/: run it in a checkout of minifp")

said = subprocess.run(["nvidia-smi"], capture_output=True, text=True).stdout
major = 13 if int(re.search(r"CUDA Version: (\d+)", said)[1]) >= 13 else 12
extras = ["plot"] if importlib.util.find_spec("cupy") else ["plot", f"cuda{major}"]
if len(extras) > 1 or importlib.util.find_spec("minifp") is None:
    package = f"{ROOT}[{','.join(extras)}]"
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", package], check=True)

OUT = Path("on-a-gpu")
OUT.mkdir(exist_ok=True)
print(said)


def run(*command):
    """Run one of the programs in scripts/ and show what it says, line by line."""
    with (
        subprocess.Popen(
            [sys.executable, *map(str, command)], cwd=ROOT, text=True, stdout=subprocess.PIPE
        ) as process,
        open(OUT / "log.txt", "a", encoding="utf-8") as log,
    ):
        for line in process.stdout:
            print(line, end="")
            log.write(line)
    return process.returncode


# %% [markdown]
# ## 1. Does it work?
#
# Each line is a check by itself: products against float64, a training run against the CPU's, a step as one CUDA graph against ordinary steps, bit for bit. What the machine does not have is "not tried". A line with FAILED is a fault of minifp: please report it with the archive.

# %%
failures = run("scripts/gpu_smoke.py")
print("all checks passed" if failures == 0 else f"{failures} failed")

# %% [markdown]
# ## 2. Two pictures
#
# How many operations a second in products of square matrices, and in the convolution layers of four networks? There are three arms: float16 numbers in tensor cores, the same numbers without tensor cores, and float32. The first two differ only in the instructions. If PyTorch is installed, its rates stand beside them.

# %%
size = "--tiny" if os.environ.get("FAST") else "--quick"
run(
    "scripts/bench_gpu.py",
    "--only",
    "device",
    "gemm",
    "conv",
    size,
    "--out",
    OUT.resolve() / "bench",
)
for name in ("gemm", "conv-networks"):
    display(Image(OUT / "bench" / f"{name}.png", width=700))

# %% [markdown]
# ## 3. Float32 against mixed
#
# LeNet learns to read digits, from the same weights and in the same order of batches, in both precisions. The difference is judged pair by pair, with the task's margin; three seeds give a weak verdict.

# %%
import minifp as fp

result = fp.compare(
    "lenet",
    ["float32", "mixed"],
    device="cuda",
    seeds=3,
    epochs=1 if os.environ.get("FAST") else 6,
    progress=False,
    out=OUT / "lenet",
)
display(Markdown(result.verdict_sentence()))
result

# %% [markdown]
# ## 4. Keep it
#
# One archive holds the log, every figure with every round (`bench/bench.json`), the pictures, and the comparison with its report. On Colab it is downloaded.

# %%
archive = shutil.make_archive("on-a-gpu", "gztar", OUT)
try:
    from google.colab import files

    files.download(archive)
except ImportError:
    print(archive)
