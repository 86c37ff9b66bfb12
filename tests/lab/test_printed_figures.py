"""Pictures for a paper: their width, font and letters, and that no text lies on another."""

import re

import pytest
from lab_blobs import blobs, only_picture
from test_comparison_page import made, made_run

import minifp as fp
from minifp.lab.results.products import PICTURES
from minifp.report import drawing, rendering
from minifp.report.look import check_font, inches, look_of

pytest.importorskip("matplotlib")

LONG = "mixed,loss_scale=128,master_weights=off,accumulate=float16"
ARMS = ("float32", "float32@order", "mixed", "mixed,master_weights=off", LONG)


@pytest.fixture(scope="module")
def many():
    ends = {arm: 90.4 if arm == ARMS[3] else 96.4 for arm in ARMS}
    look = {"scale": 65536.0, "skipped": (9,)}
    runs = [
        made_run(a, s, ends[a] + 0.3 * s, lost_at=14 if a == LONG and s < 2 else None, **look)
        for s in range(5)
        for a in ARMS
    ]
    return made(*runs, dial=3)


def texts(figure):
    """(text, its box) of all that is written in a figure, but for ticks that are not in it."""
    from matplotlib.text import Text

    gone = set()
    for axis in (axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)):
        low, high = sorted(axis.get_view_interval())
        for tick in [*axis.get_major_ticks(), *axis.get_minor_ticks()]:
            gone |= set() if low <= tick.get_loc() <= high else {tick.label1, tick.label2}
    written = [t for t in figure.findobj(Text) if t.get_visible() and t.get_text().strip()]
    return [(t.get_text(), t.get_window_extent()) for t in written if t not in gone]


def collisions(figure):
    """Texts that leave the figure, and pairs of which one lies on the other."""
    found, (width, height) = [], figure.bbox.size
    boxes = texts(figure)
    for i, (text, box) in enumerate(boxes):
        if min(box.x0, box.y0, width - box.x1, height - box.y1) < -1:
            found.append((text, "outside"))
        for other, of_other in boxes[i + 1 :]:
            across = min(box.x1, of_other.x1) - max(box.x0, of_other.x0)
            down = min(box.y1, of_other.y1) - max(box.y0, of_other.y0)
            if min(across, down) > 0.5:
                found.append((text, other))
    return found


@pytest.mark.parametrize("name, width, font", [
    *((name, "3.25in", None) for name in PICTURES),
    ("difference", "85mm", "monospace"), ("memory", "5.5in", "serif"),
])  # fmt: skip
def test_no_text_lies_on_another(many, name, width, font):
    look = look_of("paper", width, font)
    (draw,) = (d for n, _, _, d in rendering._drawings(many.document()) if n == name)
    drawn = draw(look)
    assert drawn.get_figwidth() == inches(width)
    with drawing.settings(**look.settings()):
        assert len(texts(drawn)) > 10 and collisions(drawn) == []
        if name == "difference":
            drawn.text(0.3, 0.5, "over all of it " * 3)
            assert collisions(drawn)


def test_letters_stay_letters_and_captions_are_beside_the_pictures(many, tmp_path, monkeypatch):
    only_picture(monkeypatch, "difference")
    (svg,) = many.figures(tmp_path, "svg", style="paper", font="STIXGeneral")
    text = svg.read_text(encoding="utf-8")
    assert re.search(r"<text [^>]*STIXGeneral[^>]*>mixed,master_weights=off</text>", text)
    assert 'width="234pt"' in text
    (pdf,) = many.figures(tmp_path, "pdf", style="paper", width=6.5)
    content = pdf.read_bytes()
    assert b"/FontFile2" in content and b"/Type3" not in content
    assert b"/MediaBox [ 0 0 468 " in content
    captions = (tmp_path / "captions.txt").read_text(encoding="utf-8")
    assert "difference.pdf\nDifference from float32, paired by seed. A mark at the mean" in captions
    assert "Exponent dial k = 3" in captions and "exponent dial" not in text.lower()


def test_pictures_of_the_folder_have_the_look_that_was_asked_for(tmp_path, monkeypatch):
    only_picture(monkeypatch)
    monkeypatch.setattr(fp.Comparison, "report", lambda self, path: path)
    given = {"out": tmp_path, "progress": False, "figures": "svg"}
    fp.compare(blobs(steps=2), ["float32"], 1, **given, style="paper", width="90mm")
    assert 'width="255.1' in (tmp_path / "loss.svg").read_text(encoding="utf-8")
    assert (tmp_path / "captions.txt").is_file()
    fp.compare(blobs(steps=2), ["float32"], 2, **given)
    assert not (tmp_path / "captions.txt").exists()  # which were of one seed


def test_a_look_that_is_none_is_refused_before_training(tmp_path):
    for arguments, message in (
        ({"style": "poster"}, "style='poster': expected screen or paper"),
        ({"width": "3.25 feet"}, "width='3.25 feet': expected a width such as 3.25in"),
        *(({"width": "20mm"}, "from 76 mm to 508 mm"), ({"width": True}, "width=True")),
        ({"font": "DejaVu Sanz"}, "similar ones: DejaVu Sans"),
        ({"font": "No Such Font"}, "is not a TrueType font"),
        ({"figures": None, "style": "paper"}, "style='paper' without figures"),
        ({"out": None, "figures": None, "width": "90mm"}, "width='90mm' without out"),
    ):
        given = {"out": tmp_path / "new", "figures": "pdf", "progress": False, **arguments}
        with pytest.raises(fp.ArgumentError, match=re.escape(message)):
            fp.compare(blobs(), **given)
        assert not (tmp_path / "new").exists()
    assert inches("85mm") == pytest.approx(inches("8.5cm")) == pytest.approx(3.3465, abs=1e-4)
    assert inches("240 pt") == pytest.approx(240 / 72.27) and inches(3.25) == inches("3.25in")
    check_font("serif")
