"""The microscope's page: in a real browser its sliders move and the numbers follow, exactly."""

import html
import json
from base64 import b64decode

import numpy as np
import pytest
from in_browser import check_accessible
from pages import Page, checked
from test_microscope import char_lstm, small

import minifp as fp
from minifp.numerics.number_format import FORMATS
from minifp.report.document import hash_of
from minifp.report.words import bytes_text, raised, superscript
from minifp.report.words import share_text as percent
from minifp.saving import files
from minifp.scope.histogram import Histogram
from minifp.scope.inspecting import inspect
from minifp.scope.observed import ACTIVATION_GRADIENTS, GRADIENTS, KINDS, ObservedStep
from minifp.scope.page import data, headlines
from minifp.scope.page.figures import TITLES, lost_anywhere

matplotlib = pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def scope():
    return char_lstm("mixed", dial=8, steps=12, every=4, hidden=16, length=8)[0]


def deep(count):
    """So many observed steps of as many layers, in all four kinds."""
    numbers, found = np.random.default_rng(0), fp.Findings({"model": "Deep", "precision": "mixed"})
    shape = numbers.normal(size=2_000)
    for i in range(count):
        step = ObservedStep(20 * i + 1, scale=2.0**16)
        for kind in KINDS:
            for layer in range(count):
                factor = 2.0 ** (-14 - layer % 9 if kind in GRADIENTS else -3)
                spread = np.exp(numbers.normal(size=2_000))
                x = (shape * spread * factor * 2.0**8).astype(np.float16)
                step.add(kind, f"blocks.{layer}.conv", Histogram.of(x), FORMATS["float16"])
        found.steps.append(step)
        found.scales += [2.0**16] * 20
        found.skipped += [False] * 20
    return found


def test_the_page_is_one_file_that_fetches_nothing(written):
    text = written.read_text(encoding="utf-8")
    checked(text)
    script = text.split("<script>")[1].split("</script>")[0]
    assert "default-src 'none'" in text and hash_of(script) in text


def test_too_much_data_is_thinned_and_said_so(monkeypatch):
    large = deep(12)
    whole, steps = data.data_of(large)
    assert steps == 12
    monkeypatch.setattr(data, "MOST_BYTES", len(whole) // 3)
    thinned, steps = data.data_of(large)
    assert len(thinned) <= len(whole) // 3 and steps < 5
    assert json.loads(thinned)["steps"][-1]["step"] == large.steps[-1].step
    assert f"{steps} of the 12 observed steps are in this page" in large._repr_html_()


def test_the_data_of_the_page_are_the_counts(scope):
    told = json.loads(data.data_of(scope)[0])
    step, kind = scope.steps[1], ACTIVATION_GRADIENTS
    layers = told["kinds"]["activation-gradients"]["layers"]
    rows = {layers[row[0]]: row for row in told["steps"][1]["held"]["activation-gradients"]}
    assert rows.keys() == step.histograms[kind].keys()
    for name, h in step.histograms[kind].items():
        _, lowest, counts, *_ = rows[name]
        assert {e: n for e, n in enumerate(counts, lowest) if n} == h.exponents


def test_the_summary_fits_100_columns_and_names_every_layer(scope, tmp_path):
    text = scope.summary()
    assert max(map(len, text.splitlines())) <= 100 and text.isascii()
    assert all(name in text for kind in KINDS for name in scope.layers(kind))
    assert b64decode(scope._repr_png_()).startswith(b"\x89PNG")
    empty = fp.Findings()
    assert "no advice" in empty.summary() and empty._repr_png_() is None
    assert empty.report(tmp_path / "empty.html").stat().st_size > 1000


def test_write_writes_all_or_nothing_and_leaves_no_former_picture(scope, tmp_path, monkeypatch):
    folder = scope.write(tmp_path / "new" / "folder").parent
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert {*before} == {"report.html", "scope.npz", "scope.txt", "scope.csv", "scope.png"}
    monkeypatch.setattr("minifp.scope.findings.Findings._png", lambda self: None)
    monkeypatch.setattr("minifp.scope.findings.Findings.summary", lambda self: "other")
    with monkeypatch.context() as full:
        fill = files.fill
        full.setattr(files, "fill", lambda part, data, was: fill(part, data[:10], was) or 1 / 0)
        with pytest.raises(ZeroDivisionError):
            scope.write(folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    scope.write(folder)
    assert {path.name for path in folder.iterdir()} == set(before) - {"scope.png"}


@pytest.fixture(scope="module")
def detailed():
    return inspect("mlp", steps=2, progress=False)


def test_what_is_none_is_a_sentence():
    plain = small("float32")
    text = plain._page(False)
    assert "There was no loss scale, and no step was skipped." in text
    assert [kind for kind, _ in lost_anywhere(plain)] == ["float16", "bfloat16"]
    assert "No update was lost in the observed steps." in text
    for step in plain.steps:
        step.histograms[KINDS[1]].clear()
    assert f"The observed steps stored no {KINDS[1]}." in plain._page(False)


def test_the_tables_hold_what_the_figures_draw(detailed):
    text = detailed._page(False)
    _, *after = text.split('<svg class="panel"')
    assert len(after) == 10 and all("<table>" in part for part in after)
    for box in detailed.details["tape"]["boxes"]:
        assert f'<th scope="row">{box["number"]}</th><td class="text">{box["label"]}</td>' in text
    events = detailed.details["memory"]["here"]["timeline"]
    name = 'aria-label="Bytes over the operations of the step"'
    listed = text.split(name)[1].split("</table>")[0]
    assert listed.count("<tr>") == 1 + len(events)
    assert bytes_text(events[0]["bytes"]["activations"]) in listed
    for row in detailed.details["trace"]["rows"]:
        assert not row["flops"] or raised(f"{row['flops'] / row['seconds']:.2e}") in text
    assert '<th scope="row">1 to 2</th><td>2¹⁶</td><td>0</td>' in text
    assert "Lost updates of every step" in text
    run = detailed.details["reference"][0]
    most = run["contributions"][0]["on gradients"]
    assert f"off by {most:.2g}.</p>" in text and most < run["gradients"]
    assert "none of the updates that the opt" in " ".join(headlines.headlines(detailed))


def test_a_notebook_has_a_card_and_the_page_in_a_frame(scope):
    shown = scope._repr_html_()
    assert Page(shown).values("id") == [] and shown == scope._repr_html_()
    card = shown.split("<iframe")[0]
    assert raised(headlines.headlines(scope)[0]) in html.unescape(card)
    assert "scope-lens" in shown.split("srcdoc='")[1] and "scope-lens" not in card


@pytest.fixture(scope="module")
def written(scope, tmp_path_factory):
    return scope.report(tmp_path_factory.mktemp("scope") / "scope.html")


@pytest.fixture
def page(opened, written):
    return opened(written, 1100)


def cells(page, kind, layer):
    return page.locator(f'[data-kind="{kind}"]+details tr>>nth={layer}>>td').all_text_contents()


def expected(step, kind, shift, format=FORMATS["float16"]):
    h = step.total(kind)
    counts = (ask(shift, format) for ask in (h.flushed, h.subnormal, h.overflowing))
    return [f"{h.total:,}", percent(h.zeros, h.total), *(percent(n, h.nonzero) for n in counts)]


def test_the_numbers_follow_both_sliders_exactly(page, scope):
    for position, step in enumerate(scope.steps):
        page.locator(".scope-step").evaluate(MOVE, position)
        for k in (0, 7, step.shift, 30):
            page.locator(".scope-scale").evaluate(MOVE, k)
            for kind in KINDS:
                shift = k - step.shift if kind in GRADIENTS else 0
                key = kind.replace(" ", "-")
                assert cells(page, key, 1)[:5] == expected(step, kind, shift)
            assert superscript(k) in page.locator(".scope-scale-said").inner_text()
        assert page.locator(".scope-step-said").inner_text() == f"step {step.step}"


@pytest.mark.nightly
def test_the_numbers_follow_the_format_exactly(page, scope):
    step = scope.steps[-1]
    for format in (*scope.formats, None):
        page.locator(".scope-format").select_option(format.name if format else "as in the run")
        name = format.name if format else "float16"
        for k in (0, step.shift, 30):
            page.locator(".scope-scale").evaluate(MOVE, k)
            for kind in KINDS:
                shift = k - step.shift if kind in GRADIENTS else 0
                panel = page.locator(f'[data-kind="{kind.replace(" ", "-")}"]')
                key, table = kind.replace(" ", "-"), panel.locator("+ details")
                assert cells(page, key, 1)[:5] == expected(step, kind, shift, FORMATS[name])
                assert f", in {name}: " in panel.locator(".scope-said").inner_text()
                assert table.locator("summary").text_content().endswith(f", in {name}")


MOVE = "(slider, to) => { slider.value = to; slider.dispatchEvent(new Event('input')); }"


@pytest.mark.nightly
def test_one_sentence_is_said_when_a_slider_has_come_to_rest(page, scope):
    kinds = "output:not([aria-live=off]), [role=status], [aria-live=polite]"
    live, slider = page.locator(".scope-lens").locator(kinds), page.locator(".scope-scale")
    assert live.count() == 1  # six at once would talk over each other
    slider.evaluate(MOVE, 1)
    slider.press("ArrowLeft")
    assert slider.get_attribute("aria-valuetext").startswith("2 to the 0, ")
    page.locator(".scope-status", has_text="flushed").wait_for(state="attached")
    for said, kind in zip(live.inner_text().split(". "), GRADIENTS):
        assert said.startswith(TITLES[kind]) and "flushed to 0" in said
        assert expected(scope.steps[-1], kind, -scope.steps[-1].shift)[2] in said


@pytest.mark.nightly
def test_play_goes_through_the_scales_and_says_what_is_lost(page, scope):
    slider, play, lost = (page.locator(f".scope-{name}") for name in ("scale", "play", "lost"))
    slider.evaluate(MOVE, 30)
    play.click()
    assert play.inner_text() == "Pause"
    page.locator(".scope-play", has_text="Play").wait_for()
    assert slider.input_value() == slider.get_attribute("max") == "32"
    step = scope.steps[-1]
    total = [step.total(kind) for kind in GRADIENTS]
    n = sum(h.flushed(32 - step.shift) + h.overflowing(32 - step.shift) for h in total)
    assert lost.inner_text() == f"{percent(n, sum(h.nonzero for h in total))} lost"


@pytest.mark.nightly
@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (390, "dark")])
def test_axe_has_nothing_against_it_and_all_fits(opened, detailed, tmp_path, width, scheme):
    path = detailed.report(tmp_path / "detailed.html", progress=False)
    check_accessible(opened(path, width, scheme, bypass_csp=True))


@pytest.mark.nightly
def test_without_matplotlib_the_sliders_move_the_tables(opened, scope, monkeypatch, tmp_path):
    monkeypatch.setattr("minifp.report.drawing.is_available", lambda: False)
    path = scope.report(tmp_path / "plain.html")
    text = path.read_text(encoding="utf-8")
    assert 'class="panel"' not in text and "lstm gates" in text
    shown = opened(path)
    shown.locator(".scope-scale").evaluate(MOVE, 3)
    kind, step = GRADIENTS[0], scope.steps[-1]
    assert cells(shown, kind.replace(" ", "-"), 1)[:5] == expected(step, kind, 3 - step.shift)


CELLS = """
import minifp as fp, minifp.nn.functional as F
from minifp import optim
from minifp.models import MLP
train, _ = fp.data.digits()
with fp.precision("mixed"):
    model = MLP(64, 16, 10)
    optimizer = fp.MixedOptimizer(optim.Adam(model.parameters(), lr=1e-3))
    with fp.microscope(model, optimizer, every=2, live=True) as scope:
        for i, (x, t) in enumerate(fp.data.DataLoader(train, batch_size=32)):
            optimizer.minimize(F.cross_entropy(model(x), t))
            if i == 5:
                break
|||
scope
"""


@pytest.mark.nightly
def test_a_notebook_shows_the_same_inline_and_a_view_that_follows(tmp_path):
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    book = nbformat.v4.new_notebook()
    book.cells = [nbformat.v4.new_code_cell(text.strip()) for text in CELLS.split("|||")]
    where = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(book, timeout=120, kernel_name="python3", resources=where).execute()
    first, second = book.cells
    (live,) = [out for out in first.outputs if out.output_type == "display_data"]
    assert live.data["image/png"] and "data:image/png" in live.data["text/html"]
    assert "loss scale" in live.data["text/plain"] or "scaling" in live.data["text/plain"]
    (shown,) = second.outputs
    assert "<iframe" in (html := shown.data["text/html"]) and "scope-lens" in html
    assert shown.data["image/png"]


def test_a_live_view_is_for_notebooks():
    with fp.precision("mixed"):
        model = fp.nn.Linear(2, 2)
        optimizer = fp.MixedOptimizer(fp.optim.SGD(model.parameters(), lr=1.0))
    with pytest.raises(fp.ArgumentError, match="live=True needs a notebook"):
        fp.microscope(model, optimizer, live=True)
