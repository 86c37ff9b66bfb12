"""Pyodide's own files, which are held to the hashes in web/pyodide.json."""

import hashlib
import json
import os
import shutil
import subprocess
import tarfile
from collections.abc import Sequence
from pathlib import Path

import click
import pooch
from platformdirs import user_cache_path

ROOT = Path(__file__).resolve().parents[2]
PINNED = json.loads((ROOT / "web" / "pyodide.json").read_text(encoding="utf-8"))
PACKAGE = f"pyodide@{PINNED['version']}"
ADDRESS = f"https://cdn.jsdelivr.net/pyodide/v{PINNED['version']}/full/"  # its own distribution's
LOCK = "pyodide-lock.json"  # what Pyodide's own distribution has; a site has its own


def sha256(path: Path) -> str:
    """The hash of a file, in hexadecimal digits."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def found(folder: Path | None) -> Path:
    """The folder with Pyodide's files: this one, or npm's package, which is fetched once.

    Raises ClickException for a file that is missing or is not the one that is pinned.
    """
    folder = fetched() if folder is None else folder
    for name, pinned in PINNED["files"].items():
        path = folder / name
        if not path.is_file():
            raise click.ClickException(f"{path} is missing: expected the files of {PACKAGE}")
        if sha256(path) != pinned:
            raise click.ClickException(
                f"{path} is another file than that of {PACKAGE}: its SHA-256 is {sha256(path)}, "
                f"expected {pinned} (web/pyodide.json)"
            )
    return folder


def fetched() -> Path:
    """The folder of npm's package in the user's cache."""
    cache = user_cache_path("minifp") / PACKAGE.replace("@", "-")
    if not (cache / "package").is_dir():
        cache.mkdir(parents=True, exist_ok=True)
        pack = "npm", "pack", "--silent", PACKAGE, "--pack-destination", str(cache)
        packed = called(*pack, instead=f", or the folder of {PACKAGE} (--pyodide DIR)")
        with tarfile.open(cache / packed.split()[-1]) as archive:
            archive.extractall(cache, filter="data")
    return cache / "package"


def packages(names: Sequence[str], source: Path) -> Path:
    """A folder in the user's cache with wheels that Pyodide's distribution has, and all that they
    need, each fetched once and held to the hash in Pyodide's lock. source: the folder of that.

    Raises ClickException for one that does not come, or has another hash.
    """
    known = json.loads((source / LOCK).read_text(encoding="utf-8"))["packages"]
    cache = user_cache_path("minifp") / f"{PACKAGE.replace('@', '-')}-wheels"
    todo, wanted = [*names], set()
    while todo:
        wanted.add(name := todo.pop())
        todo += {*known[name]["depends"]} - wanted
    for name in sorted(wanted):
        file, pinned = known[name]["file_name"], known[name]["sha256"]
        try:
            pooch.retrieve(ADDRESS + file, pinned, file, cache)
        except (OSError, ValueError) as error:
            raise click.ClickException(
                f"{ADDRESS}{file} cannot be used: {error}. Name a folder that has it: --wheels DIR"
            ) from error
    return cache


def called(*command: str, instead: str = "", folder: Path | None = None, **environment: str) -> str:
    """What a program says, run in a folder, with these variables set as well. Raises ClickException
    where there is none, with what would do instead, or where it fails."""
    program = shutil.which(command[0])
    if program is None:
        raise click.ClickException(
            f"{command[0]} is not installed: expected Node.js, which has it{instead}"
        )
    done = subprocess.run(
        [program, *command[1:]],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        encoding="utf-8",
    )
    if done.returncode:
        raise click.ClickException(f"{' '.join(command)}: {done.stdout}{done.stderr}")
    return done.stdout
