"""The lessons in a browser: JupyterLite runs one to its end, and asks nobody: web/README.md."""

import hashlib
import json
import re
import time
from pathlib import Path

import pytest
from in_browser import check_accessible
from test_explorables import served

from minifp.teach import glossary
from minifp.teach.lessons import LESSONS

pytestmark = [pytest.mark.nightly, pytest.mark.slow, pytest.mark.site]

PATHS = sorted((Path(__file__).resolve().parents[2] / "notebooks").glob("*.ipynb"))
FIRST = "01-sixteen-bits.ipynb"


@pytest.fixture(scope="module", autouse=True)
def builder():
    for name in ("jupyterlite_core", "jupyterlite_pyodide_kernel"):
        pytest.importorskip(name, reason='JupyterLite\'s builder is missing: pip install ".[site]"')


@pytest.fixture
def page(browser):
    """A page: what it or its console reports as an error, and each address elsewhere that anything
    asks for, is one here. (The browser itself asks for /favicon.ico.)"""
    context = browser.new_context(viewport={"width": 360, "height": 740})
    page, said = context.new_page(), []
    context.on("request", lambda r: r.url.startswith(("http://127.0.0.1:", "blob:", "data:"))
               or said.append(r.url))  # fmt: skip
    page.on("console", lambda m: m.type == "error" and "/favicon.ico" not in m.location["url"]
            and said.append(m.text))  # fmt: skip
    page.on("pageerror", lambda error: said.append(str(error)))
    yield page
    context.close()
    assert said == []


def enter(page, address):
    """Open the lessons' first page, and wait until the service worker answers for all others."""
    page.goto(f"{address}/lessons/")
    page.evaluate("""new Promise((go) => {
        const workers = navigator.serviceWorker;  // asked once: the page forbids to poll by eval
        workers.addEventListener("controllerchange", go);
        if (workers.controller) go();
    }).then(() => {})""")


def follow(page, lesson):
    """Open a notebook from there; its code cells."""
    page.locator(f'a[href$="={lesson}"]').click()
    cells = page.locator(".jp-Notebook .jp-CodeCell")
    cells.first.wait_for(timeout=60_000)
    return cells


def run_all(page, cells):
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_text("Run All Cells", exact=True).click()
    # A folded cell has an empty prompt.
    began, prompts = time.perf_counter(), cells.locator(".jp-InputPrompt")
    while not all(text.strip("[]:").isdigit() for text in prompts.all_text_contents() if text):
        assert time.perf_counter() - began < 300, prompts.all_text_contents()
        page.wait_for_timeout(500)
    print(f"\nrun in {time.perf_counter() - began:.1f} s")
    return [cell.locator(".jp-Cell-outputWrapper").inner_text() for cell in cells.all()]


def guess(page, which, number):
    page.get_by_placeholder(re.compile("a number|percent")).nth(which).fill(number)
    page.get_by_role("button", name="Guess", exact=True).nth(which).click()
    page.get_by_text("You say:").first.wait_for()


def test_a_lesson_runs_to_its_end_and_asks_nobody_else(page, address):
    enter(page, address)
    shown = run_all(page, follow(page, FIRST))
    guess(page, 0, "2000")
    page.get_by_text("7167 of the 65504 whole numbers").wait_for(timeout=60_000)
    assert "Numbers below the smallest normal one: it is not written yet" in shown[-1]
    assert page.locator(".jp-RenderedImage img").evaluate("image => image.naturalWidth") > 100
    assert page.locator('.jp-OutputArea [data-mime-type*="stderr"]').count() == 0
    assert page.locator('.jp-OutputArea [data-mime-type*="error"]').count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    with page.context.expect_page() as opened:
        page.get_by_role("link", name="glossary", exact=True).click()
    opened.value.get_by_role("heading", name="Accumulate").wait_for(timeout=60_000)


def test_guesses_outlast_a_kernel_and_two_notebooks_at_once_lose_none(page, address):
    other = page.context.new_page()
    for one in (page, other):
        enter(one, address)
        assert "runs in your browser" in run_all(one, follow(one, FIRST))[0]
    guess(page, 0, "2000")
    guess(other, 1, "40")
    page.reload()
    shown = "".join(run_all(page, page.locator(".jp-Notebook .jp-CodeCell")))
    assert "You say: 2,000." in shown and "You say: 40 percent." in shown


def test_lessons_that_are_kept_need_no_network(page, site):
    with served(site) as address:
        enter(page, address)
        check_accessible(page)
        page.click("#keep")
        page.locator("#status", has_text="Kept").wait_for(timeout=120_000)
    page.reload()  # the server is gone
    assert "it is not written yet" in run_all(page, follow(page, FIRST))[-1]


def test_every_lesson_is_listed_with_its_question_and_every_notebook_is_there(page, site, address):
    page.goto(f"{address}/lessons/")
    links = page.locator("li > a").evaluate_all("links => links.map((a) => a.href)")
    assert [link.partition("?path=")[2] for link in links] == [f"{name}.ipynb" for name in LESSONS]
    for text, lesson in zip(page.locator("li").all_inner_texts(), LESSONS.values()):
        assert f"{lesson.title} {lesson.question}" in text and " installed · " in text
    for path in PATHS:
        there = (site / "jupyter" / "files" / path.name).read_text(encoding="utf-8")
        assert there == glossary.beside(path.read_text(encoding="utf-8"), glossary.NOTEBOOK)


def test_all_packages_of_the_kernel_are_in_its_lock(site):
    wheels = site / "jupyter" / "wheels"
    lock = json.loads((wheels / "pyodide-lock.json").read_text(encoding="utf-8"))
    assert {"minifp", "numpy", "ipython", "piplite", "matplotlib"} <= {*lock["packages"]}
    for package in lock["packages"].values():
        content = (wheels / package["file_name"]).read_bytes()
        assert hashlib.sha256(content).hexdigest() == package["sha256"]
        assert {*package["depends"]} <= {*lock["packages"]}
