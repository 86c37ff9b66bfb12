"""Predictions: how they are told, which guess is kept, and what opens when there is one."""

import json
import threading
from types import SimpleNamespace

import pytest

from minifp import teach
from minifp.errors import ArgumentError
from minifp.teach import progress, texts, waiting, withheld
from minifp.teach.predictions import Explanation

QUESTION = "The first whole number that float16 lacks?"


@pytest.fixture
def places(monkeypatch):
    """What stands at each place of the notebook, in order."""
    places = []

    class Place:
        def __init__(self, content):
            places.append(content)
            self.number = len(places) - 1

        def update(self, content, **_):
            places[self.number] = content

    monkeypatch.setattr("IPython.display.display", lambda content, **_: Place(content))
    return places


def test_whole_numbers_are_told_to_the_last_digit_and_a_unit_but_for_a_bare_number():
    guess = teach.predict(QUESTION, number=2000)
    for answer, told in (
        (2049, "**2,049**, 49 away"),  # to the last digit: 2.05e+03 would not tell it from 2,048
        *((65520.0, "**65,520**, 63,520 away"), (2000.5, "**2,000**, 0.5 away")),
        *((float("inf"), "**inf**, inf away"), (float("nan"), "**nan**, nan away")),
    ):
        assert told in Explanation(guess, answer, "")._repr_markdown_()
    assert "a number where" in repr(teach.predict("How many?", number=...))
    assert "a number of points where" in repr(teach.predict("How much?", points=...))
    assert repr(teach.predict("How much?", points=2.5)).endswith("You say: 2.5 points.")


def test_the_first_guess_stays_and_later_ones_stand_beside_it(own_file):
    own_file.parent.mkdir()
    old = {"predictions": {f": {QUESTION}": 2000}, "exercises": {}}  # as minifp kept it before
    own_file.write_text(json.dumps(old), encoding="utf-8")
    assert teach.predict(QUESTION, number=...).guess == 2000
    for number in (2049, 2049, 7):
        assert repr(teach.predict(QUESTION, number=number)).count("2,000") == 1
    kept = progress.read()
    assert kept["predictions"] == old["predictions"] and kept["later"] == {
        f": {QUESTION}": [2049, 7]
    }
    with pytest.raises(ArgumentError, match="expected a number"):
        teach.predict(QUESTION, number="many")
    threads = [threading.Thread(target=progress.keep_guess, args=(f"{n}", n)) for n in range(8)]
    for one in (*threads, *threads):
        one.join() if one.ident else one.start()
    assert {f"{n}": n for n in range(8)}.items() <= progress.read()["predictions"].items()


@pytest.mark.parametrize("way", ["guess", "rerun", "skip"])
def test_what_came_out_opens_where_it_stands(way, places, monkeypatch):
    monkeypatch.setattr(
        texts,
        "sections",
        lambda _: {"how": texts.parted("```python\nanswer = n\n```\n{{n:,}} of $2^{{{n}}}$.")},
    )
    how, n = teach.predict(QUESTION, number=...), 2049
    monkeypatch.setitem(globals(), "how", how)
    monkeypatch.setitem(globals(), "n", n)
    teach.explain("how")
    withheld.withhold([how], ["printed", "drawn"], {})
    assert len(places) == 3 and "2,049" not in repr([getattr(p, "data", p) for p in places])
    assert "how.skip()" in places[0].data and "printed" not in places
    {
        "guess": lambda: how.take(5),
        "rerun": lambda: teach.predict(QUESTION, number=5),
        "skip": how.skip,
    }[way]()
    assert places[1:] == ["printed", "drawn"] and "2,049 of $2^{2049}$." in repr(places[0])
    assert ("You said 5" in repr(places[0])) == (way != "skip")
    assert teach.predict(QUESTION, number=6).guess == (6 if way == "skip" else 5)
    assert ("had looked" in repr(how)) == (way == "skip")


def test_below_a_cell_that_takes_long_stands_how_long_until_it_ends(monkeypatch):
    for name in ("PATIENCE", "EVERY"):
        monkeypatch.setattr(waiting, name, 0.01)
    said, ends = [], threading.Event()

    def publish(data, metadata, transient, update):
        said.append((data["text/plain"], transient["display_id"], update))
        ends.set()

    line = waiting.Waiting(SimpleNamespace(display_pub=SimpleNamespace(publish=publish)), 2)
    line.begin()
    line.tell("a kernel")
    assert ends.wait(20)
    line.end()
    (first, place, again), *others, (last, *_) = said
    assert first.startswith("running for 0 s (in full the whole lesson takes 2 min)") and not again
    assert last == "" and {(place, True)} == {one[1:] for one in said[1:]}
    assert "1 kernel compiled" in "".join(text for text, *_ in said)
