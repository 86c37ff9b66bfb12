"""What the documents say can be done: programs take their commands, paths lead on, blocks run."""

import csv
import os
import re
import shlex
import subprocess
import sys

import pytest
from loading import SCRIPTS, script

from minifp.teach import glossary, texts
from minifp.teach.exercise import all_exercises
from minifp.teach.lessons import LESSONS
from minifp.teach.mistake import all_mistakes

pytest.importorskip("click")
WALK = script("walk_docs")
from documents import blocks, machine, parsing, paths  # noqa: E402

ROOT = SCRIPTS.parent
TEACHING = ROOT / "docs" / "teaching"
FRONT = [f"{name}/README.md" for name in "minifp models notebooks scripts tests".split()]
PAPERS = [*blocks.documents(), "CONTRIBUTING.md", "CHANGELOG.md", *FRONT]
with WALK.RECORD.open(encoding="utf-8", newline="") as file:
    RECORD = [*csv.DictReader(file)]
SHORT = {row["command"] for row in RECORD if row["outcome"] == "ok" and float(row["seconds"]) < 2}
READS = re.compile(r"(?<!--out )\bruns/|--resume")  # what another command has written


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A folder with what commands read."""
    for folder in ("runs", "submitted", "course/submitted", "handed-in"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "runs" / "lenet.safetensors").touch()
    (tmp_path / "spirals.py").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MINIFP_TEACH_FILE", str(tmp_path / "x.json"))  # which a command forgets


def refusal(words, is_whole=True):
    try:
        parsing.check(words)
    except parsing.Incomplete as error:
        return str(error) if is_whole else None
    except parsing.NotUnderstood as error:
        return str(error)


@pytest.mark.parametrize("paper", PAPERS)
def test_every_command_is_understood_and_every_path_leads_on(paper, checkout):
    """Its options are read as they stand; what it trains is trained by scripts/walk_docs.py."""
    refused = [refusal(*command) for command in blocks.commands(paper)]
    assert [text for text in refused if text] == [] and paths.missing(paper) == []


def test_what_the_workflows_make_is_in_the_makefile():
    texts = [path.read_text("utf-8") for path in (ROOT / ".github" / "workflows").iterdir()]
    commands = re.findall(r"make \w.* PYTHON=.*", "\n".join(texts))
    assert len(commands) == 4 and [refusal(shlex.split(line)) for line in commands] == [None] * 4


def test_every_document_is_reached_and_names_nothing_of_one_machine():
    links = {p: {os.path.normpath(os.path.join(os.path.dirname(p), link.partition("#")[0]))
                 for link in paths.LINK.findall(blocks.read(p))} for p in PAPERS}  # fmt: skip
    reached = {"README.md", *links["README.md"], *links["docs/README.md"]}
    reached |= links["docs/teaching/README.md"]
    assert {*blocks.documents()} <= reached
    of_a_machine = r"(?<![\w.])/(home|root|work|tmp|usr|Users)/|[A-Z]:\\"
    assert [paper for paper in PAPERS if re.search(of_a_machine, blocks.read(paper))] == []


@pytest.mark.parametrize("deck", sorted(TEACHING.glob("slides/*.md")), ids=lambda deck: deck.stem)
def test_a_deck_is_marps_and_each_slide_has_notes(deck):  # pictures, commands: above
    text = deck.read_text(encoding="utf-8")
    _, front, *slides = re.split(r"^---\n", text, flags=re.M)
    assert front.startswith("marp: true\n") and re.search(r"^title: [^:\n]+$", front, re.M)
    notes = [re.findall(r"<!--\n([^-]+.*?)\n-->", slide, re.S) for slide in slides]
    assert len(slides) > 10 and [len(note) for note in notes] == [1] * len(slides)
    assert {*re.findall(r"`([\w-]+)\.ipynb`", text)} <= {*LESSONS}
    assert {*re.findall(r"`([a-z]+_\w+)`", text)} <= {*all_exercises()}


def test_every_link_to_the_glossary_leads_to_a_heading():
    hints = [hint for exercise in all_exercises().values() for hint in exercise.words.hints]
    hints += [mistake.hint for known in all_mistakes().values() for mistake in known]
    sections = [s.text for name in LESSONS for s in texts.sections(name).values()]
    lessons = [path.read_text("utf-8") for path in (ROOT / "notebooks" / "source").glob("*.py")]
    linked = re.findall(r"glossary\.md#([\w-]+)\)", " ".join([*hints, *sections, *lessons]))
    assert {*linked} <= paths.headings(TEACHING / "glossary.md") and len(linked) > 40
    assert not [text for text in hints + sections if "glossary.md" in glossary.plain(text)]
    assert glossary.linked("[a](glossary.md#gap)") == "[a](../docs/teaching/glossary.md#gap)"
    links = "[gap](../docs/teaching/glossary.md#gap) [docs/a.md](../docs/a.md#b) [It](../a.md#c-d)"
    assert glossary.beside(links) == "[gap](glossary.md#gap) docs/a.md It (docs/a.md)"


def test_the_plans_cells_are_the_instructors_seconds_and_fit():
    seconds = re.findall(r"^\| (\w+) \| (\d+) \|", blocks.read("docs/teaching/instructor.md"), re.M)
    minutes = {lesson: int(number) / 60 for lesson, number in seconds}
    plan = blocks.read("docs/teaching/plan.md")
    for lessons, cells in re.findall(r"\)\) \| ([\w, ]+) \| ([\d.]+) \|", plan):
        assert abs(sum(minutes[one] for one in lessons.split(", ")) - float(cells)) <= 0.05
    lab = [*map(float, re.findall(r"\| ([\d.]+) \| (?:students|pairs) \|", plan))]
    assert lab[1:] == [round(minutes[one], 1) for one in ("compare", "1", "2", "3", "5")]
    assert f"compute for {sum(lab):.1f} minutes" in plan


@pytest.mark.parametrize("line", [
    "minifp nothing", "minifp compare nothing", "minifp compare lenet --seed 3", "minifp merge",
    "minifp compare lenet --precision float33", "make nothing", "make site WHEEL=DIR", "nothing",
    "python scripts/nothing.py", "python scripts/bench.py --nothing", "python -m nothing",
    "python scripts/build_site.py --wheel .", "pip install minifp[nothing]", "pip nothing",
])  # fmt: skip
def test_a_command_that_its_program_would_refuse_is_told(line, checkout):
    assert refusal(shlex.split(line))


@pytest.mark.parametrize(
    "line", sorted(s for s in SHORT if re.match("minifp", s) and not READS.search(s))
)
def test_a_command_that_took_under_two_seconds_runs(line, checkout):
    words = [sys.executable, "-W", "error", "-m", *shlex.split(line)]
    done = subprocess.run(words, capture_output=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(os.name == "nt", reason="a shell's commands")
def test_a_walk_runs_what_is_not_left_out_and_tells_how_it_ended(tmp_path, monkeypatch):
    text = """<!-- not walked, `false`: of one -->\n```sh\nA=1  # a remark\ntest $A = 1
false\nfor i in 2 3; do\n    exit $i\ndone\nsleep 9\n```\n`. ./env`\n```powershell\ndir\n```
```python\n# n.py\nx = 3\n```\n```python\nfrom n import x\n```\n```python\nassert x == 4\n```\n
<!-- not walked: of all -->\n```python\nx = 5\n```\n"""
    monkeypatch.setattr(blocks, "read", lambda document: text)
    monkeypatch.setattr(machine.Machine, "fresh_clone", lambda self: self.clone.mkdir())
    monkeypatch.setattr(machine.subprocess, "run", lambda *_, **__: None)  # no wheel
    there = machine.Machine(tmp_path, limit=1)
    there.begin()
    (there.clone / "env").write_text("B=2\n", encoding="utf-8")
    told = [outcome.text for _, _, outcome in WALK.walk("README.md", there)]
    there.close()
    assert told == [
        "ok", "ok", "not run: of one", "failed with 2", "still running after 1 s", "ok",
        "not run: needs Windows", "written", "ok", "failed: AssertionError", "not run: of all",
    ]  # fmt: skip
