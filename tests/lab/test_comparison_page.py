"""What a comparison shows: the table, the pictures, the page, for results good, bad and absent."""

import json
import math
import re
import subprocess
import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest

from minifp.errors import ArgumentError, MinifpError
from minifp.lab import Comparison, Run
from minifp.lab.comparison import TaskInfo
from minifp.lab.memory import KINDS
from minifp.lab.page import comparison_page, curves, figures, story, verdicts
from minifp.lab.page.page_style import STYLE
from minifp.lab.page.precision_styles import styles_of
from minifp.lab.page.table import text_table
from minifp.lab.results.origin import Origin
from minifp.report import charts, drawing, words
from minifp.report import document as document_kit
from minifp.report.document import document
from minifp.report.plain_text import WIDTH
from minifp.report.styles import CSS

needs_pictures = pytest.mark.skipif(not drawing.is_available(), reason="no matplotlib")

ACCURACY = {"metric_name": "accuracy", "metric_unit": "%", "goal": "max", "margin": 0.5}
LOSS = {"metric_name": "validation loss", "metric_unit": "nats", "goal": "min", "margin": 0.03}


# ---- comparisons that were never trained --------------------------------------------------------


def made_run(precision, seed, metric=90.0, steps=40, lost_at=None, skipped=(), scale=1.0, **more):
    """A run whose loss falls from 2.3; from step `lost_at` on it is NaN."""
    rng = np.random.default_rng(seed)
    step = np.arange(1, steps + 1)
    loss = 2.3 * np.exp(-step / 15) + 0.05 * rng.random(steps) + 0.01
    scales = scale / 2.0 ** np.cumsum(np.isin(step - 1, skipped))
    if lost_at is not None:
        loss[step >= lost_at] = math.nan
        more = {"status": "diverged", "note": "the loss is not finite at the end", **more}
        metric = None
    norm = np.where(np.isin(step, skipped), math.inf, 0.5 + 0.1 * rng.random(steps))
    return Run(
        precision,
        seed,
        metric=metric,
        steps=steps,
        skipped=len(skipped),
        final_scale=float(scales[-1]),
        seconds_per_step=0.0123,
        bytes=dict(zip(KINDS, (1000, 2000, 4000, 80_000, 1000))),
        evaluations=[(20, metric, 1.0), (steps, metric, None if lost_at else 0.5)],
        history={
            "step": step.tolist(),
            "loss": loss.tolist(),
            "grad_norm": norm.tolist(),
            "scale": scales.tolist(),
            "skipped": [int(s in skipped) for s in step],
        },
        **more,
    )


def made(*runs, dial=0, precisions=None, **task):
    """A comparison of them."""
    fields = {"batch_size": 32, "epochs": 2, "steps": None, "clip_norm": None}
    seeds = sorted({run.seed for run in runs})
    return Comparison(
        TaskInfo(name="lenet-digits", description="LeNet, on digits", **fields, **ACCURACY | task),
        dial,
        precisions or list(dict.fromkeys(run.precision for run in runs)),
        seeds,
        list(runs),
        config={"steps": 40, "optimizer": "Adam(lr=0.001)", "model": {"weight": [10, 64]}},
        environment={"Python": "3.12.0", "NumPy": "2.4.0"},
    )


def four(seeds=3):
    """Mixed as good as float32, one precision worse, and one that is lost in every run."""
    runs = []
    for seed in range(seeds):
        runs += [
            made_run("float32", seed, 96 + 0.3 * seed),
            made_run("mixed", seed, 96.05 + 0.3 * seed, scale=2.0**16, skipped=(3, 4)),
            made_run("float16", seed, 90 + 0.3 * seed),
            made_run("mixed,loss_scale=off", seed, lost_at=20 + seed),
        ]
    return made(*runs)


def one_seed():
    """From which nothing follows."""
    return made(made_run("float32", 0), made_run("mixed", 0, 90.1))


def all_lost():
    """Nothing finite but the first steps; one run has not even those."""
    lost = made_run("mixed", 0, lost_at=1), made_run("mixed", 1, lost_at=2)
    return made(*lost, made_run("float32", 0, lost_at=1), made_run("float32", 1, lost_at=5))


def not_yet_trained():
    """What an interrupted comparison looks like: a precision without runs."""
    return made(made_run("float32", 0), precisions=["float32", "mixed"])


def with_dial():
    """A loss as the metric, with the exponent dial."""
    runs = [made_run(p, s, 2.0 + s / 100) for s in range(3) for p in ("float32", "mixed")]
    return made(*runs, dial=11, **LOSS)


def long_names():
    """Precisions whose texts are longer than a column, and megabytes."""
    names = ("float32", "mixed,master_weights=off,optimizer_state=float16,loss_scale=128")
    runs = [made_run(p, s) for s in range(2) for p in names]
    for run in runs:
        run.bytes = dict.fromkeys(KINDS, 123_456_789)
    return made(*runs, metric_name="mean average precision of boxes")


EVERY_KIND = (four, one_seed, all_lost, not_yet_trained, with_dial, long_names)


@pytest.fixture(params=EVERY_KIND, ids=lambda kind: kind.__name__)
def comparison(request):
    """Each kind of result."""
    return request.param()


# ---- numbers in words ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (812, "812 B"), (1023, "1.00 KiB"), (38_000, "37.1 KiB"), (2**30, "1.00 GiB")],
)
def test_bytes_have_three_digits(count, text):
    assert words.bytes_text(count) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.00421, "4.21 ms"), (1.239, "1.24 s"), (12.34, "12.3 s"), (3e-6, "3.00 us"), (None, "-")],
)
def test_seconds_have_three_digits(seconds, text):
    assert words.seconds_text(seconds) == text


def test_scales_are_powers_of_two_and_margins_decide_the_decimals():
    assert [words.scale_text(s) for s in (65536.0, 1.0, 0.5, 1000.0)] == [
        "2^16",
        "1",
        "2^-1",
        "1000",
    ]
    assert words.scale_text(52428.8) == "52429"  # a mean of scales
    assert [words.decimals(margin) for margin in (0.5, 0.03, 1.0, 20)] == [2, 3, 1, 0]


def test_what_is_no_number_is_a_dash_and_zero_has_no_sign():
    assert [words.signed(v, 2) for v in (0.0, -0.001, 1.5, -1.5, None, math.nan)] == [
        "0.00", "0.00", "+1.50", "-1.50", "-", "-",
    ]  # fmt: skip


# ---- the table ----------------------------------------------------------------------------------


def test_the_table_fits_100_columns_and_any_terminal(comparison):
    text = text_table(comparison)
    assert max(map(len, text.splitlines())) <= WIDTH
    assert text.replace("±", "").isascii()


def test_the_table_has_every_precision_with_metric_difference_verdict_and_cost():
    lines = [line.split() for line in text_table(four()).splitlines()]
    ended = {line[0]: line for line in lines if "±" in line or "DIVERGED" in line}
    assert ended["float32"] == "float32 96.30 ± 0.30 baseline".split()
    assert ended["mixed"] == "mixed 96.35 ± 0.30 +0.05 +0.05 to +0.05 EQUIVALENT (weak)".split()
    assert ended["float16"] == "float16 90.30 ± 0.30 -6.00 -6.00 to -6.00 DIFFERENT (weak)".split()
    assert ended["mixed,loss_scale=off"][-4:] == ["3", "of", "3", "DIVERGED"]
    cost = {line[0]: line[1:] for line in lines if line[-1:] == ["88000"]}
    assert cost["mixed"] == "2 2^14 0.012 1000 2000 4000 80000 1000 88000".split()
    assert cost["float32"][:2] == ["0", "1"]


def test_the_table_says_how_many_seeds_would_settle_it():
    runs = [made_run("float32", s, 90.0) for s in range(3)]
    runs += [made_run("mixed", s, 90.0 + d) for s, d in enumerate((-0.9, 0.0, 0.9))]
    assert re.search(
        r"mixed: inconclusive with 3 seeds; about \d+ are needed", text_table(made(*runs))
    )


def test_the_number_of_pairs_is_told_where_runs_are_missing():
    c = four()
    c.asked = [(run.precision, run.seed) for run in c.runs]
    assert " pairs " not in text_table(c)
    c.runs = [run for run in c.runs if (run.precision, run.seed) != ("mixed", 2)]
    lines = text_table(c).splitlines()
    assert any(re.search(r"^float32 .* baseline +3 runs$", line) for line in lines)
    assert any(re.search(r"mixed .* \+0\.05 to \+0\.05 +2 ", line) for line in lines)


def test_the_dial_is_stated_in_every_output_it_touches_and_explained_once():
    c = with_dial()
    assert text_table(c).count("Exponent dial k = 11") == 1
    assert comparison_page.body(c).count("are multiplied by") == 1
    honest = f"{c.dial_note()} Chosen after trying others."
    part = SimpleNamespace(
        key="c", name="c", title="t", claim="c", look="l", honest=honest, precisions=()
    )
    assert story.chapter(part, c).count("during the backward pass all gradients") == 1
    assert "exponent dial" not in text_table(four()).lower() + comparison_page.body(four()).lower()


# ---- sentences ----------------------------------------------------------------------------------


def test_the_headline_says_the_whole_result():
    assert verdicts.headline(four()) == (
        "mixed ends where float32 ends (weak: 3 seeds); float16 ends worse (weak: 3 seeds); "
        "mixed,loss_scale=off diverges"
    )
    assert verdicts.headline(four(5)).startswith("mixed ends where float32 ends; float16 ends")
    few = "no verdict on mixed from {}: at least 3 are needed"
    assert verdicts.headline(one_seed()) == few.format("1 seed")
    assert verdicts.headline(four(2)).startswith("mixed,loss_scale=off diverges; no verdict on")
    assert verdicts.headline(made(made_run("mixed", 0))) == "mixed alone: 90.00 %"


def test_a_lower_loss_is_better():
    runs = [made_run(p, s, v) for s in range(3) for p, v in (("float32", 2.0), ("mixed", 1.5))]
    assert verdicts.headline(made(*runs, **LOSS)) == "mixed ends better (weak: 3 seeds)"


def test_every_statement_gives_its_reasons():
    said = {s.precision: s for s in verdicts.statements(four())}
    assert said["mixed"].verdict == "EQUIVALENT (weak)"
    assert "90% interval +0.05 to +0.05, 3 pairs" in said["mixed"].text
    assert "3 of 3 runs did not finish" in said["mixed,loss_scale=off"].text
    assert "not finite at the end" in said["mixed,loss_scale=off"].text


def test_two_seeds_are_too_few_for_a_verdict_and_the_page_says_how_many_are_not():
    said = {s.precision: s for s in verdicts.statements(four(2))}
    assert said["mixed"].verdict == "NO VERDICT"
    assert said["mixed"].text.endswith("too few for a verdict: at least 3 are needed.")


# ---- curves -------------------------------------------------------------------------------------


def test_a_band_is_the_90_percent_interval_of_the_mean():
    x = np.arange(3.0)
    band = curves.band([(x, np.full(3, v)) for v in (1.0, 2.0, 3.0, 4.0, 5.0)])
    assert band.mean.tolist() == [3.0] * 3
    assert band.high - band.mean == pytest.approx([2.1318468 * math.sqrt(2.5 / 5)] * 3)


def test_few_seeds_show_their_range_and_a_band_ends_with_its_shortest_seed():
    x = np.arange(4.0)
    band = curves.band([(x, x), (x[:2], x[:2] + 1), (x, x + 2)])
    assert (band.low.tolist(), band.high.tolist()) == ([0.0, 1.0], [2.0, 3.0])
    assert "from the lowest to the highest" in comparison_page.body(four())
    assert "90% interval (Student's t)" in comparison_page.body(four(5)).replace("&#x27;", "'")


def test_a_run_that_explodes_does_not_set_the_limits_of_the_picture():
    wild = made_run("float16", 0)
    wild.history["loss"][20:] = [10.0**k for k in range(20)]
    low, highest, top = curves.limits(made(made_run("float32", 0), wild))
    assert highest > 1e18 and top < 6 and low > 0


def test_thinning_keeps_the_extremes_and_the_gaps():
    y = np.random.default_rng(0).random(5000)
    y[1234], y[4000] = 7.0, math.nan
    x, thin = curves.thinned(np.arange(5000.0), y)
    assert len(x) < 1000 and np.nanmax(thin) == 7.0 and np.isnan(thin).sum() == 1


# ---- pictures -----------------------------------------------------------------------------------


@needs_pictures
@pytest.mark.parametrize("format", ["png", "svg", "pdf"])
def test_pictures_come_in_three_formats_and_the_same_every_time(tmp_path, format):
    paths = {path.stem: path for path in four().figures(tmp_path, format)}
    assert list(paths) == ["loss", "difference", "power", "scale", "memory"]
    assert set(tmp_path.iterdir()) == {tmp_path / f"{name}.{format}" for name in paths}
    magic = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[format]
    assert all(path.read_bytes().startswith(magic) for path in paths.values())
    again = drawing.save(figures.figure(four(), "difference"), tmp_path / "again", format)
    assert again.read_bytes() == paths["difference"].read_bytes()


@needs_pictures
def test_every_kind_of_result_can_be_drawn(comparison, tmp_path):
    found = {path.stem for path in comparison.figures(tmp_path, "svg")}
    assert found - {"power"} == {"loss", "difference", "scale", "memory"}


@needs_pictures
def test_the_readers_own_settings_have_no_say_and_are_left_as_they_are(tmp_path, monkeypatch):
    import matplotlib

    plain = drawing.save(figures.figure(four(), "memory"), tmp_path / "plain.svg", "svg")
    monkeypatch.setitem(matplotlib.rcParams, "font.size", 17)
    own = drawing.save(figures.figure(four(), "memory"), tmp_path / "own.svg", "svg")
    assert own.read_bytes() == plain.read_bytes()
    assert matplotlib.rcParams["font.size"] == 17


@needs_pictures
def test_drawing_imports_no_pyplot():
    code = (
        "import sys, minifp.report.drawing as d; d.settings().__enter__(); import matplotlib.figure"
    )
    code += "; print('matplotlib.pyplot' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8")
    assert result.stdout.strip() == "False"


@needs_pictures
def test_the_axis_of_the_scale_counts_powers_of_two():
    svg = figures.panel_svg(four(), "scale", "x")
    assert {"2¹⁴", "2¹⁵", "2¹⁶"} <= set(re.findall(r">(2[¹²³⁴⁵⁶⁷⁸⁹⁰]+)<", svg))


@needs_pictures
def test_rows_of_skipped_steps_leave_the_scale_its_room():
    from matplotlib.figure import Figure

    axes, c = Figure().subplots(), four(20)
    figures.PANELS["scale"].draw(axes, c, styles_of(c.precisions, c.baseline))
    bottom, top = axes.get_ylim()
    assert (14 - bottom) / (top - bottom) < 0.45  # 14: the lowest scale, of 20 seeds
    assert len(axes.get_yticks()) <= 7


@needs_pictures
def test_a_lost_run_ends_in_a_cross():
    from matplotlib.figure import Figure

    axes = Figure().subplots()
    c = four()
    figures.PANELS["loss"].draw(axes, c, styles_of(c.precisions, c.baseline))
    crosses = [line for line in axes.lines if line.get_marker() == "X"]
    assert [line.get_xdata()[0] for line in crosses] == [19, 20, 21]


def test_an_unknown_format_is_refused(tmp_path):
    with pytest.raises(ArgumentError, match="png, svg, pdf"):
        figures.save_figures(four(), tmp_path, "jpg")


def test_any_two_precisions_differ_in_colour_and_in_marker():
    names = ["float32", "mixed", "float16", "float64", "mixed,loss_scale=8", "mixed,reduce=float16"]
    styles = styles_of(names, "float32")
    assert len({s.color for s in styles.values()}) == len({s.marker for s in styles.values()}) == 6
    alone = styles_of(["float32", "mixed"], "float32")
    assert alone["mixed"] == styles["mixed"]  # in every report


# ---- the page -----------------------------------------------------------------------------------


class Reader(HTMLParser):
    """Collects the tags and text of a page, and complains where they are not nested."""

    EMPTY = ("meta", "link", "br", "input")

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.words = [], [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


@cache
def page_of_four():
    """The text of a page with everything on it."""
    return document("four", comparison_page.body(four()))


def panels_of_four():
    """Its pictures."""
    return re.findall(r'<svg class="panel".*?</svg>', page_of_four(), flags=re.DOTALL)


def test_every_kind_of_result_has_a_page(comparison, tmp_path):
    path = comparison.report(tmp_path / "sub" / "report.html")
    assert comparison.task.name in " ".join(Reader(path.read_text(encoding="utf-8")).words)
    assert list(path.parent.iterdir()) == [path]  # nothing is left aside


def test_the_page_needs_no_network():
    found = Reader(page_of_four())
    for tag, attributes in found.tags:
        for name in ("src", "href", "xlink:href", "action", "data"):
            target = attributes.get(name) or "#"
            assert target.startswith("#") or target == "data:,", (tag, name, target)
    assert not re.findall(r"url\((?!#)", page_of_four()) and "@import" not in page_of_four()


def test_ids_are_unique_and_every_reference_has_its_target():
    tags = Reader(page_of_four()).tags
    ids = [a["id"] for _, a in tags if "id" in a]
    assert len(ids) == len(set(ids))
    used = re.findall(r'href="#([^"]+)"|url\(#([^)]+)\)', page_of_four())
    names = ("aria-labelledby", "aria-describedby", "for")
    labels = [a[name].split() for _, a in tags for name in names if name in a]
    assert {a or b for a, b in used} | {label for pair in labels for label in pair} <= set(ids)


def test_the_data_of_the_charts_are_the_histories_and_cannot_end_their_script():
    c = four(2)
    c.runs[0].history["loss"][3] = math.inf
    text = comparison_page.body(c)
    held = text.split('<script type="application/json">')[1].split("</script>")[0]
    told = json.loads(held)
    assert [arm["name"] for arm in told["arms"]] == c.precisions and told["seeds"] == [0, 1]
    assert [arm["astray"] for arm in told["arms"]] == [False, False, False, True]
    loss = told["panels"][0]
    arm, seed, which, y = loss["lines"][0]
    assert (arm, seed, loss["xs"][which]) == (0, 0, list(range(1, 41)))
    assert y[3] is None and y[4] == pytest.approx(c.runs[0].history["loss"][4], rel=1e-7)
    (scale,) = (panel for panel in told["panels"] if panel["powers"])
    assert [mark[2] for mark in scale["marks"]] == [[3, 4], [3, 4]]


def test_lines_that_are_too_long_become_means_and_it_is_said(monkeypatch):
    monkeypatch.setattr(charts, "MOST_NUMBERS", 240)  # of 480
    x, y = charts.means(np.arange(1, 8), np.arange(7.0), 3)
    assert (x.tolist(), y.tolist()) == ([3, 6, 7], [1, 4, 6])
    assert "Each point is the mean of 2 steps." in comparison_page.body(four())


@needs_pictures
def test_every_picture_has_a_title_and_a_description():
    assert len(panels_of_four()) == 9
    for panel in panels_of_four():
        root = ElementTree.fromstring(panel)
        assert "lenet-digits" in root[0].text and len(root[1].text) > 30
        assert root.get("role") == "img"


@needs_pictures
def test_colours_of_a_picture_come_from_the_page_in_light_and_in_dark():
    assert "prefers-color-scheme: dark" in page_of_four()
    assert not re.findall(r"#[0-9a-f]{6}\b", "".join(panels_of_four()))


def test_names_are_escaped(without_matplotlib):
    c = four()
    c.task = TaskInfo(**{**vars(c.task), "name": "<b>&", "description": "a < b"})
    c.environment["<i>"] = "&"
    found = Reader(document("x", comparison_page.body(c)))
    assert "i" not in {tag for tag, _ in found.tags}
    assert "<b>&" in " ".join(found.words)


def test_the_page_tells_the_command_that_makes_it_again():
    found = Reader(page_of_four())
    assert (
        "minifp compare lenet --data digits --precision float32 mixed float16 mixed,loss_scale=off "
        "--seeds 3 --steps 40 --out again"
    ) in "".join(found.words)
    assert "<span>--out</span>" in page_of_four()  # no line is broken in it
    assert ".minifp .command span { white-space: nowrap; }" in page_of_four()


def test_a_task_in_a_file_is_made_again_by_its_name():
    c = four()
    c.origin = Origin("spirals.py:task", None)
    c.config["task file"] = "0123"
    assert "minifp compare spirals.py:task <span>--precision</span>" in comparison_page.body(c)


def test_a_task_that_no_command_can_name_is_made_again_from_python(without_matplotlib):
    c = four()
    c.task = TaskInfo(**{**vars(c.task), "name": "mine"})
    assert "fp.compare(task, [" in comparison_page.body(c)
    c.config["task file"] = "0123"
    assert (
        "minifp compare YOUR_FILE.py:task <span>--precision</span> float32"
        in comparison_page.body(c)
    )


def test_in_a_notebook_a_card_without_a_style_of_its_own_opens_the_whole_page():
    shown = four()._repr_html_()
    found = Reader(shown)
    text = " ".join(found.words)
    assert "96.35" in text and "EQUIVALENT" in text and "Open the full page" in text
    assert not [a for _, a in found.tags if "class" in a or "id" in a]
    assert not {tag for tag, _ in found.tags} & {"style", "script", "html", "body"}
    colours = re.findall(r"color|background", " ".join(a.get("style", "") for _, a in found.tags))
    assert not colours
    (frame,) = (attributes for tag, attributes in found.tags if tag == "iframe")
    assert frame["srcdoc"] == comparison_page.page(four()) and frame["title"]


def test_what_stands_in_a_notebook_itself_is_dark_where_the_notebook_is():
    shown = document_kit.embedded("x", kind="explained")
    assert 'data-theme="host"' in shown
    assert '[data-jp-theme-light="false"] .minifp[data-theme="host"]' in shown
    rules = re.findall(r"^([^@{}\n]+)\{", CSS + STYLE, flags=re.MULTILINE)
    assert all(part.strip().startswith(".minifp") for rule in rules for part in rule.split(","))


def test_a_page_has_contents_and_what_is_long_is_folded():
    found = Reader(page_of_four())
    links = [a["href"] for tag, a in found.tags if tag == "a" and "href" in a]
    assert links[:2] == ["#how-they-got-there", "#where-they-end"]
    ids = {a["id"] for _, a in found.tags if "id" in a}
    assert {link[1:] for link in links} <= ids
    text = page_of_four()
    assert "<details>\n<summary><h2>Run by run" in text
    assert "<details open>\n<summary><h2>Where they end" in text


# ---- without matplotlib -------------------------------------------------------------------------


@pytest.fixture
def without_matplotlib(monkeypatch):
    """An environment in which it is not installed."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert not drawing.is_available()


def test_without_matplotlib_the_page_has_all_numbers_and_the_line_that_gets_pictures(
    without_matplotlib,
):
    text = comparison_page.body(four())
    assert "python -m pip install matplotlib" in text and 'class="panel"' not in text
    assert "96.35" in text and "EQUIVALENT" in text


def test_without_matplotlib_pictures_that_are_asked_for_are_refused_with_that_line(
    without_matplotlib, tmp_path
):
    with pytest.raises(MinifpError, match="python -m pip install matplotlib"):
        four().figures(tmp_path)


# ---- the demonstration --------------------------------------------------------------------------


def parts():
    """Two parts, as the laboratory has them."""

    def part(key, name, title):
        texts = {"claim": f"Claim {key}.", "look": f"Look {key}.", "honest": f"Arranged {key}."}
        return SimpleNamespace(key=key, name=name, title=title, **texts)

    return [(part("a", "same", "It matches"), four()), (part("b", "dial", "It fails"), with_dial())]


def test_the_demonstration_is_one_page_with_every_part_its_claim_and_its_dial(tmp_path):
    path = story.write_story(parts(), tmp_path / "report.html")
    found = Reader(path.read_text(encoding="utf-8"))
    text = " ".join(" ".join(found.words).split())
    for wanted in ("It matches", "Claim a.", "Look a.", "Arranged b.", "Exponent dial k = 11"):
        assert wanted in text
    ids = [a["id"] for _, a in found.tags if "id" in a]
    assert len(ids) == len(set(ids)) and {"a", "b"} <= set(ids)
    links = {a.get("href") for tag, a in found.tags if tag == "a"}
    assert {"#a", "#b", "same/report.html", "dial/history.csv"} <= links


@needs_pictures
def test_the_demonstration_has_one_picture_of_all_its_parts(tmp_path):
    path = story.save_overview(parts(), tmp_path / "demo.png")
    assert path.read_bytes().startswith(b"\x89PNG") and Path(path).stat().st_size > 20_000
