"""Numbers in documents are those that were recorded, and one that is not is noticed."""

import sys
from pathlib import Path

import pytest

from minifp.lab.results.first_losses import STEPS, first_losses
from minifp.lab.settings import adjusted
from minifp.lab.tasks import load_task

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import recompute_with_scipy as scipys  # noqa: E402
from check_results import COVERED, TOKEN, lines_of, masked, page_records, problems, read  # noqa: E402


@pytest.mark.parametrize("name", COVERED)
def test_each_number_is_the_recorded_one_and_another_digit_is_noticed(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    assert problems(text) == []
    ends = {line: [m.end() for m in TOKEN.finditer(masked(line))] for _, line in lines_of(text)}
    lines = [line for line, places in ends.items() if places and line[places[0] - 1].isdigit()]
    for line in (lines[0], lines[len(lines) // 2], lines[-1]):
        i = ends[line][0]
        other = f"{line[: i - 1]}{(int(line[i - 1]) + 1) % 10}{line[i:]}"
        assert problems(text.replace(line, other, 1)), other
        assert problems(text.replace(line, f"{line} A new 7.", 1)), line


@pytest.mark.parametrize("call, name, epochs", [("0", "mlp", 10), ("1", "lenet", 5)])
def test_recorded_runs_begin_today_as_they_began(call, name, epochs):
    lanes = pytest.importorskip("minifp.runtime.cpu.kernels.tile").LANES
    if read(page_records.MADE)["state"]["lanes"] != lanes:
        pytest.skip("recorded with vectors of another width")
    rows = [r for r in read(page_records.COURSES) if (r["block"], r["call"]) == ("state", call)]
    task = adjusted(load_task(name, "digits"), epochs)
    for arm in dict.fromkeys(row["arm"] for row in rows):
        before = [float(row["loss"]) for row in rows if row["arm"] == arm][:STEPS]
        assert str(first_losses(task, arm, 0)) == str(before), arm  # NaN is no other NaN


@pytest.mark.parametrize("line, said", [
    ("It is 93.8 %.", "without a marker: 93.8"),
    ('It is 93.9 % <!-- run: mean("detection", "ssd-digits", "float32") -->.', "93.9 is not what"),
    ("It is 93.8 % <!-- constant: 93.8 -->.", "a constant follows from something"),
    ("It is 93.8 % <!-- quoted: we: 93.8 -->.", "quoted from 'we', expected"),
    ('It takes 20 ms <!-- bench: milliseconds("lenet", "minifp-mixed") -->.', "not recorded on"),
    ('EQUIVALENT <!-- run: "DIFFERENT" -->', "EQUIVALENT is not what was recorded"),
])  # fmt: skip
def test_a_number_without_a_source_of_its_kind_is_refused(line, said):
    assert [said in problem for problem in problems(line)] == [True]
    assert problems("It is 1.75 <!-- constant: 448 / 256 -->, `3`, Table 1.") == []


def test_scipy_finds_what_is_recorded_and_another_digit_is_noticed(capsys):
    assert scipys.main([]) == 0 and scipys.agreed["holm"] > 20, capsys.readouterr().out
    scipys.hold("here", {"low": 1.234567}, {"low": 1.234577}, ("low",))
    assert [line[:9] for line in scipys.wrong] == ["here, low"]
