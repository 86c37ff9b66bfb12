"""The explorables of recorded runs: they count as minifp does, and are read by everyone."""

import json

import numpy as np
import pytest
from in_browser import check_accessible
from loading import script
from test_explorables import FOLDER, tab  # noqa: F401 (one is a fixture)

from minifp.numerics.format_codes import codes_of, values_of
from minifp.numerics.number_format import FORMATS
from minifp.report.words import superscript
from minifp.scope.histogram import Histogram
from minifp.scope.observed import KINDS, ObservedStep
from minifp.scope.record import WHAT_IF, Record

SHIFTS = range(-30, 41)  # log2 of the loss scales that there are
pytestmark = pytest.mark.nightly


@pytest.fixture
def embedded(tab):  # noqa: F811
    """embedded(element, run=..., ...) -> one more of a kind, which is taken out in the end."""

    def embed(name, **attributes):
        tab.evaluate(
            """([name, attributes]) => {
                const one = document.createElement(name);
                for (const [key, value] of Object.entries(attributes)) one.setAttribute(key, value);
                one.className = "more";
                document.querySelector("main").append(one);
            }""",
            [name, attributes],
        )
        one = tab.locator(f"main > {name}.more").last
        one.locator("h2, [role=alert]").first.wait_for()
        return one

    yield embed
    tab.evaluate("for (const one of document.querySelectorAll('.more')) one.remove()")


def recorder():
    return script("record_explorables")


def kept(name):
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


def at_edges():
    """Numbers of float32 around where any format begins to lose them at any scale, and others."""
    random = np.random.default_rng(0)
    fractions = np.array([1, 1.75, 1.8125, 1.875, 1.9375, 2 - 2.0**-8, 2 - 2.0**-11], np.float32)
    near = np.concatenate([fractions, np.nextafter(fractions, np.float32(0)), fractions + 2**-22])
    edges = np.ldexp(near, np.arange(-60, 50)[:, None]).ravel()
    others = [0, -0.0, np.inf, -np.inf, np.nan, 2.0**-149, 2.0**127]
    spread = random.normal(0, 1, 2000) * 2.0 ** random.integers(-60, 50, 2000)
    return np.concatenate([edges, -edges, spread, others]).astype(np.float32)


def run_of(x):
    """A run of one step all of whose kinds are these numbers, and its JSON."""
    step = ObservedStep(1)
    for kind in KINDS:
        step.add(kind, "layer", Histogram.of(x))
    about = {"title": "Edges", "about": "Edges.", "arranged": "all.", "seeds": [0]}
    origin = recorder().origin("edges")
    return step, recorder().histograms(Record(steps=[step]), **about, dial=0, **origin)


@pytest.mark.parametrize("name", WHAT_IF)
def test_losses_are_those_of_numbers_that_minifp_rounds(tab, name):  # noqa: F811
    x, format = at_edges(), FORMATS[name]
    step, run = run_of(x)
    run = json.loads(json.dumps(run))
    theirs = tab.evaluate(
        """async ([address, name, {places, steps: [{kinds}]}, shifts]) => {
            const {losses} = await import(address + '/losses.js');
            const {FORMATS} = await import(address + '/formats.js');
            return shifts.map((s) => losses(kinds.weights, places, s, FORMATS[name]));
        }""",
        [tab.address, name, run, [*SHIFTS]],
    )
    finite, h = x[np.isfinite(x) & (x != 0)].astype(np.float64), step.total("weights")
    for shift, found in zip(SHIFTS, theirs):
        scaled = np.ldexp(finite, shift)
        stored = np.abs(values_of(codes_of(scaled, format), format).astype(np.float64))
        assert found["flushed"] == np.sum(stored == 0) == h.flushed(shift, format)
        assert found["over"] == np.sum(~np.isfinite(stored)) == h.overflowing(shift, format)
        below = np.sum((np.abs(scaled) < format.smallest_normal) & (stored > 0))
        assert found["subnormal"] == below == h.subnormal(shift, format)
        assert found["headroom"] == pytest.approx(h.headroom(format) - shift, abs=0.001)
    assert (found["total"], found["zeros"], found["broken"]) == (len(x), 2, 3)


def test_a_format_whose_border_was_not_counted_is_refused(tab):  # noqa: F811
    run = run_of(at_edges())[1]
    said = tab.evaluate(
        """async ([address, {places, steps: [{kinds}]}]) => {
            const {losses} = await import(address + '/losses.js');
            const {FORMATS} = await import(address + '/formats.js');
            try { losses(kinds.weights, places.slice(0, 1), 0, FORMATS.float16); }
            catch (error) { return error.message; }
        }""",
        [tab.address, json.loads(json.dumps(run))],
    )
    assert "record it again" in said


@pytest.mark.parametrize("name", ["lstm", "detector"])
def test_recorded_histograms_say_what_they_are_and_count_all_borders(name):
    run = kept(name)
    assert run["places"] == json.loads(json.dumps(run_of(at_edges())[1]["places"]))
    assert run["command"].startswith(recorder().COMMAND) and run["arranged"] and run["versions"]
    assert (FOLDER / f"{name}.json").stat().st_size < 40_000
    assert len(run["steps"]) == recorder().SHOWN
    for step in run["steps"]:
        assert [*step["kinds"]] == [*KINDS]
        assert all(sum(held["counts"]) > 0 for held in step["kinds"].values())
    size = {sum(step["kinds"]["weights"]["counts"]) for step in run["steps"]}
    zeros = {step["kinds"]["weights"]["zeros"] for step in run["steps"]}
    assert zeros == {0} and len(size) == 1  # the same weights at all steps


def cells(element, which):
    part = element.locator("details").nth(which)
    part.evaluate("(one) => { one.open = true; }")
    part.locator("tbody tr").first.wait_for()
    texts = "[...row.cells].map((cell) => cell.textContent)"
    return part.locator("tbody").evaluate(f"(body) => [...body.rows].map((row) => {texts})")


def test_the_histograms_table_has_the_recorded_counts(embedded):
    last = kept("lstm")["steps"][-1]["kinds"]
    *rows, zeros = cells(embedded("minifp-histograms"), 1)
    written = {superscript(e): e for e in range(-99, 99)}
    told = {written[row[0]]: row[1:] for row in rows}
    for column, kind in enumerate(KINDS):
        counts = dict(enumerate(last[kind]["counts"], last[kind]["lowest"]))
        shown = {e: int(row[column].replace(",", "")) for e, row in told.items()}
        assert shown == {e: counts.get(e, 0) for e in told}
        assert {*counts} <= {*told}
        assert int(zeros[column + 1].replace(",", "")) == last[kind]["zeros"]


def test_a_larger_scale_moves_gradients_into_float16s_window_and_out_of_it_by_keyboard(embedded):
    element = embedded("minifp-histograms")
    scale, lost = element.locator("input").first, element.locator("p").first
    at_one, before = lost.inner_text(), [row[1:3] for row in cells(element, 0)]
    scale.press("End")
    assert "lose 0% below" in lost.inner_text() and "at S = 2⁴⁰" in lost.inner_text()
    assert "and 0% above" not in lost.inner_text()
    scale.press("Home")
    assert "S = 2⁻³⁰" in lost.inner_text()
    scale.fill("15")
    assert "lose 0% below and 0% above" not in at_one and at_one != lost.inner_text()
    scale.press("ArrowRight")
    assert "S = 2¹⁶" in lost.inner_text()
    after = [row[1:3] for row in cells(element, 0)]
    assert after == before  # weights and activations, which no loss scale moves
    element.locator("select").select_option("bfloat16")
    assert "bfloat16 would lose 0% below and 0% above" in lost.inner_text()


def test_attributes_choose_the_run_the_scale_the_step_and_the_format(tab, embedded):  # noqa: F811
    run = kept("lstm")
    (tab.folder / "mine.json").write_text(json.dumps({**run, "title": "Mine"}), encoding="utf-8")
    told = {"run": "mine.json", "scale": 7, "step": 30, "format": "float8_e5m2"}
    element = embedded("minifp-histograms", **told)
    assert element.locator("h2").inner_text() == "Mine"
    nearest = min([step["step"] for step in run["steps"]], key=lambda step: abs(step - 30))
    assert element.locator("output").all_inner_texts() == ["2⁷", str(nearest)]
    assert "float8_e5m2 would lose" in element.locator("p").first.inner_text()
    element.evaluate("(one) => one.setAttribute('scale', 9)")
    assert element.locator("output").first.inner_text() == "2⁹"
    element.evaluate("(one) => one.removeAttribute('run')")
    element.locator("h2", has_text="Four histograms").wait_for()


@pytest.mark.parametrize(("name", "text", "says"), [
    ("none.json", None, "404"),
    ("words.json", "no JSON", "Access-Control-Allow-Origin"),
    ("other.json", '{"kind": "minifp bathtub"}', "expected minifp histograms"),
    ("broken.json", '{"kind": "minifp histograms", "title": "t"}', "cannot be shown"),
])  # fmt: skip
def test_what_is_no_run_is_refused_with_the_reason(tab, embedded, name, text, says):  # noqa: F811
    if text is not None:
        (tab.folder / name).write_text(text, encoding="utf-8")
    told = embedded("minifp-histograms", run=name).locator("[role=alert]").inner_text()
    assert name in told and says in told
    assert len(tab.said) == (text is None)  # the browser's own line on what is not there
    tab.said.clear()


def test_the_bathtubs_table_is_what_was_recorded(embedded):
    run, element = kept("detector-bathtub"), embedded("minifp-bathtub")
    rows = cells(element, 1)
    assert len(rows) == len(run["points"])
    for row, point in zip(rows, run["points"]):
        values = [f"{value:.3f}" for value in point["values"]]
        mean = sum(point["values"]) / len(values)
        assert row[: len(values) + 1] == [str(point["log2"]), *values]
        assert float(row[len(values) + 1]) == pytest.approx(mean, abs=0.0006)
        assert (row[-2] == "all") == point["skipped"]
    assert element.locator(".dot").count() == sum(len(point["values"]) for point in run["points"])


def test_the_recorded_tub_has_a_floor_between_its_walls():
    run = kept("detector-bathtub")
    left, right = (wall["log2"] for wall in run["walls"])
    floor = [p for p in run["points"] if left <= p["log2"] <= right]
    assert floor and min(v for p in floor for v in p["values"]) > 0.8 * min(run["float32"])
    assert all(p["skipped"] == (p["log2"] > right) for p in run["points"])
    assert max(run["points"][0]["values"]) < 0.3  # S = 1
    assert run["dial"] > 0 and str(run["dial"]) in run["arranged"]


def test_points_of_the_bathtub_are_read_by_keyboard_and_by_pointer(embedded):
    element = embedded("minifp-bathtub")
    scale, said = element.locator("input").first, element.locator("p[aria-live]")
    scale.press("Home")
    assert said.inner_text().startswith("S = 2⁰:") and "underflow" in said.inner_text()
    scale.press("End")
    assert "all steps were skipped" in said.inner_text() and "overflow" in said.inner_text()
    element.locator("circle").last.hover(force=True)
    alive = [p for p in kept("detector-bathtub")["points"] if not p["skipped"]][-1]
    assert said.inner_text().startswith(f"S = {superscript(alive['log2'])}:")
    assert scale.input_value() == str(kept("detector-bathtub")["points"].index(alive))


def test_the_bathtubs_walls_are_explained_by_its_gradients_at_the_scale_that_is_read(embedded):
    element = embedded("minifp-bathtub")
    element.locator("summary").first.click()
    inner = element.locator("minifp-histograms")
    inner.locator("h2").wait_for()
    scale = element.locator("input").first
    scale.press("Home")
    assert inner.locator("output").first.inner_text() == "2⁰"
    assert "float16 would lose 0%" not in inner.locator("p").first.inner_text()
    scale.press("End")
    assert "and 0% above" not in inner.locator("p").first.inner_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_unfolded_runs_are_accessible_on_a_phone(tab, embedded, scheme):  # noqa: F811
    tab.set_viewport_size({"width": 360, "height": 740})
    tab.emulate_media(color_scheme=scheme)
    element = embedded("minifp-bathtub")
    for summary in element.locator("summary").all():
        summary.click()
    inner = element.locator("minifp-histograms")
    inner.locator("summary").first.click()
    assert len(cells(inner, 0)[0]) == 1 + len(KINDS)
    check_accessible(tab)
