"""What the playground shows of a run that trains: where its numbers lie, and a scale that moves."""

import pytest
from in_playground import fits_a_phone, is_ready, playground, run, write

from minifp.report.words import share_text as percent
from minifp.report.words import superscript
from minifp.scope.observed import KINDS

pytestmark = [pytest.mark.nightly, pytest.mark.slow, pytest.mark.site]

# Products and sums of few bits, the same on all machines; the last step is looked at.
PROGRAM = """
import minifp as fp
with fp.precision("mixed"):
    model = fp.nn.Linear(40, 3, bias=False)
    optimizer = fp.MixedOptimizer(fp.optim.SGD(model.parameters(), lr=2.0**-3), loss_scale=2.0**8)
with fp.no_grad():
    model.weight.copy_(fp.ones(3, 40) * 0.5)
x = fp.tensor([[2.0 ** -n for n in range(40)]])
with fp.microscope(model, optimizer, every=1) as scope:
    for _ in range(2):
        optimizer.minimize(model(x).float().sum())
seen = scope.steps[1]
"""
LONG = """
import minifp as fp
with fp.precision("mixed"):
    w = fp.nn.Linear(4, 1)
    optimizer = fp.MixedOptimizer(fp.optim.SGD(w.parameters(), lr=1e-6), loss_scale={scale})
scales = []  # until the page's slider was moved
for n in range(100000):
    scales.append(optimizer.minimize(w(fp.ones(1, 4)).float().sum()).scale_before)
    if n > 20 and len(set(scales)) > 1:
        break
print(n > 20, scales[0], scales[-1])
"""


def shown(page):
    page.locator("#glance table").wait_for()
    rows = [row.locator("td").all_inner_texts() for row in page.locator("#glance tbody tr").all()]
    return [column[1:-1] for column in zip(*rows)][1:]  # without heads, formats, and Inf or NaN


def expected(scope, scale):
    seen = scope.steps[1]
    for kind in KINDS:
        h, shift = seen.total(kind), scale - seen.shift if "gradients" in kind else 0
        counts = h.flushed(shift), h.subnormal(shift), h.overflowing(shift)
        yield [f"{h.total:,}", percent(h.zeros, h.total), *(percent(n, h.nonzero) for n in counts)]


def test_the_numbers_are_those_that_minifp_counts_elsewhere(page):
    names: dict = {}
    exec(PROGRAM, names)
    run(page, PROGRAM)
    for scale in (8, -4, 20):
        page.locator("#scale input").fill(str(scale))
        page.locator("#glance h2", has_text=f"S = {superscript(scale)}").wait_for()
        rows = [[*column] for column in shown(page)]
        assert rows == [*expected(names["scope"], scale)]
    assert rows[3][2:5] != ["0", "0", "0"]  # something is lost
    label = page.locator("#glance svg").nth(3).get_attribute("aria-label")
    assert "from 2⁻²⁴ to 65504" in label and rows[3][2] in label


DYNAMIC = "fp.DynamicLossScale(2.0**8, growth_interval=10**9)"  # which does not move by itself


@pytest.mark.parametrize("scale", [DYNAMIC, "None"])
def test_the_slider_changes_the_scale_of_the_program_that_runs(page, scale):
    check_slider(page, scale)


def test_it_does_so_too_where_the_page_shares_memory(browser, address):
    with playground(browser, address) as page:
        is_ready(page)
        page.evaluate("navigator.serviceWorker.ready.then(() => true)")
        page.reload()
        is_ready(page)
        assert page.evaluate("crossOriginIsolated")
        check_slider(page, DYNAMIC)


def check_slider(page, scale):
    """A program that ends when its loss scale is another one ends as the slider has been moved."""
    write(page, LONG.format(scale=scale))
    page.click("#run")
    page.locator("#scale:not([hidden]) input").wait_for()
    page.locator("#scale input").focus()
    start = int(page.locator("#scale input").input_value())
    page.keyboard.press("ArrowRight")
    is_ready(page, "Done")
    assert page.inner_text("#output") == f"True {2.0**start} {2.0 ** (start + 1)}\n"
    assert f"S = {superscript(start + 1)}" in page.inner_text("#scale p")
    told = page.locator("#scale input").get_attribute("aria-valuetext")
    assert told == f"2 to the power of {start + 1}"


def test_a_scale_that_the_rule_excludes_is_refused_and_the_run_stops_when_asked(page):
    assert not page.evaluate("crossOriginIsolated")  # messages arrive all the same
    write(page, LONG.format(scale=DYNAMIC))
    page.click("#run")
    page.locator("#scale:not([hidden]) input").wait_for()
    page.locator("#scale input").fill("30")
    page.locator("#scale p", has_text="did not take 2³⁰").wait_for()
    page.click("#stop")
    is_ready(page, "Stopped")
    assert "begun anew" not in page.inner_text("#status")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_a_phone(page, scheme):
    page.select_option("#examples", "find_scale")
    run(page, f"{PROGRAM}\nprint('x' * 300)\nfp.explain(0.1)")
    fits_a_phone(page, scheme)
