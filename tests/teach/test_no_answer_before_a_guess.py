"""Each lesson, run as students get it and with no guess made, shows no answer: in no output, and in
no cell's source."""

import json
import re

import pytest
from loading import script

from minifp.teach.lessons import LESSONS

for needed in ("nbformat", "nbclient", "ipykernel", "jupytext"):
    pytest.importorskip(needed)

FIRST = "01-sixteen-bits"
# Before and behind a student's cells: which answers there are to be found.
WRITES_DOWN = """from minifp.teach import withheld
class Written(withheld.Explanation):
    all = []
    def __init__(self, prediction, answer, text):
        super().__init__(prediction, answer, text)
        self.all.append((prediction.question, prediction.of, answer))
withheld.Explanation = Written"""
TELLS = "import json\nprint(json.dumps(Written.all, default=float))"
NUMBER = re.compile(
    r"""(?<![\w.^])-? (?:\d{1,3}(?:,\d{3})+ | \d+) (?:\.\d+)? (?:e[-+]?\d+)?
    (?:(?:\*\*|\^) \{?-?\d+)? (?:\ ?% | \ percent)?""",
    re.I | re.X,
)


def is_told(answer, of, text):
    """Whether a text tells the answer: of several to choose from that one and no other; a number
    in digits, as a share or as a power: to three of its figures, as a percentage to two."""
    if of:
        said = {one for one in of if re.search(rf"(?<![\w.]){re.escape(one)}(?![\w.])", text)}
        return said == {answer}
    return any(is_written(answer, number) for number in {*NUMBER.findall(text)})


def is_written(answer, number):
    """Whether a number as a text has it is the answer, or a hundredth of it."""
    percent = number.endswith(("%", "percent"))
    number = re.sub(r"percent|[^-\d.e^]", "", number.lower().replace("**", "^"))
    base, _, power = number.partition("^")
    figures = len(re.sub(r"e.*|\D", "", base).lstrip("0")) if not power else 17
    value = float(base) ** float(power or 1)
    return figures >= 3 - percent and any(
        value == float(f"{same:.{figures}g}") for same in (answer, answer / 100)
    )


@pytest.mark.parametrize(
    "text", ["2,049", "2049.0", "it is 2049.", "2.049e3", "20.5", "20%", "`2049`"]
)
def test_a_number_is_recognized_however_it_is_written(text):
    assert is_told(2049.0, (), text)
    assert is_told(2.0**-24, (), "2^{-24}") and is_told("x", ("x", "y"), "x")
    for other in ("2,048", "20490", "20", "2^11", "2%"):
        assert not is_told(2049.0, (), other)


@pytest.mark.parametrize(
    "name", [FIRST, *(pytest.param(n, marks=pytest.mark.nightly) for n in LESSONS if n != FIRST)]
)
def test_without_a_guess_no_answer_is_to_be_seen(name, monkeypatch):
    import nbformat
    from nbclient import NotebookClient

    monkeypatch.setenv("FAST", "1")
    monkeypatch.delenv("MINIFP_TEACH", raising=False)
    notebook = script("write_notebooks").for_students(name)
    before, behind = map(nbformat.v4.new_code_cell, (WRITES_DOWN, TELLS))
    cells = notebook.cells
    notebook.cells = [before, *cells, behind]
    NotebookClient(notebook, timeout=3600, kernel_name="python3").execute()
    answers = json.loads(behind.outputs[0].text)
    assert len(answers) == sum(cell.source.count("teach.predict(") for cell in cells) > 0
    for question, of, answer in answers:
        asked = next(i for i, cell in enumerate(cells) if question in cell.source)
        where = (
            [c for c in cells[asked:] if c.cell_type == "code"] if of else cells
        )  # terms are told
        for text in (text for cell in where for text in texts_of(cell, of and answer.isdecimal())):
            assert not is_told(answer, of, text.replace(question, "")), (question, answer, text)


def texts_of(cell, outputs_only):
    """What the outputs of a cell say, and its source, unless that is full of such small numbers."""
    if not outputs_only:
        yield cell.source
    for output in cell.get("outputs", ()):
        yield output.get("text", "")
        yield from (
            str(said) for kind, said in output.get("data", {}).items() if "image" not in kind
        )
