"""Numbers in documents are those that were recorded, and one that is not is noticed."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import check_results  # noqa: E402
import rejudge_gallery  # noqa: E402


def test_recorded_runs_are_judged_by_the_rules_of_today():
    assert rejudge_gallery.main(["--check"]) == 0


@pytest.mark.parametrize("name", check_results.COVERED)
def test_each_number_is_the_recorded_one_and_a_digit_more_or_less_is_noticed(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    assert check_results.problems(text) == []
    last = {line: last_digit(line) for _, line in check_results.lines_of(text)}
    lines = [line for line, place in last.items() if place is not None]
    for line in (lines[0], lines[len(lines) // 2], lines[-1]):
        i = last[line]
        other = f"{line[:i]}{(int(line[i]) + 1) % 10}{line[i + 1 :]}"
        assert check_results.problems(text.replace(line, other, 1)), other
        assert check_results.problems(text.replace(line, f"{line} A new 7.", 1)), line


def last_digit(line):
    """Where the first number that is a result ends; None without one."""
    found = check_results.TOKEN.finditer(check_results.masked(line))
    return next((m.end() - 1 for m in found if m[0][-1].isdigit()), None)


@pytest.mark.parametrize("line, said", [
    ("It is 93.8 %.", "without a marker: 93.8"),
    ('It is 93.9 % <!-- run: mean("detection", "ssd-digits", "float32") -->.', "93.9 is not what"),
    ("It is 93.8 % <!-- constant: 93.8 -->.", "a constant follows from something"),
    ("It is 93.8 % <!-- quoted: we: 93.8 -->.", "quoted from 'we', expected"),
    ('It takes 58 ms <!-- bench: milliseconds("lenet", "minifp-mixed") -->.', "not recorded on"),
    ('EQUIVALENT <!-- run: "DIFFERENT" -->', "EQUIVALENT is not what was recorded"),
])  # fmt: skip
def test_a_number_without_a_source_of_its_kind_is_refused(line, said):
    (problem,) = check_results.problems(line)
    assert said in problem
    assert check_results.problems("It is 1.75 <!-- constant: 448 / 256 -->, `3`, Table 1.") == []
