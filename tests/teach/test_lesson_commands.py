"""`minifp teach`: lessons are copied, progress is shown and deleted, as a student types it."""

import json
import re
from functools import partial

import pytest
from pages import checked
from terminals import call

from minifp import teach
from minifp.teach import lessons
from minifp.teach.exercise import all_exercises

LESSON = "01-sixteen-bits"
teaching = partial(call, "teach")


@pytest.fixture
def done():
    teach.begin(LESSON)
    for choice in ("2^-24", "0"):
        teach.predict("3e-8 is stored as", of=("0", "2^-24"), choice=choice)
    teach.check(zero_up_to=3e-8)
    teach.check(zero_up_to=...)
    teach.check(zero_up_to=2.0**-25)


def test_lessons_are_listed_and_copied_as_they_are_and_never_over_a_students(tmp_path):
    text = teaching("lessons").output
    assert f"{LESSON} Sixteen bits What can float16 say? 0:20" in " ".join(text.split())
    assert text.index("compare") < text.index(LESSON)
    result = teaching("lessons", LESSON, "--out", "mine")
    file = tmp_path / "mine" / f"{LESSON}.ipynb"
    there = lessons.notebook(lessons.LESSONS[LESSON]).read_bytes()
    assert file.read_bytes() == there.replace(b"../docs/teaching/glossary.md", b"glossary.md")
    assert result.exit_code == teaching("lessons", "--out", "all").exit_code == 0
    copies = [json.loads(p.read_text("utf-8")) for p in (tmp_path / "all").glob("*.ipynb")]
    assert all(copy["cells"] for copy in copies) and len(copies) == len(lessons.LESSONS)
    file.write_text("my work", encoding="utf-8")
    refused = teaching("lessons", "--out", "mine")
    assert refused.exit_code == 2 and "--again" in refused.output
    assert {p.name for p in file.parent.iterdir()} == {file.name, "glossary.md"}  # and no other
    for n in (2, 3):
        teaching("lessons", LESSON, "--out", "mine", "--again")
        assert json.loads((file.parent / f"{LESSON}-{n}.ipynb").read_text("utf-8"))["cells"]
    assert file.read_text("utf-8") == "my work"


def test_lessons_that_there_are_not_are_refused(tmp_path, monkeypatch):
    for words, said in (
        (["01-sixten-bits"], "near are: 01-sixteen-bits"),
        ([LESSON, "--again"], "--again needs --out DIR"),
        ([LESSON, "--out", "mine"], "is not here"),
    ):
        if "mine" in words:
            monkeypatch.setattr(lessons, "NOTEBOOKS", tmp_path)
        result = teaching("lessons", *words)
        assert result.exit_code == 2 and said in " ".join(result.output.split())


def test_status_says_what_was_predicted_solved_and_tried_and_where_it_lies(done, own_file):
    text = teaching("status").output
    lines = {line.split()[0]: line.split()[1:] for line in text.splitlines() if line.split()}
    mine = sum(exercise.lesson == LESSON for exercise in all_exercises().values())
    assert lines[LESSON][-4:] == ["1", "1", "of", str(mine)] and lines["compare"][-2:] == ["-", "-"]
    assert "  predicted  3e-8 is stored as 2^-24 (later 0)" in text
    assert "  solved     What float16 stores as zero, 1 try wrong" in text  # `...` was no try
    assert "  to do      Round to float16" in text and re.search(r"1 of \d+ exercises solved", text)
    assert f"Kept in {own_file}, and sent nowhere" in text


def test_status_as_json_has_it_all_and_at_first_says_how_to_begin(own_file, request):
    assert "minifp teach lessons --out DIR" in teaching("status").output and not own_file.exists()
    teach.predict("How many: 3?", points=2.5)
    assert "Outside of lessons" in teaching("status").output
    request.getfixturevalue("done")
    told = json.loads(teaching("status", "--json").output)
    (lesson,) = (one for one in told["lessons"] if one["lesson"]["name"] == LESSON)
    assert told["file"] == str(own_file) and lesson["lesson"]["minutes"] == pytest.approx(1 / 3)
    assert lesson["predictions"] == {"3e-8 is stored as": "2^-24"}
    states = {e["name"]: (e["solved"], e["failed"]) for e in lesson["exercises"]}
    assert states["zero_up_to"] == (True, 1)
    assert {state for name, state in states.items() if name != "zero_up_to"} == {(False, 0)}


def test_the_page_says_what_the_terminal_says_and_fetches_nothing(done, tmp_path):
    teach.predict("Is 1 < 2 & true?", of=("<yes>",), choice="<yes>")
    assert "Page: page.html" in teaching("status", "--out", "page.html").output
    page = checked((tmp_path / "page.html").read_text("utf-8"))
    assert {"3e-8 is stored as 2^-24 (later 0)", "solved", "Is 1 < 2 & true? <yes>"} <= {
        *page.texts
    }
    assert page.values("src", "href") == ["data:,"] and page.texts.count("Sixteen bits") >= 1


def test_a_file_of_something_else_is_neither_read_nor_deleted(own_file):
    own_file.parent.mkdir()
    own_file.write_text('{"taxes": 2026}', encoding="utf-8")
    for words in (["status"], ["forget", "--yes"]):
        result = teaching(*words)
        assert result.exit_code == 2 and "is not a file of a student's progress" in result.output
    assert own_file.read_text("utf-8") == '{"taxes": 2026}'


@pytest.mark.parametrize("words, typed, is_left", [
    ([], "n\n", True), ([], "y\n", False), (["--yes"], "", False),
])  # fmt: skip
def test_progress_is_deleted_when_that_is_meant(words, typed, is_left, done, own_file):
    result = teaching("forget", *words, input=typed)
    assert result.exit_code == 0 and own_file.exists() == is_left
    assert "1 prediction made" in result.output
    again = teaching("forget", "--yes")
    assert ("Nothing to delete" in again.output) == (not is_left)


def test_a_class_sees_its_first_guesses_without_names_and_broken_files_are_named(tmp_path):
    asked, chosen = f"{LESSON}: How many?", f"{LESSON}: <Which>?"
    guesses = [*range(0, 1200, 100), 1e9, 0.5]
    for i, guess in enumerate([*guesses, -7, 1e308, None]):
        kept = {"predictions": {asked: guess, chosen: "a&b"}, "later": {asked: [3]}}
        path = tmp_path / "class" / str(i) / "progress.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(kept), encoding="utf-8")
    few = [tmp_path / "class" / str(i) for i in range(len(guesses))]
    result = teaching("collect", *few)
    text = " ".join(result.output.split())
    assert "How many? 0: 1, 0.1 to 10: 1, 10 to 1,000: 9, 1,000 to 100,000: 2 and 1e+09" in text
    assert "<Which>? a&b: 14" in text
    page = checked((tmp_path / "guesses.html").read_text("utf-8"))
    assert "<Which>? (14 students)" in page.words and "Sixteen bits" in page.words
    (tmp_path / "class" / "x.json").write_text("{", encoding="utf-8")
    result = teaching("collect", "class", *few, "--out", "all.html")
    assert "15 students" not in result.output and "16 students at 2 questions" in result.output
    assert result.output.count("Left out:") == 2 and "16/progress.json is not a" in result.output
    refused = teaching("collect", "class/x.json", "--out", "none.html")
    assert refused.exit_code == 2 and not (tmp_path / "none.html").exists()


def test_a_solution_is_shown_after_three_tries_once_it_is_solved_or_at_once(monkeypatch):
    refused, wrong = teaching("solution", "zero_up_to"), (2.0**-24, 3e-8, 3e-8, 2.0**-26)
    assert refused.exit_code == 2 and "0 of 3 tries so far" in refused.output
    for answer in wrong:
        assert teaching("solution", "zero_up_to").exit_code == 2
        teach.check(zero_up_to=answer)
    assert teaching("solution", "zero_up_to").output.endswith("zero\nzero_up_to = 2.0**-25\n")
    teach.check(below_normal=1023)
    assert "below_normal = 1023" in teaching("solution", "below_normal").output
    for name in all_exercises():
        text = teaching("solution", name, "--now").output
        assert compile(text, name, "exec") and name in text and "SOLUTION" not in text
    assert "near are: round_f16" in teaching("solution", "round_f6", "--now").output
    monkeypatch.setattr(lessons, "NOTEBOOKS", lessons.NOTEBOOKS / "nowhere")
    assert "solutions are not here" in teaching("solution", "round_f16", "--now").output
