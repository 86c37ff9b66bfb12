"""The lessons: each is written from its source, has all that a lesson has, and runs: all of them
with `make notebooks`, those that are quick here, with FAST=1."""

import importlib
import os
import re
from pathlib import Path

import pytest
from loading import script as script_named
from markupsafe import Markup

from minifp.report import in_notebook
from minifp.report.document import document, hash_of
from minifp.teach import texts
from minifp.teach.exercise import all_exercises
from minifp.teach.lessons import LESSONS

nbformat = pytest.importorskip("nbformat")
nbclient, *_ = map(pytest.importorskip, ("nbclient", "ipykernel", "jupytext"))

pytestmark = pytest.mark.nightly
ROOT = Path(__file__).resolve().parents[2]
RUN_HERE = ("01-sixteen-bits", "02-the-update-that-wasnt", "08-summing-in-half")
ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}


def script():
    return script_named("write_notebooks")


NAMES = sorted(path.stem for path in (ROOT / "notebooks" / "source").glob("*.py"))


def code_of(name):
    cells = script().with_solutions(name).cells
    return "\n".join(cell.source for cell in cells if cell.cell_type == "code")


@pytest.mark.parametrize("name", NAMES)
def test_students_get_what_the_source_says(name):
    assert {*NAMES} == {*LESSONS} | script().OF_A_CHECKOUT
    kept = (ROOT / "notebooks" / f"{name}.ipynb").read_text(encoding="utf-8")
    written = nbformat.writes(script().for_students(name)) + "\n"
    assert kept == written, "write them again: python scripts/write_notebooks.py"


@pytest.mark.parametrize("name", LESSONS)
def test_a_lesson_has_all_that_a_lesson_has(name):
    code, last = code_of(name), script().with_solutions(name).cells
    prose = "\n".join(cell.source for cell in last if cell.cell_type == "markdown")
    (first,) = (cell for cell in last if f'teach.begin("{name}")' in cell.source)
    assert first.metadata == script().FOLDED, "imports are folded, as what draws is"
    shown = [c for c in script().read(name).cells if "### BEGIN SOLUTION" not in c.source]
    longest = max(c.source.count("\n") + 1 for c in shown if c.cell_type == "code")
    assert longest <= 15, "what it trains belongs into minifp/teach/tasks"
    assert sum(code_of(one).count("\n") + 1 for one in LESSONS) <= 1700
    assert not re.search(r"^ *(assert|teach\.expect_failure)\b", code, re.M), "in explanations/"
    unmade = len(re.findall(r"=\.\.\.,?\s*\)", code))
    assert unmade == code.count("teach.predict("), "a guess is made for the student"
    assert "real GPU" in prose and "read next" in prose
    assert "run all" not in prose.lower()
    mine = [e.name for e in all_exercises().values() if e.lesson == name]
    assert sorted(mine) == sorted(re.findall(r"teach\.check\((\w+)", code))
    assert len(mine) >= 3 or name == "compare"


def test_lessons_1_to_3_are_read_in_a_quarter_of_an_hour_as_far_as_what_is_for_home():
    words = 0
    for name in sorted(LESSONS)[:3]:
        cells, told = script().for_students(name).cells, texts.sections(name)
        end = next(i for i, cell in enumerate(cells) if cell.source.startswith("## For home\n"))
        names = re.findall(r'"(\w+)"', "".join(c.source for c in cells[:end]))
        prose = [cell.source for cell in cells[:end] if cell.cell_type == "markdown"]
        words += len(" ".join([*prose, *(told[one].text for one in names if one in told)]).split())
    assert 2000 < words < 2700  # at 200 words a minute, beside guesses and exercises


@pytest.mark.parametrize("name", RUN_HERE)
def test_it_runs_in_an_empty_folder_and_leaves_nothing(name, tmp_path, monkeypatch):
    for key, value in {"FAST": "1", **ONE_THREAD}.items():
        monkeypatch.setenv(key, value)
    monkeypatch.setenv("MINIFP_TEACH", os.environ.get("MINIFP_TEACH", ""))  # run sets it
    notebook = script().with_solutions(name)
    script().run(notebook, tmp_path)
    outputs = [out for cell in notebook.cells for out in cell.get("outputs", ())]
    assert not list(tmp_path.iterdir())
    assert any("image/png" in out.get("data", ()) for out in outputs)
    assert any("<table" in out.get("data", {}).get("text/html", "") for out in outputs)
    assert not any("Opens when there is a guess" in str(out) for out in outputs)


def test_solutions_are_taken_out_for_students_and_kept_for_graders():
    module = script()
    source = "def f(x):\n    ### BEGIN SOLUTION\n    return 2 * x\n    ### END SOLUTION\n"
    left = "def f(x):\n    raise NotImplementedError  # your turn\n"
    assert module.SOLUTION.sub(module.to_write, source) == left
    value = "### BEGIN SOLUTION\ny = 65504\n### END SOLUTION"
    assert module.SOLUTION.sub(module.to_write, value) == "y = ...  # your turn\n"
    graded = [c for c in module.for_nbgrader("01-sixteen-bits").cells if "nbgrader" in c.metadata]
    kinds = [(c.metadata["nbgrader"]["solution"], c.metadata["nbgrader"]["grade"]) for c in graded]
    assert kinds == [(True, False), (False, True)] * (len(kinds) // 2) != []
    (asked,) = (c.source for c in graded if c.source.endswith("= 2.0**-25\n### END SOLUTION"))
    assert asked.startswith("zero_up_to = ...  # your turn\n### BEGIN SOLUTION\nzero_up_to = ")


def test_for_colab_a_badge_and_a_cell_that_installs_come_first():
    badge, install, *cells = script().for_colab("01-sixteen-bits", "somebody/minifp").cells
    assert "/github/somebody/minifp/blob/main/colab/01-sixteen-bits.ipynb)" in badge.source
    assert '"minifp[plot] @ git+https://github.com/somebody/minifp"' in install.source
    assert cells == script().for_students("01-sixteen-bits").cells
    clone = script().for_colab("on-a-gpu", "somebody/minifp").cells[1].source
    assert clone == "!git clone --quiet https://github.com/somebody/minifp minifp-checkout"


def test_a_page_fetches_nothing_sets_its_formulas_and_allows_the_scripts_of_its_frames():
    """By their hashes: as that of a comparison, which a lesson shows with `fp.compare`."""
    none = Markup()
    card = in_notebook.card("c", none, document("c", none, script=Markup("let a = '&<1>';")))
    cells = [
        nbformat.v4.new_markdown_cell("# Halves\n\nBelow $2^{-25}$, `cost = $5` and $3$."),
        nbformat.v4.new_code_cell("print('$x$')"),
        nbformat.v4.new_code_cell(
            outputs=[nbformat.v4.new_output("display_data", {"text/html": card})]
        ),
    ]
    cells[1].metadata = nbformat.from_dict(script().FOLDED)
    page = script_named("lessons/page").page(nbformat.v4.new_notebook(cells=cells))
    assert page.count("<details><summary>The code</summary>") == 1
    assert page.count("<math") == 2 and "cost = $5" in page and "$x$" in page
    assert "font-src data:" in page and page.count("data:font/woff2") == 1
    assert "<title>Halves</title>" in page and "https://" not in page.replace("xmlns", "")
    framed = importlib.import_module("lessons.page").scripts_in_frames
    (inside,) = framed(page.replace("<script>", "<other>"))
    assert "let a = '&<1>';" in inside
    assert f"'sha256-{hash_of(inside)}'" in page.partition("script-src")[2].partition('"')[0]


def test_where_there_are_widgets_there_are_buttons_and_sliders(monkeypatch):
    """In a kernel that somebody uses; elsewhere the same are pictures."""
    pytest.importorskip("ipywidgets")
    monkeypatch.delenv("MINIFP_TEACH", raising=False)
    code = """from minifp import teach
teach.bits(0.1)
display(teach.predict("S?", number=...))
teach.explore(lambda log2_S: print(f"S is 2^{log2_S}"), log2_S=(0, 24, 8))"""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    state = notebook.metadata.widgets["application/vnd.jupyter.widget-state+json"]["state"]
    kinds = [one["model_name"] for one in state.values()]
    counted = [kinds.count(f"{one}Model") for one in ("ToggleButton", "IntSlider", "Text")]
    assert counted == [16, 1, 1]
    assert "S is 2^8" in str(state) and "0.0999755859375" in str(state)
