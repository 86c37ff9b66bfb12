"""Predict, run, explain: a guess is kept before the answer is shown.

The first guess at a question is kept for ever; later ones stand beside it.
"""

from collections.abc import Callable, Sequence
from math import isfinite
from typing import Any

from minifp.errors import ArgumentError
from minifp.teach import glossary, lessons, mode, progress

_guesses: dict[str, list] = {}  # by the key of a question, in order; None: looked without a guess
_waiting: list[tuple[tuple["Prediction", ...], Callable[[], None]]] = []


class Prediction:
    """A question and the guesses at its answer.

    unit: of a number, "" of a text or a bare number. of: the texts to choose from, if any.
    """

    def __init__(self, question: str, unit: str, guess: Any, of: tuple = ()) -> None:
        self.question, self.unit, self.of = question, unit, of
        self.key = f"{lessons.current_name()}: {question}"
        _guesses[self.key] = [] if mode.shows_answers() else progress.guesses(self.key)
        if guess is not ...:
            self.take(guess)
        _open_what_waited()

    @property
    def guesses(self) -> list:
        """All guesses in order; None among them: the answer was looked at without one."""
        return _guesses[self.key]

    @property
    def guess(self) -> Any:
        """The first guess, a number or a text; None where there is none."""
        return next((guess for guess in self.guesses if guess is not None), None)

    @property
    def known(self) -> bool:
        """Whether the answer may be shown: there is a guess, or it was skipped."""
        return mode.shows_answers() or bool(self.guesses)

    def take(self, guess: Any) -> None:
        """Keep a guess: the first one for ever, another one beside it. Opens what waits for it.
        Raises ArgumentError for no number, or none of the texts to choose from."""
        self._check(guess)
        if not self.guesses or self.guesses[-1] != guess:
            self._keep(guess)

    def skip(self) -> None:
        """Show the answer without a guess, which is kept as such; a guess that was made stays."""
        if not self.known:
            self._keep(None)

    def _keep(self, guess):
        if mode.shows_answers():
            self.guesses.append(guess)
        else:
            _guesses[self.key] = progress.keep_guess(self.key, guess)
        _open_what_waited()

    def _check(self, guess):
        choices = ", ".join(map(repr, self.of))
        if self.of and guess not in self.of:
            raise ArgumentError(f"{self.question!r}: expected one of {choices}; got {guess!r}")
        is_number = isinstance(guess, (int, float)) and not isinstance(guess, bool)
        if not self.of and not (is_number and isfinite(guess)):
            expected = f"expected {self._number()}, such as 2.0"
            raise ArgumentError(f"{self.question!r}: {expected}; got {guess!r}")

    def _number(self) -> str:
        return f"a number of {self.unit}" if self.unit else "a number"

    @property
    def guessed(self) -> str:
        """The guess in words, and later ones."""
        if self.guess is None:
            return "nothing"
        first, *later = [in_words(g, self.unit) for g in self.guesses if g is not None]
        looked = ", after you had looked" if self.guesses[0] is None else ""
        return first + looked + (f" (later {', '.join(later)})" if later else "")

    def _repr_markdown_(self) -> str:
        if self.guesses:
            return f"**{self.question}** You say: {self.guessed}."
        if mode.shows_answers():
            return f"**{self.question}**"
        answer = " or ".join(map(repr, self.of)) or self._number()
        return f"**{self.question}** Write {answer} where `...` stands, and run this cell again."

    def __repr__(self) -> str:
        return self._repr_markdown_().replace("**", "")

    def _ipython_display_(self) -> None:
        from IPython.display import display

        if not self.known and mode.has_widgets():
            from minifp.teach.guessing import show_field

            show_field(self)
        else:
            display({"text/markdown": self._repr_markdown_(), "text/plain": repr(self)}, raw=True)


def when_known(predictions: Sequence[Prediction], opened: Callable[[], None]) -> None:
    """Call `opened` once all of these have a guess."""
    _waiting.append((tuple(predictions), opened))
    _open_what_waited()


def _open_what_waited():
    for waits in [*_waiting]:
        predictions, opened = waits
        if all(one.known for one in predictions):
            _waiting.remove(waits)
            opened()


class Explanation:
    """What a notebook shows of a Prediction once it is known what came out.

    answer: the number, in the guess's unit, or the text that is right. text: Markdown.
    """

    def __init__(self, prediction: Prediction, answer: Any, text: str) -> None:
        self.prediction, self.answer, self.text = prediction, answer, text

    def _told(self) -> str:
        if self.prediction.guess is None:
            return f"It is **{self._said()}**.\n\n{self.text}"
        return f"You said {self.prediction.guessed}; {self._compared()}.\n\n{self.text}"

    def _repr_markdown_(self) -> str:
        return glossary.linked(self._told())

    def __repr__(self) -> str:
        return glossary.plain(self._told()).replace("**", "")

    def _said(self) -> str:
        unit = self.prediction.unit
        if unit == "points" and self.answer < 0:  # questions ask how far behind
            return in_words(-self.answer, "points higher, not lower")
        return in_words(self.answer, unit)

    def _compared(self) -> str:
        guess = self.prediction.guess
        if isinstance(self.answer, str):
            right = guess == self.answer
            return f"that is **right**: {self.answer}" if right else f"it is **{self._said()}**"
        if guess == self.answer:
            return f"that is **right**: {self._said()}"
        away = in_words(abs(guess - self.answer), "")
        return f"it is **{self._said()}**, {away} away"


def in_words(value: Any, unit: str) -> str:
    """A text, or a number with its unit: whole and large ones to the last digit before the point,
    others to three digits."""
    if isinstance(value, str):
        return value
    digits = ",.0f" if abs(value) >= 1000 or float(value).is_integer() else ".3g"
    return f"{value:{digits}} {'point' if unit == 'points' and value == 1 else unit}".strip()


def predict(question: str, *, of: Any = (), **guess: Any) -> Prediction:
    """Keep a guess before the answer is computed.

    question: what is asked. The one keyword is the unit, with the guess, or `...` as long as there
    is none: predict("How much worse will mixed be?", points=...), or `number` where there is no
    unit; of texts, predict("What will it do?", choice="stand still", of=("train", "stand still")).
    Raises ArgumentError for none or several keywords, a guess that is no number, or is not among
    `of`.
    """
    if len(guess) != 1:
        raise ArgumentError(
            f"predict({question!r}) has {len(guess)} guesses: expected one, by the name of its "
            "unit, such as points=2.0, or choice=... with of=(...)"
        )
    [(unit, value)] = guess.items()
    of = tuple(of)
    in_units = "" if of or unit == "number" else unit.replace("_", " ")
    return Prediction(question, in_units, value, of)
