"""A headless Chromium, where there is one, and what is asked of every page in it."""

import shutil

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")


@pytest.fixture(scope="module")
def browser():
    """The browser, as long as its file: it runs an event loop in which no other may be run."""
    playwright = pytest.importorskip("playwright.sync_api")
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip("no chromium: apt-get install chromium")
    with playwright.sync_playwright() as engine:
        held = engine.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield held
        held.close()


@pytest.fixture
def opened(browser):
    """opened(path, width, scheme, ...) -> the page, offline. What its console says is an error."""
    pages, said = [], []

    def open_page(path, width=1440, scheme="light", **more):
        page = browser.new_page(
            viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True, **more
        )
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.goto(path.as_uri())
        pages.append(page)
        return page

    yield open_page
    for page in pages:
        page.close()
    assert said == []


def check_accessible(page):
    """Raise AssertionError if the page, unfolded, is wider than its window or axe-core objects."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    page.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
    page.evaluate("new Promise(requestAnimationFrame)")
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]
    found = axe.Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    assert not [(v["id"], [node["target"] for node in v["nodes"]]) for v in found]
