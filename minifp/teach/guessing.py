"""Where there are widgets: a field for a number, or a button for each text, that take a guess."""

from typing import Any

from minifp.errors import ArgumentError

LOOK = "No guess: show it"


def show_field(prediction: Any) -> None:
    """Display the question of a Prediction with its field or buttons, which say afterwards what was
    guessed."""
    from IPython.display import display
    from ipywidgets import HTML, Button, HBox, Layout, Text, VBox
    from markupsafe import Markup

    question = Markup("<b>{}</b>").format(prediction.question)
    said = HTML(question)
    wide = Layout(width="auto")
    field = Text(placeholder=prediction.unit or "a number", layout=Layout(width="14em"))
    guesses = [Button(description=text, layout=wide) for text in prediction.of or ("Guess",)]
    look = Button(description=LOOK, layout=wide)
    parts = [*([] if prediction.of else [field]), *guesses, look]

    def done(taken: Any) -> None:
        try:
            taken()
        except (ArgumentError, ValueError) as error:
            said.value = question + f" {error}"
            return
        said.value = question + f" You say: {prediction.guessed}."
        for part in parts:
            part.disabled = True

    def guessed(button: Any) -> None:
        value = button.description if prediction.of else field.value
        done(lambda: prediction.take(value if prediction.of else float(value.replace(",", ""))))

    for button in guesses:
        button.on_click(guessed)
    look.on_click(lambda _button: done(prediction.skip))
    display(VBox([said, HBox(parts, layout=Layout(flex_flow="row wrap"))]))
