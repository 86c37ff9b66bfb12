"""The explorables: their arithmetic is minifp's, and each works in a page of another origin."""

import contextlib
import functools
import http.server
import threading
from pathlib import Path

import numpy as np
import pytest

from minifp.numerics.format_codes import codes_of, values_of
from minifp.numerics.number_format import FORMATS

pytestmark = pytest.mark.nightly
FOLDER = Path(__file__).resolve().parents[2] / "web" / "explorables"
ELEMENTS = {m: f"minifp-{m}" for m in ("bits", "update", "sums", "histograms", "bathtub")}
NAMES = ("float16", "bfloat16", "float8_e5m2", "float8_e4m3fn", "float6_e3m2", "float4_e2m1")


class Handler(http.server.SimpleHTTPRequestHandler):
    extensions_map = {
        **http.server.SimpleHTTPRequestHandler.extensions_map,
        ".js": "text/javascript",
    }

    def end_headers(self):
        self.send_header("Access-Control-Allow-Origin", "*")
        super().end_headers()

    def log_message(self, *_):
        """Nothing."""


@contextlib.contextmanager
def served(folder):
    handler = functools.partial(Handler, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture(scope="module")
def tab(browser, tmp_path_factory):
    """A page of one origin that has the explorables of another, and what its console said."""
    folder = tmp_path_factory.mktemp("page")
    with served(FOLDER) as address, served(folder) as own:
        script = '<script type="module" src="{}/{}.js"></script>'
        modules = "".join(script.format(address, m) for m in ELEMENTS)
        elements = "".join(f"<{name}></{name}>" for name in ELEMENTS.values())
        (folder / "index.html").write_text(
            "<!doctype html><html lang=en><link rel=icon href=data:,><title>t</title>"
            f"<style>p {{ color: red }}</style><main><h1>A page</h1>{elements}</main>{modules}",
            encoding="utf-8",
        )
        page, said = browser.new_page(viewport={"width": 360, "height": 740}), []
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.goto(own)
        page.wait_for_function("customElements.get('minifp-sums') !== undefined")
        for name in ("minifp-histograms", "minifp-bathtub"):
            page.locator(f"{name} h2").wait_for()
        page.address, page.said, page.folder = address, said, folder
        yield page
        page.close()


@pytest.mark.parametrize("name", NAMES)
def test_bits_are_read_and_written_as_minifp_does(tab, name):
    format = FORMATS[name]
    codes = np.arange(2**format.bits)
    ours = values_of(codes, format).astype(np.float64)
    theirs, back = tab.evaluate(
        """async ([address, name, n]) => {
            const m = await import(address + '/formats.js'), f = m.FORMATS[name];
            const values = Array.from({length: n}, (_, code) => m.valueOf(code, f));
            return [values, values.map((v) => m.codeOf(v, f))];
        }""",
        [tab.address, name, len(codes)],
    )
    theirs = np.array(theirs, np.float64)
    np.testing.assert_array_equal(theirs, ours)
    assert (np.signbit(theirs) == np.signbit(ours))[~np.isnan(ours)].all()
    assert (np.array(back) == codes)[~np.isnan(ours)].all()


@pytest.mark.parametrize("name", NAMES)
def test_numbers_are_rounded_as_minifp_does(tab, name):
    format = FORMATS[name]
    exact = values_of(np.arange(2 ** (format.bits - 1)), format).astype(np.float64)
    exact = exact[np.isfinite(exact)]
    middle = (exact[1:] + exact[:-1]) / 2
    beyond = format.max * np.array([1 + 2.0**-20, 1.01, 1.5, 4, 1e9, np.inf])
    around = [np.nextafter(middle, 0), np.nextafter(middle, np.inf)]
    x = np.concatenate([exact, middle, *around, beyond])
    x = np.concatenate([x, -x])
    ours = values_of(codes_of(x, format), format).astype(np.float64)
    theirs = tab.evaluate(
        """async ([address, name, x]) => {
            const m = await import(address + '/formats.js');
            return x.map((v) => m.round(v, m.FORMATS[name]));
        }""",
        [tab.address, name, x.tolist()],
    )
    np.testing.assert_array_equal(np.array(theirs, np.float64), ours)


def test_a_bit_an_update_and_sums_say_what_became_of_the_number(tab):
    bits = tab.locator("minifp-bits")
    buttons, said = bits.locator(".row button"), bits.locator("tbody")
    assert buttons.count() == 16 and "0.0999755859375" in said.inner_text()
    buttons.nth(0).click()  # a bit that is clicked turns over
    assert "−0.0999755859375" in said.inner_text()
    bits.locator("input").fill("3e-8")
    assert "5.96046447754·10⁻⁸" in said.inner_text() and "subnormal" in said.inner_text()
    bits.locator("select").select_option("bfloat16")
    assert "normal" in said.inner_text() and "subnormal" not in said.inner_text()
    update = tab.locator("minifp-update")
    step = update.locator("input").nth(1)
    for power, told in (("-20", "lost"), ("-10", "kept")):
        step.fill(power)
        assert told in update.locator("tbody tr").nth(1).inner_text()
    rows = tab.locator("minifp-sums tbody tr")
    assert "2,048" in rows.nth(1).inner_text() and "5,000" in rows.nth(2).inner_text()


# Cells and texts of pictures that leave their element, and cells of one word that have two lines.
BROKEN = """[...document.querySelectorAll("main > *")].flatMap(({shadowRoot: root}) =>
    [...root?.querySelectorAll("td, th, text") ?? []].filter((one) => {
        const range = new Range(), out = root.host.getBoundingClientRect();
        range.selectNodeContents(one);
        const {left, right, width, height} = range.getBoundingClientRect();
        const broken = height > 30 && !one.textContent.includes(" ");
        return width && (left < out.left || right > out.right || broken);
    }).map(({textContent}) => textContent))"""


@pytest.mark.parametrize("width", [360, 1280])
def test_they_fit_any_page_and_say_nothing_wrong(tab, width):
    tab.set_viewport_size({"width": width, "height": 740})
    for scheme in ("light", "dark"):
        tab.emulate_media(color_scheme=scheme)
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
    assert (tab.said, tab.evaluate(BROKEN)) == ([], [])
