"""The lessons of a site: JupyterLite, whose kernel is the site's own Pyodide with minifp in it.

JupyterLite's own builder writes it (the extra `site`). Packages come from a lock like the
playground's, all before the first cell; no other index is asked.
"""

import importlib.util
import json
import shutil
import sys
import tempfile
from pathlib import Path

import click
from markupsafe import Markup
from packaging.requirements import Requirement

from minifp.saving import files
from minifp.teach import glossary
from minifp.teach.lessons import LESSONS, Lesson
from website import wheels
from website.pyodide import ROOT, called

FOLDER = "jupyter"  # of the site
PAGES = ROOT / "web" / "lessons"
SECONDS = PAGES / "seconds.json"  # that lessons take in a browser, with FAST=1: web/README.md
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
PAGE_NAMES = [f"{path.stem}.html" for path in (*NOTEBOOKS, glossary.path())]
RAN = "ran"  # the folder of lessons that were run
KERNEL = "@jupyterlite/pyodide-kernel-extension"
EXTENSIONS = (KERNEL, "@jupyter-widgets/jupyterlab-manager")
# What the kernel would otherwise look for in its index, and widgets; matplotlib has compiled parts.
PACKAGES = "micropip piplite ipykernel pyodide-kernel comm jedi ipython ipywidgets".split()
DRAWING = "matplotlib"
# All cells are drawn, not only those in sight: the browser finds words in them, and prints them.
SETTINGS = {"@jupyterlab/notebook-extension:tracker": {"windowingMode": "none"}}
LOCK = "pyodide-lock.json"
# The site's service worker keeps these pages: with a second one, which has the narrower scope, it
# would not. And the icons of tabs are files that JupyterLite has not.
DISABLED = [
    "@jupyterlite/application-extension:service-worker-manager",
    "@jupyter-notebook/notebook-extension:tab-icon",
]


def can_be_built() -> bool:
    """Whether JupyterLite's builder is installed."""
    return all(map(importlib.util.find_spec, ("jupyterlite_core", "jupyterlite_pyodide_kernel")))


def build(site: Path, folder: Path, info: dict, packages: dict[str, dict]) -> None:
    """Write JupyterLite into a site. folder: with wheels; info, packages: of the site's lock."""
    lite = site / FOLDER
    with tempfile.TemporaryDirectory() as work:
        extra = added(Path(work), folder, info["python"], site / "wheels")
        configure(Path(work), lite, [*packages, *extra])
        called(sys.executable, "-m", "jupyterlite_core", "build", folder=Path(work))
        (Path(work) / "wheels").rename(lite / "wheels")
    shared = {name: told | {"file_name": f"../../wheels/{told['file_name']}"}
              for name, told in packages.items()}  # fmt: skip
    lock = {"info": info, "packages": shared | extra}
    (lite / "wheels" / LOCK).write_text(json.dumps(lock, indent=1), encoding="utf-8")
    shutil.copytree(PAGES, site / "lessons", ignore=shutil.ignore_patterns("*.md", "*.json"))


def links(ran: set[str]) -> Markup:
    """What the first page has of each lesson, the overture first; ran: names of those that were run
    beforehand."""
    seconds = json.loads(SECONDS.read_text(encoding="utf-8"))
    return Markup("\n").join(entry(one, seconds[one.name], ran) for one in LESSONS.values())


def entry(lesson: Lesson, seconds: float | None, ran: set[str]) -> Markup:
    """A lesson with its question and how long it takes. seconds: in a browser, in short; None for
    one whose end was not waited for."""
    there = f"../{FOLDER}/notebooks/index.html?path={lesson.name}.ipynb"
    here = "long here, better installed" if seconds is None else f"{duration(seconds)} here"
    run = Markup(' · <a href="{}/{}.html">as it ran</a>').format(RAN, lesson.name)
    return Markup(
        '<li><a href="{}">{}</a> {}<br>\n<span class="muted">{} installed · {}{}</span></li>'
    ).format(
        there, lesson.title, lesson.question, duration(60 * lesson.minutes), here,
        run if lesson.name in ran else "",
    )  # fmt: skip


def duration(seconds: float) -> str:
    """Seconds in tens up to a minute, then minutes."""
    if seconds < 55:
        return f"{max(1, round(seconds / 10)) * 10} s"
    return f"{round(seconds / 60)} min"


def copy_ran(site: Path, pages: Path) -> set[str]:
    """Put the pages of lessons that were run (`make notebooks`) into a site; their names. Raises
    ClickException where there is none."""
    found = [path for path in map(pages.joinpath, PAGE_NAMES) if path.is_file()]
    if not found:
        raise click.ClickException(f"{pages} holds no page of a lesson: make notebooks writes them")
    (site / "lessons" / RAN).mkdir()
    for path in found:
        shutil.copy(path, site / "lessons" / RAN)
    return {path.stem for path in found}


def added(work: Path, folder: Path, python: str, there: Path) -> dict[str, dict]:
    """Put what the kernel needs beyond the site's wheels into work/wheels; as Pyodide is told."""
    into = work / "wheels"
    into.mkdir()
    wanted = [*PACKAGES]
    if wheels.newest(Requirement(DRAWING), [folder]):
        wanted.append(DRAWING)
    else:
        click.echo(f"{folder} has no {DRAWING}: the lessons will draw no picture", err=True)
    folders = [there, extension(KERNEL) / "static" / "pypi", folder]
    depends = wheels.gathered([*map(Requirement, wanted)], folders, into, python)
    for name in {*depends} & {path.name for path in there.iterdir()}:
        depends.pop(name)
        (into / name).unlink()
    packages = [wheels.package(into / name, names) for name, names in depends.items()]
    return {package["name"]: package for package in packages}


def extension(name: str) -> Path:
    """The folder of one of JupyterLab's extensions. Raises ClickException where there is none."""
    from jupyter_core.paths import jupyter_path

    for folder in map(Path, jupyter_path("labextensions")):
        if (folder / name / "package.json").is_file():
            return folder / name
    raise click.ClickException(f'{name} is not installed: pip install ".[site]"')


def notebooks() -> dict[str, str]:
    """JupyterLite's notebooks by name: the lessons, and the glossary, to which they link."""
    texts = {path.name: path.read_text(encoding="utf-8") for path in (*NOTEBOOKS, glossary.path())}
    cell = {"cell_type": "markdown", "id": "words", "metadata": {}}
    cell["source"] = texts.pop(glossary.NAME)
    lesson = json.loads(texts[NOTEBOOKS[0].name])  # whose kernel it names: else a reader is asked
    texts[glossary.NOTEBOOK] = json.dumps(lesson | {"cells": [cell]})
    return {name: glossary.beside(text, glossary.NOTEBOOK) for name, text in texts.items()}


def configure(work: Path, lite: Path, packages: list[str]) -> None:
    """Write what JupyterLite's builder, and what JupyterLite itself reads."""
    contents = {work / "beside" / name: text for name, text in notebooks().items()}
    files.write_all(contents)
    builder = {
        "lite_dir": str(work),
        "output_dir": str(lite),
        "cache_dir": str(work / "cache"),
        "apps": ["lab", "notebooks", "tree"],
        "contents": [*map(str, contents), str(PAGES / "README.md")],
        "federated_extensions": [str(extension(name)) for name in EXTENSIONS],
        "ignore_sys_prefix": True,
        "no_sourcemaps": True,
        "no_unused_shared_packages": True,
        "no_libarchive": True,
    }
    kernel = {
        "pyodideUrl": "./../lessons/pyodide.mjs",  # which keeps progress
        "disablePyPIFallback": True,
        "loadPyodideOptions": {"lockFileURL": f"wheels/{LOCK}", "packages": packages},
    }
    page = {
        "appName": "minifp's lessons",
        "disabledExtensions": DISABLED,
        "settingsOverrides": SETTINGS,
        "litePluginSettings": {f"{KERNEL}:kernel": kernel},
    }
    (work / "jupyter_lite_config.json").write_text(json.dumps({"LiteBuildConfig": builder}))
    told = {"jupyter-lite-schema-version": 0, "jupyter-config-data": page}
    (work / "jupyter-lite.json").write_text(json.dumps(told))
