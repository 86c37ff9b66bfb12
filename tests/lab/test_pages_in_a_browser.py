"""The pages of comparisons in a real browser: what is chosen is what is drawn and said, exactly."""

import re

import numpy as np
import pytest
from in_browser import check_accessible
from test_comparison_page import four, made, made_run, with_dial

from minifp.lab.demo import PARTS
from minifp.lab.page import demo_document
from minifp.report import line_drawing, rendering
from minifp.saving import files

pytestmark = pytest.mark.nightly
SIZES = [(1440, "light"), (390, "dark")]
BASE, MIXED = "float32", "mixed"


@pytest.fixture(scope="module")
def comparison():
    """Five seeds of two precisions and a control, with distances, and one that is lost."""
    runs = []
    for seed in range(5):
        runs += [
            made_run(BASE, seed, 96 + 0.3 * seed),
            made_run(MIXED, seed, 96.05 + 0.3 * seed, scale=2.0**16, skipped=(3, 4)),
            made_run("float32@ulp", seed, 96 + 0.2 * seed),
            made_run("mixed,loss_scale=off", seed, lost_at=20 + seed),
        ]
    for run in runs:
        noise = np.random.default_rng([run.seed, len(run.precision)])
        run.history["loss"] = (np.array(run.history["loss"]) * noise.uniform(0.9, 1, 40)).tolist()
        steps = np.array([1, 20, 40])
        run.snapshots = {"steps": steps, "weights": 1 + 0.1 * noise.normal(size=(3, 8))}
    return made(*runs)


@pytest.fixture(scope="module")
def written(comparison, tmp_path_factory):
    return comparison.report(tmp_path_factory.mktemp("pages") / "report.html")


def losses(comparison, arm):
    return np.array([run.history["loss"] for run in comparison.runs_of(arm)])


def told(page, panel="loss"):
    spans = page.locator(f'[data-panel="{panel}"] .chart-said span').all_text_contents()
    arms = [
        re.match(r"(.+?) ([−\d].*|none)", text.replace(", seed ", "#")).groups()
        for text in spans[1:]
    ]
    return spans[0], {arm: numbers(rest) for arm, rest in arms}


def numbers(text):
    text = text.replace("−", "-").replace("·10⁻⁴", "e-4").replace("·10⁻⁵", "e-5")
    return [float(found) for found in re.findall(r"-?\d+(?:\.\d+)?(?:e-\d)?", text)]


def button(page, what, name):
    return page.locator(f'[data-choose="{what}"]').get_by_text(name, exact=True)


def drawn(page, panel):
    return page.locator(f'[data-panel="{panel}"] canvas').evaluate("c => c.toDataURL()")


def settle(page):
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


@pytest.mark.parametrize(("width", "scheme"), SIZES)
def test_axe_has_nothing_against_any_page_and_all_fit(opened, written, tmp_path, width, scheme):
    check_accessible(opened(written, width, scheme, bypass_csp=True))
    whole = demo_document.document([*zip(PARTS, (four(), with_dial()))])
    demo = files.write(tmp_path / "demo.html", rendering.page(whole))
    check_accessible(opened(demo, width, scheme, bypass_csp=True))


def test_values_means_and_intervals_are_told_at_the_cursor(opened, written, comparison):
    page = opened(written)
    page.locator(".charts-smooth").evaluate(MOVE, 0)
    page.locator('[data-panel="loss"] .chart-plot').focus()
    page.keyboard.press("Home")
    for _ in range(9):
        page.keyboard.press("ArrowRight")
    step, found = told(page)
    steps = np.arange(1.0, 41)
    band = line_drawing.band([(steps, line) for line in losses(comparison, MIXED)], 2.1318468)
    assert step == "step 10"
    assert found[MIXED] == pytest.approx([band.mean[9], band.low[9], band.high[9]], rel=1e-3)
    assert [*found][:3] == [BASE, MIXED, "float32@ulp"]
    assert told(page, "gradients")[0] == told(page, "scale")[0] == "step 10"  # the same cursor
    said = page.locator('[data-panel="loss"] [role="status"]', has_text="step 10")
    said.wait_for(state="attached")


MOVE = "(slider, to) => { slider.value = to; slider.dispatchEvent(new Event('input')); }"


def test_smoothing_does_what_it_says(opened, written, comparison):
    page = opened(written)
    page.locator(".charts-smooth").evaluate(MOVE, 3)
    settle(page)
    assert "time constant 5 steps" in page.locator(".charts-smooth-said").inner_text()
    weights = np.exp(-np.arange(40)[::-1] / 5)
    smooth = losses(comparison, BASE) @ weights / weights.sum()
    assert told(page)[0] == "step 40"
    assert told(page)[1][BASE][0] == pytest.approx(smooth.mean(), rel=1e-3)


def test_arms_and_seeds_are_isolated_by_click_and_by_key(opened, written, comparison):
    page = opened(written)
    page.locator(".charts-smooth").evaluate(MOVE, 0)
    button(page, "arms", MIXED).click()
    settle(page)
    assert [*told(page)[1]] == [MIXED]
    button(page, "arms", BASE).focus()
    page.keyboard.press("Shift+Enter")  # one more
    settle(page)
    assert [*told(page)[1]] == [BASE, MIXED]
    button(page, "seeds", "3").focus()
    page.keyboard.press("Enter")
    settle(page)
    assert told(page)[1][MIXED] == pytest.approx([losses(comparison, MIXED)[3, -1]], rel=1e-3)
    assert button(page, "seeds", "3").get_attribute("aria-pressed") == "true"
    assert button(page, "seeds", "2").get_attribute("aria-pressed") == "false"


def test_the_difference_is_paired_by_seed(opened, written, comparison):
    page = opened(written)
    page.locator(".charts-smooth").evaluate(MOVE, 0)
    page.locator(".charts-minus").check()
    page.locator(".charts-single").check()
    button(page, "arms", MIXED).click()
    settle(page)
    gaps, found = (losses(comparison, MIXED) - losses(comparison, BASE))[:, -1], told(page)[1]
    assert found[MIXED][0] == pytest.approx(gaps.mean(), rel=1e-3)
    assert [found[f"{MIXED}#{seed}"][-1] for seed in range(5)] == pytest.approx(gaps, rel=1e-3)


def test_zoom_is_shared_between_panels_and_undone(opened, written):
    page = opened(written)
    whole, all_of_it = drawn(page, "gradients"), page.locator(".charts-all").first
    plot = page.locator('[data-panel="loss"] .u-over')
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    page.mouse.move(box["x"] + 60, box["y"] + 50)
    page.mouse.down()
    page.mouse.move(box["x"] + 180, box["y"] + 60)
    page.mouse.up()
    settle(page)
    assert all_of_it.is_enabled() and drawn(page, "gradients") != whole
    plot.dblclick()
    settle(page)
    assert all_of_it.is_disabled()
    page.locator('[data-panel="metric"] .chart-plot').focus()
    page.keyboard.press("+")
    settle(page)
    assert all_of_it.is_enabled()
    page.keyboard.press("0")
    settle(page)
    assert all_of_it.is_disabled()


def test_the_switch_changes_colours_and_print_is_static_and_light(opened, written):
    page = opened(written)
    before, colours = drawn(page, "loss"), page.locator(".theme")
    colours.click()
    colours.click()
    settle(page)
    assert colours.inner_text() == "Colours: dark" and drawn(page, "loss") != before
    page.emulate_media(media="print")
    assert page.locator('[data-panel="loss"] .chart-static svg').is_visible()
    assert not page.locator('[data-panel="loss"] .chart-live').is_visible()
    assert page.locator('[data-panel="weights"] .chart-live').is_visible()  # it has no other
    assert button(page, "arms", MIXED).is_visible()  # the legend
    background = "getComputedStyle(document.querySelector('figure')).backgroundColor"
    assert page.evaluate(background) == "rgb(255, 255, 255)"


def test_without_scripts_the_pictures_and_the_tables_are_there(opened, written):
    page = opened(written, java_script_enabled=False)
    assert page.locator('[data-panel="loss"] .chart-static svg').is_visible()
    assert page.locator('[data-panel="weights"] table').count() == 1
    assert not page.locator(".charts-smooth").is_visible()
    assert button(page, "arms", MIXED).is_visible()


# What Jupyter brings along, and what made tables of other colours unreadable.
HOST = """<!doctype html><html lang="en"><title>host</title><style>
body {{ background: {paper}; color: {ink}; }} table {{ font-size: 30px; }}
tbody tr:nth-child(odd) {{ background: {stripe}; }}
</style><body data-jp-theme-light="{light}">{shown}</body></html>"""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_card_takes_the_notebooks_theme_whatever_the_system_has(opened, tmp_path, theme):
    dark = theme == "dark"
    paper, ink, stripe = ("#111", "#eee", "#222") if dark else ("#fff", "#111", "#eee")
    light, path = str(not dark).lower(), tmp_path / "notebook.html"
    shown = four()._repr_html_()
    path.write_text(HOST.format(**locals()), encoding="utf-8")
    page = opened(path, 1000, "light" if dark else "dark")
    page.get_by_text("Open the full page").click()
    frame = page.frame_locator("iframe")
    frame.locator(f'body[data-theme="{theme}"]').wait_for()
    assert frame.locator(".charts.awake").count() == 2
    sizes = frame.locator("td").evaluate_all("all => all.map((c) => getComputedStyle(c).fontSize)")
    assert "30px" not in sizes
