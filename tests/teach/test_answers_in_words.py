"""How predictions and what came out are told."""

from minifp import teach


def test_whole_numbers_are_told_to_the_last_digit_and_a_unit_but_for_a_bare_number():
    guess = teach.predict("The first whole number that float16 lacks?", number=2000)
    for answer, told in (
        (2049, "**2,049**, 49 away"),  # to the last digit: 2.05e+03 would not tell it from 2,048
        *((65520.0, "**65,520**, 63,520 away"), (2000.5, "**2,000**, 0.5 away")),
        *((float("inf"), "**inf**, inf away"), (float("nan"), "**nan**, nan away")),
    ):
        assert told in guess.explain(answer)._repr_markdown_()
    assert "a number where" in repr(teach.predict("How many?", number=...))
    assert "a number of points where" in repr(teach.predict("How much?", points=...))
    assert repr(teach.predict("How much?", points=2.5)).endswith("You say: 2.5 points.")
