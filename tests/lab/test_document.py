"""A Document, whichever way it is shown: each renderer has all that is for its readers."""

import csv
import json
import math

import pytest

from minifp.report import drawing, rendering
from minifp.report.content import Document, Facts, Links, Picture, Section, Table
from minifp.report.documented import Documented

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
        facts = Section(
            "Details", [Facts([("key", "<v>")]), "Never at a terminal."], is_folded=True
        )
        return Document(
            "name", "A <title>", "About 2^-11.", ["It gains -3."],
            [Section("One", first), links, facts], ["--quick is short"],
            {"x": math.nan}, {"name": [["text"], ["=1"]]},
        )  # fmt: skip


def test_terminals_and_markdown_have_texts_tables_findings_and_notes():
    assert repr(Whole()) == "\n\n".join([
        "About 2^-11.", "One", "Said of it -3.",
        "arm  gain\n---------\na\nx      -1\ny|z     -\nb\nx    2^-3",
        "It gains -3.\n--quick is short",
    ])  # fmt: skip
    assert rendering.markdown(Whole().document()) == (
        "About 2⁻¹¹.\n\n### One\n\nSaid of it −3.\n\n| file | arm | gain |\n| --- | --- | --- |\n"
        "| a | x | −1 |\n| a | y\\|z | − |\n| b | x | 2⁻³ |\n\n- It gains −3.\n- --quick is short\n"
    )


def test_pages_files_and_cards_have_what_is_for_them(tmp_path):
    pytest.importorskip("matplotlib")
    names = {path.name for path in Whole().save(tmp_path, "svg")}
    assert names == {*(f"name.{end}" for end in ("json", "csv", "md", "html")), "seen.svg"}
    assert json.loads((tmp_path / "name.json").read_text(encoding="utf-8")) == {"x": "nan"}
    rows = csv.reader((tmp_path / "name.csv").read_text(encoding="utf-8").splitlines())
    assert [*rows] == [["text"], ["'=1"]]
    page, card = (tmp_path / "name.html").read_text(encoding="utf-8"), Whole()._repr_html_()
    assert page.count("<svg") == 1 and '<a href="a%20b.html">A</a>, <a href="c.html">&lt;C' in page
    for text in (
        "A &lt;title&gt;",
        "<details>\n<summary><h2>Details",
        "how to read it",
        "&lt;v&gt;",
    ):
        assert text in page
    assert "a%20b" not in card and "<th>gain</th>" in card and card.index("It gains −3") < 500
