"""The playground's editor: CodeMirror, bundled by esbuild, both from npm, held to the hashes of
web/editor/package-lock.json."""

import shutil
from pathlib import Path

import click
from platformdirs import user_cache_path

from website.pyodide import ROOT, called, sha256

SOURCE = ROOT / "web" / "editor"
PINS = ("package.json", "package-lock.json")
BUNDLE = "codemirror.js"
LICENSES = "codemirror.LICENSE.txt"


def bundled(folder: Path) -> str | None:
    """Put the editor into a page's folder. None; or why it cannot be: the plain one stays."""
    try:
        modules = installed()
        esbuild, source = str(modules / ".bin" / "esbuild"), str(modules.parent / BUNDLE)
        out = f"--outfile={folder / BUNDLE}"
        called(esbuild, source, "--bundle", "--minify", "--format=esm", "--log-level=warning", out)
    except click.ClickException as error:
        return error.message
    (folder / LICENSES).write_text(licenses(modules), encoding="utf-8", newline="\n")
    return None


def installed() -> Path:
    """The folder of the packages, in the user's cache. Raises ClickException without npm."""
    cache = user_cache_path("minifp") / f"editor-{sha256(SOURCE / PINS[1])[:16]}"
    modules = cache / "node_modules"
    if not (modules / ".bin" / "esbuild").exists():
        cache.mkdir(parents=True, exist_ok=True)
        for name in PINS:
            shutil.copyfile(SOURCE / name, cache / name)
        called("npm", "ci", "--silent", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix",
               str(cache))  # fmt: skip
    shutil.copyfile(SOURCE / BUNDLE, cache / BUNDLE)
    return modules


def licenses(modules: Path) -> str:
    """The licences of what is in the bundle."""
    found = [path for path in sorted(modules.glob("**/LICENSE")) if "esbuild" not in str(path)]
    parts = [f"{path.parent.relative_to(modules)}\n\n{path.read_text('utf-8')}" for path in found]
    return "\n\n".join(parts)
