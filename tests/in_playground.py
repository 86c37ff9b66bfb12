"""The playground in a headless browser: the site, which is built once, and what is done there."""

import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from in_browser import check_accessible

SCRIPT = Path(__file__).resolve().parents[1] / "scripts" / "build_site.py"
FOLDERS = {"--pyodide": "MINIFP_PYODIDE", "--wheels": "MINIFP_WASM_WHEELS"}


def built(out, *options):
    command = [sys.executable, SCRIPT, "--out", out, *options]
    return subprocess.run([*map(str, command)], capture_output=True, encoding="utf-8")


@pytest.fixture(scope="session")
def folders():
    missing = [name for name in FOLDERS.values() if name not in os.environ]
    if missing:
        pytest.skip(f"{' and '.join(missing)} not set: Pyodide and wheels for it, web/README.md")
    return [part for option, name in FOLDERS.items() for part in (option, os.environ[name])]


@pytest.fixture(scope="session")
def site(folders, tmp_path_factory):
    """The site; printed: what the script said."""
    out = tmp_path_factory.mktemp("web") / "site"
    done = built(out, *folders)
    assert done.returncode == 0, done.stderr
    print(f"\n{done.stdout}")
    return out


@pytest.fixture(scope="session")
def address(site):
    from test_explorables import served

    with served(site) as address:
        yield address


@contextmanager
def playground(browser, address, fragment="", **settings):
    """The playground in a browser of its own. Whatever is asked of elsewhere is an error, as is
    whatever the console says."""
    context = browser.new_context(viewport={"width": 1000, "height": 900}, **settings)
    page = context.new_page()
    watched(page, address)
    page.goto(f"{address}/playground/{fragment}")
    yield page
    assert page.said == []
    context.close()


@pytest.fixture(scope="module")
def page(browser, address):
    with playground(browser, address) as page:
        is_ready(page)
        yield page


def fits_a_phone(page, scheme):
    """What a page shows now is accessible on a phone, in this colour scheme."""
    size = page.viewport_size
    page.set_viewport_size({"width": 360, "height": 740})
    page.emulate_media(color_scheme=scheme)
    page.wait_for_timeout(100)
    check_accessible(page)
    page.set_viewport_size(size)


def watched(page, address):
    """Keep what a page's console says, and what it asks of elsewhere, as page.said."""
    said = page.said = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    here = (address, "blob:", "data:", "about:")
    page.context.on("request", lambda r: r.url.startswith(here) or said.append(r.url))


def is_ready(page, text=""):
    """Wait until a program can be run, and the status has this text."""
    page.locator("#run:enabled").wait_for(timeout=240_000)
    assert text in page.inner_text("#status")


def write(page, program):
    """Put a program into the editor, as one who pastes it."""
    page.focus("#program")
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.press("Delete")
    page.keyboard.insert_text(program)


def written(page):
    lines = page.locator("#program .cm-line").all()
    return "\n".join(x.text_content() for x in lines) if lines else page.input_value("#program")


def run(page, program, text="Done"):
    write(page, program)
    page.click("#run")
    page.wait_for_timeout(50)
    is_ready(page, text)
    return page.inner_text("#output")
