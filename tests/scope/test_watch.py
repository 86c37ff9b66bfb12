"""`minifp watch`: what it draws is what the microscope counted, in a pipe and in a terminal."""

import re
from functools import partial

import numpy as np
import pytest
from terminals import call, in_a_terminal

import minifp as fp
from minifp.numerics.formats import FORMATS
from minifp.scope import live_text
from minifp.scope.histogram import Histogram
from minifp.scope.observed import ACTIVATIONS, KINDS, WEIGHTS, ObservedStep
from minifp.scope.record import Record
from minifp.scope.updates import Updates

watch = partial(call, "watch")  # where its output is no terminal


def test_each_step_that_is_looked_at_gets_a_line_and_the_advice_follows():
    result = watch("mlp", "--steps", "12", "--every", "5", "--precision", "mixed", "--dial", "9")
    assert result.exit_code == 0 and "\x1b" not in result.output
    title, *lines = result.output.partition("\n\n")[0].splitlines()
    assert title == "mlp-digits, mixed: 12 steps"
    assert [line.partition(":")[0] for line in lines] == ["step 1", "step 6", "step 11"]
    assert all("loss scale 2^16, skipped 0 of" in line for line in lines)
    assert all(f"{kind} zeros" in lines[0] for kind in KINDS)
    assert "in float16" in result.output.partition("\n\n")[2]


def test_it_trains_as_train_does_and_skipped_steps_are_told():
    from minifp.lab.run import train
    from minifp.lab.settings import adjusted

    task = adjusted(fp.load_task("mlp"), None, 4, None)
    losses = train(task, "mixed,loss_scale=1099511627776", 3).history["loss"]
    words = ("--steps", "4", "--every", "1", "--seed", "3", "-p", "mixed,loss_scale=1099511627776")
    output = watch("mlp", *words).output
    assert re.findall(r"loss (\d\S+),", output) == [f"{loss:.4f}" for loss in losses]
    assert "skipped 4 of 4, last step 4" in output and "lost updates -" in output


def test_what_is_not_meant_is_refused_in_one_message():
    for words, said in (
        *((["lnet"], "no task 'lnet'"), (["mlp", "--every", "0"], "every")),
        (["mlp", "--precision", "mixd"], "mixd"),
    ):
        result = watch(*words)
        assert result.exit_code == 2 and said in result.output and "Traceback" not in result.output


def seen(**arrays):
    step = ObservedStep(1)
    for kind, array in arrays.items():
        x = np.asarray(array, np.float16)
        step.add(kind, "layer", Histogram.of(x), FORMATS["float16"])
    return step


def test_a_bar_stands_where_its_exponent_does_and_grows_with_its_count():
    step = seen(weights=[1.0] * 8 + [2.0**-8] * 4 + [2.0**-24] + [0.0] * 13)
    exponents = live_text.exponents_of(step)
    lines = live_text.histograms(step, exponents, 100, live_text.BLOCKS)
    above, below, *_ = lines
    first = live_text.LABEL - exponents[0]
    assert (above[first:][:1], below[first:][:1]) == ("█", "█")  # at 2^0
    assert below[first - 8] == "█" and not above[first - 8 :].startswith("▁")
    assert below[first - 24] == "▂" and below.endswith("zeros 50%")
    tick = lines[-1]
    assert all(tick[first + e :].startswith(str(e)) for e in (-24, -16, -8, 0, 8, 16))
    (held,) = (line for line in lines if line.startswith("float16 holds"))
    assert held.index("-") == first - 24 and held.index("=") == first - 14
    assert held.rindex("=") == first + 15


@pytest.mark.parametrize("width", [50, 80, 200])
def test_every_number_is_in_some_column_whatever_the_width(width):
    numbers = [2.0**e for e in range(-24, 16)]
    step = seen(weights=numbers, activations=[np.inf, np.nan, 1.0])
    columns = live_text.columns_of(live_text.exponents_of(step), width - 34)
    assert len(columns) <= width - 34
    total = sum(live_text.heights(step.total(WEIGHTS), [c], 1)[0] for c in columns)
    assert total == len(columns) - sum(not any(-24 <= e <= 15 for e in c) for c in columns)
    lines = live_text.histograms(step, live_text.exponents_of(step), width, live_text.ASCII)
    assert all(line.isascii() for line in lines)
    assert any(ACTIVATIONS in line and "2 Inf/NaN" in line for line in lines)


def test_lost_updates_are_those_that_were_wanted_and_changed_nothing():
    def record(lost, alone):
        step = seen(weights=[1.0])
        step.updates = {"w": Updates(8, 4, lost, 0, {"float16": alone}, 0, 1.0)}
        return Record(steps=[step, seen(weights=[1.0])])

    assert live_text.lost_updates(record(1, 1)) == "25.0%"
    assert live_text.lost_updates(record(0, 3)) == "none (75.0% with float16 weights alone)"
    assert live_text.lost_updates(Record(steps=[seen(weights=[1.0])])) == "-"


def screen_of(text):
    """What a terminal shows after a text with the signs that are used: up, clear line, clear."""
    lines, row = [""], 0
    for part in re.split(r"(\x1b\[\d*[FKJ]|\n)", text.replace("\r", "")):
        if part == "\n":
            row += 1
            lines += [""] * (row + 1 - len(lines))
        elif up := re.fullmatch(r"\x1b\[(\d+)F", part):
            row -= int(up[1])
        elif part == "\x1b[2K":
            lines[row] = ""
        elif part == "\x1b[J":
            del lines[row + 1 :]
            lines[row] = ""
        else:
            lines[row] += part
    return lines


def test_a_terminal_shows_one_drawing_in_place():
    code, text = in_a_terminal("watch", "mlp", "--steps", "60", "--every", "20")
    shown = screen_of(text)
    assert code == 0 and shown[0].startswith("mlp-digits, mixed: step 60 of 60, ")
    assert sum(line.startswith(WEIGHTS + " ") for line in shown) == 1
    assert sum(line.startswith("float16 holds") for line in shown) == 1
    assert max(map(len, shown[:18])) < 90 and "█" in text
    assert any("Seen in 3 steps" in line for line in shown)


@pytest.mark.nightly
def test_ctrl_c_ends_it_with_what_was_seen():
    code, text = in_a_terminal("watch", "mlp", "--steps", "100000", until=b"step 2")
    shown = "\n".join(screen_of(text))
    assert code == 130 and "Interrupted. Stopped after" in shown and "Traceback" not in shown
    assert "float16 holds" in shown
