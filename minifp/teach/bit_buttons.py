"""The bits of a number as buttons to click."""

from typing import Any

import numpy as np

from minifp.errors import ArgumentError
from minifp.numerics.format_codes import codes_of, values_of
from minifp.numerics.number_format import Format
from minifp.scope.explaining.explain import explain
from minifp.scope.explaining.explanations import formats_of
from minifp.teach.mode import has_widgets

MOST = 16  # bits that have a button each


def bits(x: float, format: Any = "float16") -> Any:
    """The bits of x in a format, each a button that flips it; without widgets, what `explain` shows
    of it.

    Raises ArgumentError for a format of more than 16 bits.
    """
    [chosen] = formats_of([format])
    if chosen.bits > MOST:
        raise ArgumentError(f"bits: {chosen.name} has {chosen.bits} bits, more than {MOST} buttons")
    return buttons(x, chosen) if has_widgets() else explain(x, formats=chosen)


def texts(code: int, format: Format) -> list[str]:
    """ "0" or "1" for each bit of a code, the sign first."""
    return list(f"{code:0{format.bits}b}")


def number(said: list[str], format: Format) -> float:
    """The number of such texts."""
    return float(values_of(np.array([int("".join(said), 2)]), format)[0])


def buttons(x: float, format: Format) -> Any:
    """A row of buttons, one for each bit, coloured by sign, exponent and fraction, and below
    what they say: of x itself at first, which the format may have to round."""
    from ipywidgets import HBox, Layout, Output, ToggleButton, VBox

    first = texts(int(codes_of(np.array([x], np.float64), format)[0]), format)
    styles = ["danger", *["success"] * format.exponent_bits]
    styles += [""] * (format.bits - len(styles))
    row = [
        ToggleButton(bit == "1", description=bit, button_style=style, layout=Layout(width="2.4em"))
        for bit, style in zip(first, styles)
    ]
    below = Output()

    def tell(value):
        from IPython.display import display

        below.clear_output(wait=True)
        with below:
            display(explain(value, formats=format))

    def turned(_change):
        for button in row:
            button.description = str(int(button.value))
        tell(number([button.description for button in row], format))

    for button in row:
        button.observe(turned, "value")
    tell(x)
    return VBox([HBox(row, layout=Layout(flex_flow="row wrap")), below])
