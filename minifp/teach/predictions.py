"""Predict, run, explain: a guess is stored before the answer is shown."""

from typing import Any

from minifp.errors import ArgumentError
from minifp.teach import lessons, mode, progress


class Prediction:
    """A question and the guess at its answer.

    guess: a number, a text, or None where there is none yet. unit: of a number, "" of a text.
    """

    def __init__(self, question: str, unit: str, guess: Any, of: tuple = ()) -> None:
        self.question, self.unit, self.of = question, unit, of
        self.key = f"{lessons.current_name()}: {question}"
        self.guess = self._kept() if guess is ... else guess
        if self.guess is not None:
            progress.keep("predictions", self.key, self.guess)

    def _kept(self):
        return None if mode.shows_answers() else progress.read()["predictions"].get(self.key)

    @property
    def guessed(self) -> str:
        """The guess in words."""
        return in_words(self.guess, self.unit)

    def _repr_markdown_(self) -> str:
        if self.guess is not None:
            return f"**{self.question}** You say: {self.guessed}."
        if mode.shows_answers():
            return f"**{self.question}**"
        number = f"a number of {self.unit}" if self.unit else "a number"
        wanted = " or ".join(map(repr, self.of)) or number
        return f"**{self.question}** Write {wanted} where `...` stands, and run this cell again."

    def __repr__(self) -> str:
        return self._repr_markdown_().replace("**", "")

    def explain(self, answer: Any, text: str = "") -> "Explanation":
        """What came out, beside the guess, and why; hidden as long as there is no guess.

        answer: the number, in the guess's unit, or the text that is right. text: Markdown.
        """
        return Explanation(self, answer, text)


class Explanation:
    """What a notebook shows of a Prediction once it is known what came out."""

    def __init__(self, prediction: Prediction, answer: Any, text: str) -> None:
        self.prediction, self.answer, self.text = prediction, answer, text

    def _repr_markdown_(self) -> str:
        if self.prediction.guess is not None:
            return f"You said {self.prediction.guessed}; {self._compared()}.\n\n{self.text}"
        if mode.shows_answers():
            return f"It is **{self._said()}**.\n\n{self.text}"
        return "The answer waits for your prediction: write it above, then run this cell again."

    def __repr__(self) -> str:
        return self._repr_markdown_().replace("**", "")

    def _said(self) -> str:
        return in_words(self.answer, self.prediction.unit)

    def _compared(self) -> str:
        if isinstance(self.answer, str):
            right = self.prediction.guess == self.answer
            return f"that is **right**: {self.answer}" if right else f"it is **{self._said()}**"
        away = in_words(abs(self.prediction.guess - self.answer), "")
        return f"it is **{self._said()}**, {away} away"


def in_words(value: Any, unit: str) -> str:
    """A text, or a number with its unit: whole and large ones to the last digit before the point,
    others to three digits."""
    if isinstance(value, str):
        return value
    digits = ",.0f" if abs(value) >= 1000 or float(value).is_integer() else ".3g"
    return f"{value:{digits}} {unit}".strip()


def predict(question: str, *, of: Any = (), **guess: Any) -> Prediction:
    """Store a guess before the answer is computed.

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
    if of:
        if value is not ... and value not in of:
            raise ArgumentError(f"{unit}={value!r}: expected one of {', '.join(map(repr, of))}")
        return Prediction(question, "", value, of)
    if value is not ... and (isinstance(value, bool) or not isinstance(value, (int, float))):
        raise ArgumentError(f"{unit}={value!r}: expected a number of {unit}, such as {unit}=2.0")
    return Prediction(question, "" if unit == "number" else unit.replace("_", " "), value)
