"""Build minifp's site, static files that any server can serve: the playground, in which minifp runs
under Pyodide, the lessons in JupyterLite, and the explorables.

    python scripts/build_site.py --out site
    python -m http.server --bind 127.0.0.1 --directory site

It needs Node.js, which fetches Pyodide, and a network, from which NumPy, MarkupSafe and Matplotlib
for Pyodide come; or folders with these (--pyodide, --wheels): web/README.md. lock.json lists every
file with its size and its hash; the browser refuses a package with another.
"""

import json
import re
import shutil
import sys
import tempfile
from pathlib import Path

import click
from website import editor, lessons, programs, pyodide, wheels

from minifp.saving import files

WEB = pyodide.ROOT / "web"
PARTS = ("playground", "explorables", "index.html", "service-worker.js")
OF_LESSONS = re.compile("<!-- lessons -->.*<!-- end of lessons -->\n", re.S)  # of the first page
LOCK = "lock.json"
FETCHED = ("numpy", "markupsafe", lessons.DRAWING)  # of what Pyodide's distribution has
# Absolute, because other programs are called in folders of their own.
NEW_FOLDER = click.Path(path_type=Path, file_okay=False, resolve_path=True)
FOLDER = click.Path(path_type=Path, file_okay=False, resolve_path=True, exists=True)


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
    playground = site / "playground"
    shutil.rmtree(playground / programs.FOLDER.name)
    files.write(playground / programs.INDEX, json.dumps(programs.all_programs()))


def megabytes(site: Path, *folders: str) -> str:
    """The size of folders of a site."""
    paths = [path for folder in folders for path in (site / folder).rglob("*") if path.is_file()]
    return f"{sum(path.stat().st_size for path in paths) / 1e6:.1f}"


def fill(page: Path, **values: str) -> None:
    """Write values into a page, each where its name stands in braces."""
    text = page.read_text(encoding="utf-8")
    for name, value in values.items():
        text = text.replace(f"{{{name}}}", value)
    files.write(page, text)


def fill_pages(site: Path, with_lessons: bool, ran: set[str]) -> None:
    """Write what the pages say of sizes and of lessons, of which they are silent without them.
    ran: names of the lessons that were run beforehand."""
    played, learned = ("pyodide", "wheels", "playground"), ("pyodide", "wheels", lessons.FOLDER)
    page = site / "index.html"
    if with_lessons:
        fill(site / "lessons" / "index.html",
             lessons=lessons.links(ran), megabytes=megabytes(site, *learned))  # fmt: skip
    else:
        files.write(page, OF_LESSONS.sub("", page.read_text(encoding="utf-8")))
    fill(page, challenges=str(sum(bool(one["check"]) for one in programs.all_programs())),
         count=str(len(lessons.LESSONS)), megabytes=megabytes(site, *played),
         lessons=megabytes(site, *learned))  # fmt: skip


def build(
    site: Path, source: Path, folder: Path, compiled: bool, with_lessons: bool, pages: Path | None
) -> dict:
    """Write all files into a folder; what its lock.json says."""
    (site / "pyodide").mkdir()
    for name in pyodide.PINNED["files"]:
        shutil.copyfile(source / name, site / "pyodide" / name)
    (site / "wheels").mkdir()
    info = json.loads((source / pyodide.LOCK).read_text(encoding="utf-8"))["info"]
    with tempfile.TemporaryDirectory() as work:
        own = wheels.own(Path(work), site / "wheels", source if compiled else None)
    depends = wheels.gathered([own], [folder], site / "wheels", info["python"])
    told = [wheels.package(site / "wheels" / name, names) for name, names in depends.items()]
    packages = {package["name"]: package for package in told}
    if with_lessons:
        lessons.build(site, folder, info, packages)
    copy_pages(site)
    why = editor.bundled(site / "playground")
    if why is not None:
        click.echo(f"The playground has a plain text area for an editor: {why}", err=True)
    fill_pages(site, with_lessons, lessons.copy_ran(site, pages) if pages else set())
    lock = {"info": info, "packages": packages, "files": all_files(site)}
    files.write(site / LOCK, json.dumps(lock, indent=1).encode())
    return lock


def replace(old: Path, new: Path) -> None:
    """Put a new site in the place of an old one."""
    shutil.rmtree(old, ignore_errors=True)
    new.rename(old)


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--pyodide", "source", type=FOLDER,
              help=f"The folder of npm's {pyodide.PACKAGE}; else it is fetched, once.")  # fmt: skip
@click.option("--wheels", "folder", type=FOLDER,
              help="NumPy and MarkupSafe for it, a folder; else they are fetched.")  # fmt: skip
@click.option("--out", type=NEW_FOLDER, default="site",
              show_default=True, help="The site; an older one is replaced.")  # fmt: skip
@click.option("--compiled/--sources", default=shutil.which("node") is not None,
              help="Bytecode too, which Node.js makes, so that it starts sooner.")  # fmt: skip
@click.option("--lessons/--no-lessons", "with_lessons", default=lessons.can_be_built(),
              help="The lessons too, by JupyterLite's builder: pip install '.[site]'.")  # fmt: skip
@click.option("--pages", type=FOLDER,
              help="A folder with pages of lessons that were run: make notebooks.")  # fmt: skip
def main(source, folder, out, compiled, with_lessons, pages):
    """Build minifp's site: the playground, the lessons and the explorables, as static files.

    \b
    Example:
      python scripts/build_site.py --out site
    """
    if out.exists() and any(out.iterdir()) and not (out / LOCK).is_file():
        raise click.ClickException(f"{out} holds something else than a site: name another folder")
    if pages and not with_lessons:
        raise click.ClickException(
            "--pages: they are shown with the lessons: pip install '.[site]'"
        )
    if not with_lessons:
        click.echo("The site will have no lessons.", err=True)
    source = pyodide.found(source)
    folder = folder or pyodide.packages(FETCHED, source)
    fresh = out.with_name(f"{out.name}.new")
    with files.new_folder(fresh) as site:
        lock = build(site, source, folder, compiled, with_lessons, pages)
    replace(out, fresh)
    for name, told in sorted(lock["packages"].items()):
        click.echo(f"{name} {told['version']}  {told['bytes'] / 1e6:.2f} MB")
    click.echo(f"{out}: {sum(f['bytes'] for f in lock['files'].values()) / 1e6:.1f} MB")


if __name__ == "__main__":
    sys.exit(main())
