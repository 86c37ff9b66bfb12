"""A Document, whichever way it is shown: each renderer has all that is for its readers."""

import csv
import json
import math

import pytest

from minifp.report import drawing, rendering
from minifp.report.charts import Arm, Group, Line, Panel
from minifp.report.content import Document, Facts, Finding, Links, Picture, Section, Table
from minifp.report.documented import Documented
from minifp.report.drawing import STYLES
from minifp.report.look import look_of
from minifp.report.rows import Mark, Row, Rows

GROUPED = [["file", "arm", "gain"], ["a", "x", "-1"], ["a", "y|z", "-"], ["b", "x", "2^-3"]]


def drawn(look):
    from matplotlib.figure import Figure

    with drawing.settings():
        return Figure(figsize=(look.width or 2, 1))


class Whole(Documented):
    def document(self):
        picture = Picture("seen", "A <picture>", "what it shows", drawn, "how to read it")
        nothing = Picture("unseen", "None", "", lambda look: None)
        first = ["Said of it -3.", [picture, nothing], Table("All", GROUPED, is_grouped=True)]
        links = Section("Others", [Links([[("a b.html", "A"), ("c.html", "<C>")]])])
        rows = Rows("bars", "Bars", [Row("a", [Mark(-1.0, STYLES[1])], "one")], note="Wide.")
        lines = [Line("a", 0, [0, 1], [1.0, 2.5])]
        charts = Group([Panel("line", "Line", lines)], [Arm("a", STYLES[1])], [0], places="xy")
        brief = Table("Brief", [["k", "v", "w"], ["c", "1", "2"]], brief=(0, 2))
        details = [Facts([("key", "<v>")]), "Never at a terminal.", brief]
        facts = Section("Details", details, is_folded=True)
        return Document(
            "name", "A <title>", "About 2^-11.", [Finding("x", "GOOD", "By 2."), "It gains -3."],
            [Section("One", first), links, facts, Section("", [rows, charts])],
            ["--quick is short"], {"x": math.nan}, {"name": [["text"], ["=1"]]}, caption="Dialled.",
        )  # fmt: skip


def test_terminals_and_markdown_have_texts_tables_findings_and_notes():
    assert repr(Whole()) == "\n\n".join([
        "About 2^-11.", "One", "Said of it -3.",
        "arm  gain\n---------\na\nx      -1\ny|z     -\nb\nx    2^-3",
        "Details", "k  w\n----\nc  2", "x: GOOD. By 2.\nIt gains -3.\n--quick is short",
    ])  # fmt: skip
    assert rendering.markdown(Whole().document()) == (
        "About 2⁻¹¹.\n\n### One\n\nSaid of it −3.\n\n| file | arm | gain |\n| --- | --- | --- |\n"
        "| a | x | −1 |\n| a | y\\|z | − |\n| b | x | 2⁻³ |\n\n### Details\n\n"
        "| k | w |\n| --- | --- |\n| c | 2 |\n\n- x: GOOD. By 2.\n- It gains −3.\n"
        "- --quick is short\n"
    )


def test_pages_files_and_cards_have_what_is_for_them(tmp_path):
    pytest.importorskip("matplotlib")
    names = {path.name for path in Whole().save(tmp_path, "svg", look_of("paper"))}
    pictures = {"seen.svg", "bars.svg", "line.svg", "captions.txt"}
    assert names == {*(f"name.{end}" for end in ("json", "csv", "md", "html")), *pictures}
    captions = (tmp_path / "captions.txt").read_text(encoding="utf-8")
    assert "bars.svg\nBars. Wide. Dialled.\n\nline.svg\nLine. Dialled.\n" in captions
    assert json.loads((tmp_path / "name.json").read_text(encoding="utf-8")) == {"x": "nan"}
    rows = csv.reader((tmp_path / "name.csv").read_text(encoding="utf-8").splitlines())
    assert [*rows] == [["text"], ["'=1"]]
    page, card = (tmp_path / "name.html").read_text(encoding="utf-8"), Whole()._repr_html_()
    assert (
        page.count('<svg class="panel"') == 3
        and '<a href="a%20b.html">A</a>, <a href="c.html">&lt;C' in page
    )
    for text in (
        "A &lt;title&gt;",
        "<details>\n<summary><h2>Details",
        *("how to read it", "&lt;v&gt;", '<b class="badge good">GOOD</b>', "Line: a ends at 2.5."),
    ):
        assert text in page
    assert "a%20b" not in card and "<th>gain</th>" in card and card.index("It gains −3") < 500
