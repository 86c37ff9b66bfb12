"""Write what numba makes of the kernels that are written by hand, for machines to start from.

    python scripts/write_kernels.py                 (after a change of a kernel: three minutes)
    python scripts/write_kernels.py --record        (with the types of new calls as well)
    python scripts/write_kernels.py --check gemm    (whether what is there is what would be written)

Beside each file of kernels lies NAME.kernels.zip: for each kernel, each list of argument types and
each kind of CPU, LLVM's text with numba's own simplifications done, so that a first call costs the
rest of LLVM's work: a tenth of what numba takes. minifp/runtime/cpu/compile/shipped.py reads it.

--record trains networks and calls operations in each precision, and adds the types that kernels are
called with: see lowering/record.py.
"""

import argparse
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from lowering import archives, variants

FOLDER = Path(__file__).resolve().parent


def options():
    """What the command line says."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("files", nargs="*", metavar="NAME", help="files of kernels, without .py (all)")
    add("--record", action="store_true", help="add the types of new calls")
    add("--check", action="store_true", help="write nothing, and fail where that would change")
    return parser.parse_args()


def lowered(calls):
    """{path: index and members} of what each kind of CPU makes of all calls."""
    written = {}
    with ThreadPoolExecutor(2) as pool:
        outputs = pool.map(partial(lowered_for, calls=calls), variants.VARIANTS)
        for variant, output in zip(variants.VARIANTS, outputs):
            archives.add(written, variant, json.loads(output))
    return written


def lowered_for(variant, calls):
    """What a process prints that takes this machine for one of a kind."""
    return subprocess.run(
        [sys.executable, "-m", "lowering.lower", variant],
        input=json.dumps(calls), cwd=FOLDER, stdout=subprocess.PIPE, encoding="utf-8", check=True,
        env=variants.environment(variant),
    ).stdout  # fmt: skip


def recorded():
    """The calls of all workloads, from a process of its own."""
    command = [sys.executable, "-m", "lowering.record"]
    done = subprocess.run(command, cwd=FOLDER, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


if __name__ == "__main__":
    given = options()
    calls = archives.calls()
    if given.record:
        calls = archives.united(calls, recorded())
    if given.files:
        calls = {path: c for path, c in calls.items() if Path(path).stem in given.files}
    written = lowered(calls)
    if given.check:
        sys.exit("\n".join(archives.differences(written)) or None)
    archives.remove_orphans()
    for path, content in written.items():
        archives.write(path, content)
    print(f"{len(written)} files, {archives.size(written) / 2**20:.2f} MiB", file=sys.stderr)
