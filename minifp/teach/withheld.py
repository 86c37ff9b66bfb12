"""What a notebook shows only once there is a guess: it opens where it stands, when that comes."""

import sys
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

from minifp.errors import ArgumentError
from minifp.teach import glossary, texts
from minifp.teach.predictions import Explanation, Prediction, when_known

_deferred: list[Callable[[], None]] | None = None  # of the block that withholds now, if any


def defer(shows: Callable[[], None]) -> bool:
    """Whether a block withholds what is shown now. Then this is called when it opens: widgets draw
    where they stand, and cannot be captured."""
    if _deferred is not None:
        _deferred.append(shows)
    return _deferred is not None


class after:
    """A `with` block whose prints, pictures and tables are shown once predictions have a guess.

    All that it computes is computed at once. Displays appear where the block stands; with no guess
    yet a line says what they wait for.
    """

    def __init__(self, *predictions: Prediction) -> None:
        self.predictions = predictions
        named = sys._getframe(1).f_globals.items()
        self.names = {id(one): name for name, one in named if not name.startswith("_")}
        self.capture: Any = None

    def __enter__(self) -> None:
        global _deferred
        if not all(one.known for one in self.predictions):
            from IPython.utils.capture import capture_output

            self.capture = capture_output(stderr=False)
            self.captured = self.capture.__enter__()
            _deferred = []

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        global _deferred
        if self.capture is None:
            return
        later, _deferred = _deferred or [], None
        self.capture.__exit__(kind, error, traceback)
        printed, outputs = self.captured.stdout, self.captured.outputs
        contents = [*([_Printed(printed)] if printed.strip() else []), *outputs, *later]
        if error is None and contents:
            withhold(self.predictions, contents, self.names)


class _Printed:
    """What was printed."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text.rstrip("\n")


def withhold(predictions: Sequence[Prediction], contents: list, names: dict[int, str]) -> None:
    """Show these contents at this place when all predictions have a guess.

    names: what the notebook calls a prediction, by its id.
    """
    from IPython.display import HTML, Markdown, display

    missing = [one for one in predictions if not one.known]
    skips = ", ".join(f"`{names.get(id(one), 'predict(...)')}.skip()`" for one in missing)
    what = " and ".join(f"“{one.question}”" for one in missing)
    waits = f"*Opens when there is a guess at {what}, or without one after {skips}.*"
    texts_now = [Markdown(waits), *(HTML("") for _ in contents[1:])]
    places = [display(text, display_id=True) for text in texts_now]

    def opened() -> None:
        for place, content in zip(places, contents):
            if place is not None:
                _update(place, content)

    when_known(predictions, opened)


def _update(place, content):
    """Show something else at a place: an object, a display that was captured, or what a function
    displays."""
    data, metadata = getattr(content, "data", None), getattr(content, "metadata", None)
    if callable(content):
        from ipywidgets import Output

        out = Output()
        place.update(out)
        with out:
            content()
    elif isinstance(data, dict):
        place.update(data, raw=True, metadata=metadata or {})
    else:
        place.update(content)


def explain(name: str) -> None:
    """Show what came out and why, by the section of that name in the lesson's text.

    Of a prediction it is hidden until there is a guess, and then says how far off that was. Raises
    ArgumentError where the lesson has no such section, or the notebook no such prediction, and
    AssertionError where what came out is not what the section says.
    """
    from IPython.display import Markdown, display

    names = sys._getframe(1).f_globals
    answer, text = texts.section_text(name, names)
    if answer is None:
        display(Markdown(glossary.linked(text)))
        return
    prediction = names.get(name)
    if not isinstance(prediction, Prediction):
        raise ArgumentError(f"explain({name!r}): run the cell above that asks for {name} first")
    explanation = Explanation(prediction, answer, text)
    if prediction.known:
        display(explanation)
    else:
        withhold([prediction], [explanation], {id(prediction): name})
