"""What a comparison shows: the table, the pictures, the page, for results good, bad and absent."""

import json
import math
import re
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from lab_blobs import only_picture
from own_process import python
from pages import Page, checked

from minifp.errors import MinifpError
from minifp.lab import Comparison, Run
from minifp.lab.comparison import TaskInfo
from minifp.lab.memory import KINDS
from minifp.lab.page import demo_document, line_charts, row_charts, verdicts
from minifp.lab.page.precision_styles import styles_of
from minifp.lab.results.origin import Origin
from minifp.report import charts, drawing, figures, line_drawing, rendering, words
from minifp.report.look import SCREEN
from minifp.report.plain_text import WIDTH

needs_pictures = pytest.mark.skipif(not drawing.is_available(), reason="no matplotlib")

ACCURACY = {"metric_name": "accuracy", "metric_unit": "%", "goal": "max", "margin": 0.5}
LOSS = {"metric_name": "validation loss", "metric_unit": "nats", "goal": "min", "margin": 0.03}


def made_run(precision, seed, metric=90.0, steps=40, lost_at=None, skipped=(), scale=1.0, **more):
    """A run whose loss falls from 2.3; from step `lost_at` on it is NaN."""
    rng, step = np.random.default_rng(seed), np.arange(1, steps + 1)
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
        },  # fmt: skip
        **more,
    )


def made(*runs, dial=0, precisions=None, **task):
    fields = {"batch_size": 32, "epochs": 2, "steps": None, "clip_norm": None}
    seeds = sorted({run.seed for run in runs})
    return Comparison(
        TaskInfo(name="lenet-digits", description="LeNet, on digits", **fields, **ACCURACY | task),
        dial, precisions or list(dict.fromkeys(run.precision for run in runs)), seeds, list(runs),
        config={"steps": 40, "optimizer": "Adam(lr=0.001)", "model": {"weight": [10, 64]}},
        environment={"Python": "3.12.0", "NumPy": "2.4.0"},
    )  # fmt: skip


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
    return made(made_run("float32", 0), made_run("mixed", 0, 90.1))


def all_lost():
    """Nothing finite but the first steps; one run has not even those."""
    lost = made_run("mixed", 0, lost_at=1), made_run("mixed", 1, lost_at=2)
    return made(*lost, made_run("float32", 0, lost_at=1), made_run("float32", 1, lost_at=5))


def not_yet_trained():
    return made(made_run("float32", 0), precisions=["float32", "mixed"])


def page_of(c):
    return rendering.page(c.document())


def with_dial():
    runs = [made_run(p, s, 2.0 + s / 100) for s in range(3) for p in ("float32", "mixed")]
    return made(*runs, dial=11, **LOSS)


def long_names():
    names = ("float32", "mixed,master_weights=off,optimizer_state=float16,loss_scale=128")
    runs = [made_run(p, s) for s in range(2) for p in names]
    for run in runs:
        run.bytes = dict.fromkeys(KINDS, 123_456_789)
    return made(*runs, metric_name="mean average precision of boxes")


EVERY_KIND = (four, one_seed, all_lost, not_yet_trained, with_dial, long_names)


@pytest.fixture(params=EVERY_KIND, ids=lambda kind: kind.__name__)
def comparison(request):
    return request.param()


def test_numbers_are_told_in_words_with_three_digits():
    signs = (0.0, -0.001, 1.5, -1.5, None, math.nan)
    for told, numbers, expected in (
        (words.bytes_text, (0, 812, 1023, 38_000, 2**30), "0 B|812 B|1.00 KiB|37.1 KiB|1.00 GiB"),
        (words.seconds_text, (0.00421, 1.239, 12.34, 3e-6), "4.21 ms|1.24 s|12.3 s|3.00 us"),
        (words.scale_text, (65536.0, 1.0, 0.5, 1000.0, 52428.8), "2^16|1|2^-1|1000|52429"),
        (lambda v: words.signed(v, 2), signs, "0.00|0.00|+1.50|-1.50|-|-"),
        (lambda v: str(words.decimals(v)), (0.5, 0.03, 1.0, 20), "2|3|1|0"),
    ):
        assert "|".join(map(told, numbers)) == expected


def test_the_table_fits_100_columns_and_any_terminal(comparison):
    text = comparison.table()
    assert max(map(len, text.splitlines())) <= WIDTH
    assert text.replace("±", "").isascii()


def test_the_table_has_every_precision_with_metric_difference_verdict_and_cost():
    lines = [line.split() for line in four().table().splitlines()]
    ended = {line[0]: " ".join(line) for line in lines if "3/3" in line or "0/3" in line}
    assert ended["float32"] == "float32 96.30 ± 0.30 3/3 baseline"
    begun = "mixed 96.35 ± 0.30 3/3 +0.05 [+0.05, +0.05] <0.001 EQUIVALENT (weak)"
    assert ended["mixed"] == begun
    assert ended["float16"].startswith("float16 90.30 ± 0.30 3/3 -6.00 [-6.00, -6.00]")
    assert ended["mixed,loss_scale=off"].endswith(" 0/3 - - - DIVERGED")
    cost = {line[0]: line[1:] for line in lines if line[-1:] == ["88000"]}
    assert cost["mixed"] == "2 2^14 0.012 1000 2000 4000 80000 1000 88000".split()
    assert cost["float32"][:2] == ["0", "1"]
    c = four()
    c.runs = [run for run in c.runs if (run.precision, run.seed) != ("mixed", 2)]
    assert re.search(r"^mixed .* 2/2 ", c.table(), re.MULTILINE) and "2 pairs" in c.table()


def test_the_dial_is_stated_in_every_output_it_touches_and_explained_once(without_matplotlib):
    c = with_dial()
    assert c.table().count("Exponent dial k = 11") == 1
    assert "2,048 times as many" in c.dial_note() in c.notes() and four().dial_note() == ""
    assert page_of(c).count("during the backward pass") == 1
    assert all(c.dial_note() in caption for *_, caption, _ in rendering._drawings(c.document()))
    honest = f"{c.dial_note()} Chosen after trying others."
    texts = dict.fromkeys(("key", "name", "title", "claim", "look"), "c")
    part = SimpleNamespace(**texts, honest=honest, precisions=())
    demo = rendering.page(demo_document.document([(part, c)]))
    assert demo.count("during the backward pass all gradients") == 1
    assert "exponent dial" not in four().table().lower() + page_of(four()).lower()


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
    runs = [made_run(p, s, v) for s in range(3) for p, v in (("float32", 2.0), ("mixed", 1.5))]
    assert verdicts.headline(made(*runs, **LOSS)) == "mixed ends better (weak: 3 seeds)"


def test_every_statement_gives_its_reasons():
    said = {s.name: s for s in verdicts.statements(four())}
    assert said["mixed"].verdict == "EQUIVALENT (weak)"
    assert "90% interval +0.05 to +0.05, 3 pairs" in said["mixed"].text
    assert "3 of 3 runs did not finish" in said["mixed,loss_scale=off"].text
    assert "not finite at the end" in said["mixed,loss_scale=off"].text
    two = {s.name: s for s in verdicts.statements(four(2))}["mixed"]
    assert two.verdict == "NO VERDICT"
    assert two.text.endswith("too few for a verdict: at least 3 are needed.")


def test_a_band_is_the_90_percent_interval_or_of_few_seeds_the_range_of_all(without_matplotlib):
    x = np.arange(3.0)
    band = line_drawing.band([(x, np.full(3, v)) for v in (1.0, 2.0, 3.0, 4.0, 5.0)], 2.1318468)
    assert band.mean.tolist() == [3.0] * 3
    assert band.high - band.mean == pytest.approx([2.1318468 * math.sqrt(2.5 / 5)] * 3)
    assert line_charts.group_of(four(5), ()).quantiles[5] == pytest.approx(2.1318468)
    band = line_drawing.band([(x, x), (x[:2], x[:2] + 1), (x, x + 2)])  # ends as its shortest
    assert (band.low.tolist(), band.high.tolist()) == ([0.0, 1.0], [2.0, 3.0])
    assert "from the lowest to the highest" in page_of(four())
    assert "90% interval (Student's t)" in page_of(four(5)).unescape()


def test_many_points_are_thinned_to_those_that_are_seen():
    y = np.random.default_rng(0).random(5000)
    y[1234], y[4000] = 7.0, math.nan
    x, thin = line_drawing.thinned(np.arange(5000.0), y)  # with the extremes and the gaps
    assert len(x) < 1000 and np.nanmax(thin) == 7.0 and np.isnan(thin).sum() == 1


@needs_pictures
@pytest.mark.parametrize("format", ["png", "svg", "pdf"])
def test_pictures_come_in_three_formats_and_the_same_every_time(tmp_path, format, monkeypatch):
    if format != "svg":
        only_picture(monkeypatch, "time")
    paths = {path.stem: path for path in four().figures(tmp_path, format)}
    names = ["loss", "metric", "test-loss", "gradients", "scale", "final", "difference", "power"]
    assert list(paths) == ([*names, "memory", "time"] if format == "svg" else ["time"])
    assert set(tmp_path.iterdir()) == {tmp_path / f"{name}.{format}" for name in paths}
    magic = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[format]
    assert all(path.read_bytes().startswith(magic) for path in paths.values())
    again = figures.of_rows(row_charts.time(four()), caption=row_charts.TIME)
    assert drawing.bytes_of(again, format, **SCREEN.settings()) == paths["time"].read_bytes()


@needs_pictures
def test_the_readers_own_settings_have_no_say_and_are_left_as_they_are(tmp_path, monkeypatch):
    import matplotlib

    memory = row_charts.memory(four())
    plain = drawing.save(figures.of_rows(memory), tmp_path / "plain.svg", "svg")
    monkeypatch.setitem(matplotlib.rcParams, "font.size", 17)
    own = drawing.save(figures.of_rows(memory), tmp_path / "own.svg", "svg")
    assert (own.read_bytes(), matplotlib.rcParams["font.size"]) == (plain.read_bytes(), 17)


@needs_pictures
def test_drawing_imports_no_pyplot():
    code = "import sys, minifp.report.drawing as d; d.settings().__enter__(); "
    code += "import matplotlib.figure; print('matplotlib.pyplot' in sys.modules)"
    assert python(code).stdout == "False\n"


@needs_pictures
def test_a_lost_run_ends_in_a_cross_and_does_not_set_the_limits():
    from matplotlib.figure import Figure

    axes, c = Figure().subplots(), four()
    c.runs[3].history["loss"][:19] = [10.0**k for k in range(19)]
    group = line_charts.group_of(c, ("loss",))
    line_drawing.draw(axes, group.panels[0], group)
    assert axes.get_ylim()[1] < 6  # which is that of the others
    crosses = [line for line in axes.lines if line.get_marker() == "X"]
    assert [line.get_xdata()[0] for line in crosses] == [19, 20, 21]
    (scale,) = (panel for panel in line_charts.histories(c) if panel.name == "scale")
    assert {line.arm for line in scale.lines} == {"mixed"}  # of those without one, nothing


def test_any_two_precisions_differ_in_colour_and_in_marker():
    names = ["float32", "mixed", "float16", "float64", "mixed,loss_scale=8", "mixed,reduce=float16"]
    styles = styles_of(names, "float32")
    assert len({s.color for s in styles.values()}) == len({s.marker for s in styles.values()}) == 6
    alone = styles_of(["float32", "mixed"], "float32")
    assert alone["mixed"] == styles["mixed"]  # in every report


def test_every_kind_of_result_has_a_page(comparison, tmp_path):
    path = comparison.report(tmp_path / "sub" / "report.html")
    assert comparison.task.name in checked(path.read_text(encoding="utf-8")).words
    assert list(path.parent.iterdir()) == [path]  # nothing is left aside


def test_the_data_of_the_charts_are_the_histories_and_cannot_end_their_script():
    c = four(2)
    c.runs[0].history["loss"][3] = math.inf
    text = page_of(c)
    told = json.loads(text.split('<script type="application/json">')[1].split("</script>")[0])
    assert [arm["name"] for arm in told["arms"]] == c.precisions and told["seeds"] == [0, 1]
    assert [arm["astray"] for arm in told["arms"]] == [False, False, False, True]
    loss = told["panels"][0]
    arm, seed, which, y = loss["lines"][0]
    assert (arm, seed, loss["xs"][which]) == (0, 0, list(range(1, 41)))
    assert y[3] is None and y[4] == pytest.approx(c.runs[0].history["loss"][4], rel=1e-7)
    (scale,) = (panel for panel in told["panels"] if panel["powers"])
    assert [mark[2] for mark in scale["marks"]] == [[3, 4], [3, 4]]


def test_lines_that_are_too_long_become_means_and_it_is_said(monkeypatch, without_matplotlib):
    monkeypatch.setattr(charts, "MOST_NUMBERS", 240)  # of 480
    x, y = charts.means(np.arange(1, 8), np.arange(7.0), 3)
    assert (x.tolist(), y.tolist()) == ([3, 6, 7], [1, 4, 6])
    assert "Each point is the mean of 2 steps." in page_of(four())


def test_dollars_in_a_name_are_no_formula():
    c = four()
    c.task = TaskInfo(**{**vars(c.task), "metric_unit": "$\\frac{$"})
    assert r"$\frac{$" in figures.of_rows(row_charts.difference(c)).axes[0].get_xlabel()


def test_the_page_tells_the_command_that_makes_it_again_or_the_call(without_matplotlib):
    def told(c):
        return Page(page_of(c)).words

    c = four()
    assert (
        "minifp compare lenet --data digits --precision float32 mixed float16 mixed,loss_scale=off "
        "--seeds 3 --steps 40 --out again"
    ) in told(c)
    c.origin = Origin("spirals.py:task", None)
    c.config["task file"] = "0123"
    assert "minifp compare spirals.py:task --precision" in told(c)
    c = four()
    c.task = TaskInfo(**{**vars(c.task), "name": "mine"})
    assert "minifp compare YOUR_FILE.py:task --precision float32" in told(c)


def test_in_a_notebook_a_card_without_a_style_of_its_own_opens_the_whole_page(without_matplotlib):
    found = Page(four()._repr_html_())
    assert "96.35" in found.words and "EQUIVALENT" in found.words
    assert "Open the full page" in found.words and not found.values("class", "id")
    assert not {tag for tag, _ in found.tags} & {"style", "script", "html", "body"}
    assert not re.search("color|background", " ".join(found.values("style")))
    assert found.values("srcdoc") == [page_of(four())] and found.values("title")


@pytest.fixture
def without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert not drawing.is_available()


def test_without_it_there_are_all_numbers_and_how_to_get_pictures(without_matplotlib, tmp_path):
    text = page_of(four())
    assert "python -m pip install matplotlib" in text and 'class="panel"' not in text
    assert "96.35" in text and "EQUIVALENT" in text
    with pytest.raises(MinifpError, match="python -m pip install matplotlib"):
        four().figures(tmp_path)
