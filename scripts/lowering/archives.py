"""The files of lowered kernels: what is in them, and writing them."""

import importlib
import inspect
import io
import json
import zipfile
from pathlib import Path

import minifp
from minifp.runtime.cpu.compile import decorators, shipped
from minifp.runtime.cpu.compile.kernel_cache import digest_of

from . import entry

ROOT = Path(minifp.__file__).resolve().parent
DATE = (1980, 1, 1, 0, 0, 0)  # of all members, so that the same kernels make the same file


def calls():
    """{path: {kernel: [types]}} of all files that there are; paths are relative to minifp/.

    Kernels that are gone are left out, and types of calls that one does not take any more.
    """
    found: dict = {}
    for path in sources():
        if path.is_file():
            place = path.relative_to(ROOT).as_posix()
            found[place] = {}
            for name, types in read(path)["kernels"].items():
                kernel = kernel_of(place, name)
                if still := [t for t in sorted(types) if kernel and takes(kernel, t)]:
                    found[place][name] = still
    return found


def sources():
    """The source of each file of kernels."""
    files = sorted(ROOT.rglob("*.kernels.zip"))
    return [file.with_name(file.name.replace(".kernels.zip", ".py")) for file in files]


def remove_orphans():
    """Remove files of kernels whose source is gone, or has none of them any more."""
    there = calls()
    for path in sources():
        if not there.get(path.relative_to(ROOT).as_posix()):
            shipped.archive(str(path)).unlink()


def read(path):
    """The index of a file of kernels, of whatever sources it is."""
    with zipfile.ZipFile(shipped.archive(str(path))) as members:
        return json.loads(members.read(shipped.INDEX))


def kernel_of(path, name):
    """The kernel of a name in a file; None if it stands there only once it has been called."""
    module = importlib.import_module("minifp." + path.removesuffix(".py").replace("/", "."))
    kernel = getattr(module, name.partition(".")[0], None)
    kernel = decorators.NATIVES.get(name) or getattr(kernel, "kernel", kernel)
    return kernel if isinstance(kernel, (decorators.Kernel, decorators.Native)) else None


def takes(kernel, types) -> bool:
    """Whether a kernel still takes as many arguments as a list of types from before has."""
    if isinstance(kernel, decorators.Native):
        return True
    return len(inspect.signature(kernel.py_func).parameters) == len(entry.parse(types))


def united(*all_calls):
    """All calls of several."""
    found: dict = {}
    for some in all_calls:
        for path, kernels in some.items():
            for name, types in kernels.items():
                known = found.setdefault(path, {}).setdefault(name, [])
                known += [t for t in types if t not in known]
    return found


def add(written, variant, lowered):
    """Add what was lowered for a kind of CPU: {path: {kernel: {types: [text, symbols]}}}."""
    for path, kernels in lowered["kernels"].items():
        file = written.setdefault(path, {"texts": {}, "index": {"kernels": {}}})
        file["index"] |= {"llvm": lowered["llvm"], "numba": lowered["numba"]}
        file["index"]["sources"] = digest_of(str(ROOT / path))
        for name, by_types in kernels.items():
            for types, (member, text, symbols) in by_types.items():
                file["texts"][member] = text
                known = file["index"]["kernels"].setdefault(name, {}).setdefault(types, {})
                known[variant] = [member, symbols]


def write(path, content):
    """Write the file of a path."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_LZMA) as members:
        index = json.dumps(content["index"], indent=1, sort_keys=True)
        for name, text in [(shipped.INDEX, index), *sorted(content["texts"].items())]:
            info = zipfile.ZipInfo(name, DATE)
            info.compress_type = zipfile.ZIP_LZMA
            members.writestr(info, text)
    shipped.archive(str(ROOT / path)).write_bytes(data.getvalue())


def size(written):
    """The bytes of all these files."""
    return sum(shipped.archive(str(ROOT / path)).stat().st_size for path in written)


def differences(written):
    """A line for each file whose kernels are not what would be written."""
    return [
        f"{path}: run python scripts/write_kernels.py"
        for path, content in written.items()
        if read(ROOT / path) != json.loads(json.dumps(content["index"]))
    ]
