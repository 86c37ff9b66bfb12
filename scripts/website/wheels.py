"""The wheels of a site: minifp's own, made for a browser, and all that it needs there."""

import base64
import csv
import hashlib
import io
import shutil
import sys
import tempfile
import zipfile
from contextlib import suppress
from email.parser import HeaderParser
from pathlib import Path

import click
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name, parse_wheel_filename

from website.pyodide import ROOT, called, sha256

SOURCES = "minifp models pyproject.toml setup.cfg setup.py MANIFEST.in README.md LICENSE".split()
LEFT_OUT = (".kernels.zip", ".cu", ".cuh")  # machine code and CUDA: of no use in a browser
THERE = {"sys_platform": "emscripten", "platform_system": "Emscripten", "os_name": "posix"}
THERE |= {"platform_machine": "wasm32"}
EPOCH = (1980, 1, 1, 0, 0, 0)  # of all files in a wheel: the same sources give the same hash
COMPILER = Path(__file__).with_name("compile.mjs")


# ---- minifp's -----------------------------------------------------------------------------------


def pip(*arguments: str, **environment: str) -> None:
    """Call pip. Raises ClickException with what it says."""
    called(sys.executable, "-m", "pip", "--quiet", *arguments, **environment)


def own(work: Path, into: Path, pyodide: Path | None) -> Path:
    """Build minifp's wheel. pyodide: with its bytecode for this Pyodide, if one is given."""
    sources = copied(work / "sources")
    pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(work), str(sources))
    (built,) = work.glob("minifp-*.whl")
    unpacked = work / "unpacked"
    with zipfile.ZipFile(built) as archive:
        archive.extractall(unpacked, [n for n in archive.namelist() if not n.endswith(LEFT_OUT)])
    if pyodide is not None:
        called("node", str(COMPILER), str(pyodide), str(unpacked))
    return packed(unpacked, into / built.name)


def copied(folder: Path) -> Path:
    """Copy what a wheel is made of: in the checkout, what was built once would get into it."""
    folder.mkdir()
    for name in SOURCES:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, folder / name)
    for cache in [*folder.rglob("__pycache__")]:
        shutil.rmtree(cache)
    return folder


def packed(folder: Path, wheel: Path) -> Path:
    """Write the wheel of an unpacked one, with the list of what is now in it."""
    (record,) = folder.glob("*.dist-info/RECORD")
    record.unlink()
    paths = sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    paths.sort(key=lambda path: path.parts[0] == record.parent.name)  # what describes it is last
    files = {path.as_posix(): (folder / path).read_bytes() for path in paths}
    name = record.relative_to(folder).as_posix()
    files[name] = listing(files, name)
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path, content in files.items():
            archive.writestr(zipfile.ZipInfo(path, EPOCH), content, zipfile.ZIP_DEFLATED)
    return wheel


def listing(files: dict[str, bytes], own_name: str) -> bytes:
    """A wheel's RECORD: path, hash and size of each file, but of the list itself."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    for path, content in files.items():
        code = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
        rows.writerow((path, f"sha256={code}", len(content)))
    rows.writerow((own_name, "", ""))
    return text.getvalue().encode()


# ---- what it needs ------------------------------------------------------------------------------


def needs(wheel: Path, python: str) -> list[Requirement]:
    """What a wheel requires under Pyodide, whose Python has this version."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        lines = HeaderParser().parsestr(archive.read(name).decode()).get_all("Requires-Dist") or []
    there = {**THERE, "python_full_version": python, "extra": ""}
    there["python_version"] = python.rpartition(".")[0]
    wanted = map(Requirement, lines)
    return [r for r in wanted if r.marker is None or r.marker.evaluate(there)]


def gathered(
    wanted: list[Path | Requirement], folders: list[Path], into: Path, python: str
) -> dict[str, list[str]]:
    """Put wheels, and all that they need, into a folder; what each needs, by the files' names.

    wanted: wheels that are there already, or what is required.
    """
    depends, todo = {}, [*wanted]
    known = {canonicalize_name(r.name) for r in wanted if isinstance(r, Requirement)}
    while todo:
        wheel = todo.pop()
        if isinstance(wheel, Requirement):
            wheel = fetched(wheel, folders, into, python)
        requirements = needs(wheel, python)
        depends[wheel.name] = [canonicalize_name(r.name) for r in requirements]
        new = [r for r in requirements if canonicalize_name(r.name) not in known]
        known.update(canonicalize_name(r.name) for r in new)
        todo += new
    return depends


def newest(requirement: Requirement, folders: list[Path]) -> Path | None:
    """The newest wheel in folders that a requirement accepts."""
    name = canonicalize_name(requirement.name)
    paths = [path for folder in folders for path in folder.glob("*.whl")]
    known = {path: parse_wheel_filename(path.name)[:2] for path in paths}
    fitting = [p for p, (n, v) in known.items() if n == name and v in requirement.specifier]
    return max(fitting, key=lambda path: known[path][1], default=None)


def fetched(requirement: Requirement, folders: list[Path], into: Path, python: str) -> Path:
    """The newest wheel in folders that a requirement accepts; else pip's, if it runs anywhere."""
    best = newest(requirement, folders)
    if best is not None:
        (into / best.name).write_bytes(best.read_bytes())
        return into / best.name
    before = {*into.iterdir()}
    anywhere = ("--only-binary=:all:", "--platform=any", f"--python-version={python}")
    try:
        pip("download", "--no-deps", *anywhere, "--dest", str(into), str(requirement))
    except click.ClickException as error:
        if not is_built_without_compiler(requirement, into):
            raise click.ClickException(
                f"{requirement}: no wheel in {folders[-1]}, and none that runs anywhere: expected "
                f"one that is built for Pyodide, in the folder of --wheels\n{error.message}"
            ) from error
    (path,) = {*into.iterdir()} - before
    return path


def is_built_without_compiler(requirement: Requirement, into: Path) -> bool:
    """Whether pip built, into a folder, a wheel that runs anywhere: MarkupSafe's C is optional."""
    sources = ("--no-deps", "--no-binary", requirement.name, str(requirement))
    with tempfile.TemporaryDirectory() as folder:
        with suppress(click.ClickException):
            pip("wheel", *sources, "--wheel-dir", folder, CC="false")
        return bool([shutil.copy(wheel, into) for wheel in Path(folder).glob("*-any.whl")])


def package(wheel: Path, depends: list[str]) -> dict:
    """What Pyodide is told of a package."""
    name, version, *_ = parse_wheel_filename(wheel.name)
    hashed = {"file_name": wheel.name, "sha256": sha256(wheel)}
    size = {"bytes": wheel.stat().st_size}
    told = {"name": name, "version": str(version), **hashed, **size, "depends": depends}
    return told | {"imports": [], "install_dir": "site", "package_type": "package"}
