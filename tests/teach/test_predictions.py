"""Predictions: how they are told, which guess is kept, and what is shown only when there is one."""

import json
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from types import SimpleNamespace

import pytest
from loading import script

from minifp import teach
from minifp.errors import ArgumentError
from minifp.teach import progress, texts, waiting, withheld
from minifp.teach.lessons import LESSONS
from minifp.teach.predictions import Explanation
from minifp.teach.tasks import masters

NIGHTLY = [pytest.param(name, marks=pytest.mark.nightly) for name in sorted(LESSONS)[1:]]


def test_whole_numbers_are_told_to_the_last_digit_and_a_unit_but_for_a_bare_number():
    guess, inf, nan = teach.predict("How?", number=2000), float("inf"), float("nan")
    for answer, told in (
        (2049, "**2,049**, 49 away"),  # to the last digit: 2.05e+03 would not tell it from 2,048
        *((65520.0, "**65,520**, 63,520 away"), (2000.5, "**2,000**, 0.5 away")),
        *((inf, "**inf**, inf away"), (nan, "**nan**, nan away")),
    ):
        assert told in Explanation(guess, answer, "")._repr_markdown_()
    assert "a number where" in repr(teach.predict("How many?", number=...))
    assert "a number of points where" in repr(teach.predict("How much?", points=...))
    assert repr(teach.predict("How much?", points=2.5)).endswith("You say: 2.5 points.")


def test_the_first_guess_stays_later_ones_stand_beside_it_and_two_notebooks_lose_none(own_file):
    own_file.parent.mkdir()
    own_file.write_text('{"predictions": {": How?": 20}, "exercises": {}}', encoding="utf-8")  # old
    for number in (..., 49, 49, 7):
        assert teach.predict("How?", number=number).guess == 20
    with ThreadPoolExecutor(8) as others:
        others.map(lambda n: progress.keep_guess(f"{n}", n), range(8))
    kept = json.loads(own_file.read_text("utf-8"))
    assert kept["predictions"] == {": How?": 20} | {f"{n}": n for n in range(8)}
    assert kept["later"] == {": How?": [49, 7]}
    for number in ("many", float("inf")):  # which JSON does not write
        with pytest.raises(ArgumentError, match="expected a number"):
            teach.predict("How?", number=number)


@pytest.mark.parametrize("way", ["guess", "rerun", "skip"])
def test_what_came_out_opens_where_it_stands(way, monkeypatch):
    places, how = [], teach.predict("How?", number=...)
    section = texts.parted("```python\nanswer = n = 2049\n```\n{{n:,}} of $2^{{{n}}}$.")
    monkeypatch.setattr(texts, "sections", lambda _: {"how": section})
    monkeypatch.setitem(globals(), "how", how)

    def display(content, here=None, **_):
        here = len(places) if here is None else here
        places[here:] = [content, *places[here + 1 :]]
        return SimpleNamespace(update=lambda content, **_: display(content, here))

    monkeypatch.setattr("IPython.display.display", display)
    teach.explain("how")
    withheld.withhold([how], ["printed", "drawn"], {})
    assert "how.skip()" in places[0].data and "2,049" not in str([one.data for one in places])
    again = {"guess": lambda: how.take(5), "skip": how.skip}
    again.get(way, lambda: teach.predict("How?", number=5))()
    assert places[1:] == ["printed", "drawn"] and "2,049 of $2^{2049}$." in repr(places[0])
    assert ("You said 5" in repr(places[0])) == (way != "skip")
    assert teach.predict("How?", number=6).guess == (6 if way == "skip" else 5)


@pytest.mark.parametrize("name", ["01-sixteen-bits", *NIGHTLY])
def test_without_a_guess_no_answer_is_to_be_seen_however_it_is_written(name, monkeypatch):
    pytest.importorskip("nbclient")
    monkeypatch.setenv("FAST", "1")
    monkeypatch.delenv("MINIFP_TEACH", raising=False)
    search = script("lessons/answers_told")
    for text in ("2,049", "it is 2049.", "2.049e3", "20.5", "20%", "`2049`", "2048", "20", "2%"):
        assert search.Answer("", (), 2049.0).is_in(text) == (text not in ("2048", "20", "2%"))
    fails = search.Answer("Which fails first?", ("float16", "bfloat16"), "bfloat16")
    told = "Bfloat16 has wider gaps: its failure begins earlier."
    assert fails.is_about(told) and fails.is_in(told)
    assert not search.answers_told(script("write_notebooks").for_students(name))


def test_an_exercise_that_is_open_stops_no_later_cell():
    unwritten = SimpleNamespace(__name__="descend_with_master")
    assert teach.or_solution(unwritten, masters.by_optimizer) is masters.by_optimizer


def test_below_a_cell_that_takes_long_stands_how_long_until_it_ends(monkeypatch):
    monkeypatch.setattr(waiting, "PATIENCE", 0.01)
    said, begun = [], Event()
    publish = lambda data, *_, **__: said.append(data["text/plain"]) or begun.set()  # noqa: E731
    line = waiting.Waiting(SimpleNamespace(display_pub=SimpleNamespace(publish=publish)), 2)
    line.begin()
    assert begun.wait(20) and "for 0 s (in full the whole lesson takes 2 min)" in said[0]
    line.end()
    assert said[-1] == ""
