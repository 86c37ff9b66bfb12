"""Build minifp's site, static files that any server can serve: the playground, in which minifp runs
under Pyodide, and the explorables.

    python scripts/build_site.py --wheels DIR --out site
    python -m http.server --bind 127.0.0.1 --directory site

It needs Node.js for Pyodide itself, or its folder (--pyodide), and a folder with NumPy's wheel for
Pyodide: see web/README.md. lock.json lists every file with its size and its hash; the browser
refuses a package with another.
"""

import json
import shutil
import sys
import tempfile
from pathlib import Path

import click
from packaging.utils import parse_wheel_filename
from website import editor, pyodide, wheels

from minifp.saving import files

WEB = pyodide.ROOT / "web"
PARTS = ("playground", "explorables", "index.html", "service-worker.js")
SIZE = "{megabytes}"  # what the page says of the playground's download
LOCK = "lock.json"


def package(wheel: Path, depends: list[str]) -> dict:
    """What Pyodide is told of a package."""
    name, version, *_ = parse_wheel_filename(wheel.name)
    hashed = {"file_name": wheel.name, "sha256": pyodide.sha256(wheel)}
    size = {"bytes": wheel.stat().st_size}
    told = {"name": name, "version": str(version), **hashed, **size, "depends": depends}
    return told | {"imports": [], "install_dir": "site", "package_type": "package"}


def all_files(site: Path) -> dict[str, dict]:
    """The size and the hash of each file of a site."""
    paths = sorted(path for path in site.rglob("*") if path.is_file())
    return {
        path.relative_to(site).as_posix(): {
            "sha256": pyodide.sha256(path),
            "bytes": path.stat().st_size,
        }
        for path in paths
    }


def copy_pages(site: Path) -> None:
    """Copy what is ours."""
    for part in PARTS:
        copy = shutil.copytree if (WEB / part).is_dir() else shutil.copy
        copy(WEB / part, site / part)


def state_size(site: Path) -> None:
    """Write the size of what the playground fetches into the first page."""
    fetched = [*(site / "pyodide").iterdir(), *(site / "wheels").iterdir()]
    fetched += [path for path in (site / "playground").rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in fetched) / 1e6
    page = site / "index.html"
    text = page.read_text(encoding="utf-8")
    page.write_text(text.replace(SIZE, f"{size:.1f}"), encoding="utf-8", newline="\n")


def build(site: Path, source: Path, folder: Path, compiled: bool) -> dict:
    """Write all files into a folder; what its lock.json says."""
    (site / "pyodide").mkdir()
    for name in pyodide.PINNED["files"]:
        shutil.copyfile(source / name, site / "pyodide" / name)
    (site / "wheels").mkdir()
    info = json.loads((source / pyodide.LOCK).read_text(encoding="utf-8"))["info"]
    with tempfile.TemporaryDirectory() as work:
        own = wheels.own(Path(work), site / "wheels", source if compiled else None)
    depends = wheels.gathered(own, folder, site / "wheels", info["python"])
    packages = [package(site / "wheels" / name, names) for name, names in depends.items()]
    copy_pages(site)
    why = editor.bundled(site / "playground")
    if why is not None:
        click.echo(f"The playground has a plain text area for an editor: {why}", err=True)
    state_size(site)
    lock = {"info": info, "packages": {p["name"]: p for p in packages}, "files": all_files(site)}
    files.write(site / LOCK, json.dumps(lock, indent=1).encode())
    return lock


def replace(old: Path, new: Path) -> None:
    """Put a new site in the place of an old one."""
    shutil.rmtree(old, ignore_errors=True)
    new.rename(old)


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--pyodide", "source", type=click.Path(path_type=Path, exists=True, file_okay=False),
              help=f"The folder of npm's {pyodide.PACKAGE}; else it is fetched, once.")  # fmt: skip
@click.option("--wheels", "folder", type=click.Path(path_type=Path, exists=True, file_okay=False),
              required=True, help="A folder with NumPy's wheel for Pyodide.")  # fmt: skip
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), default="site",
              show_default=True, help="The site; an older one is replaced.")  # fmt: skip
@click.option("--compiled/--sources", default=shutil.which("node") is not None,
              help="Bytecode too, which Node.js makes, so that it starts sooner.")  # fmt: skip
def main(source, folder, out, compiled):
    """Build minifp's site: the playground and the explorables, as static files.

    \b
    Example:
      python scripts/build_site.py --wheels DIR --out site
    """
    if out.exists() and any(out.iterdir()) and not (out / LOCK).is_file():
        raise click.ClickException(f"{out} holds something else than a site: name another folder")
    fresh = out.with_name(f"{out.name}.new")
    with files.new_folder(fresh) as site:
        lock = build(site, pyodide.found(source), folder, compiled)
    replace(out, fresh)
    for name, told in sorted(lock["packages"].items()):
        click.echo(f"{name} {told['version']}  {told['bytes'] / 1e6:.2f} MB")
    click.echo(f"{out}: {sum(f['bytes'] for f in lock['files'].values()) / 1e6:.1f} MB")


if __name__ == "__main__":
    sys.exit(main())
