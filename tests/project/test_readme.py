"""The README and docs/: the Python of README and guide runs, and tables are true."""

import ast
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import minifp as fp
import minifp.nn.functional as F
from minifp import models, optim
from minifp.numerics.autocast import LOWS, Table
from minifp.numerics.policy import SWITCHES

ROOT = Path(__file__).resolve().parents[2]
PAPERS = {
    path: path.read_text(encoding="utf-8")
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
}
README, GUIDE = PAPERS[ROOT / "README.md"], PAPERS[ROOT / "docs" / "guide.md"]
ALL = "\n\n".join(PAPERS.values())
ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}


def blocks(language, text=README):
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def block(start, text=README):
    (code,) = (code for code in blocks("python", text) if code.startswith(start))
    return code


def lines_of_code(text):
    return [line for line in text.splitlines() if line.strip()]


def table(head):
    lines = ALL[ALL.index(f"| {head} ") :].split("\n\n")[0].splitlines()
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


def python(*arguments, cwd):
    command = [sys.executable, "-W", "error", *arguments]
    streams = {"capture_output": True, "text": True, "encoding": "utf-8"}
    done = subprocess.run(command, cwd=cwd, env={**os.environ, **ONE_THREAD}, **streams)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def folder(tmp_path):
    for code in blocks("python", GUIDE):
        if name := re.match(r"# (\w+\.py)\n", code):
            (tmp_path / name[1]).write_text(code, encoding="utf-8")
    return tmp_path


def run_python_of(papers, folder):
    files = []
    for path in papers:
        program = "\n\n".join(c for c in blocks("python", PAPERS[path]) if not c.startswith("# "))
        files.append(folder / f"{path.parent.name}_{path.stem}_.py")
        files[-1].write_text(program, encoding="utf-8")
    runs = [f"runpy.run_path({file.name!r})" for file in files]
    (folder / "all.py").write_text("\n".join(["import runpy", *runs]), encoding="utf-8")
    return python("all.py", cwd=folder)


def test_all_python_of_the_readme_and_the_guide_runs_in_order(folder):
    said = run_python_of([ROOT / "README.md", ROOT / "docs" / "guide.md"], folder)
    (shown,) = blocks("text")
    assert shown in said  # also the norm: minifp begins with seed 0
    assert "mixed against float32" in said and "EQUIVALENT" in said
    assert (folder / "scope.html").is_file()


def test_a_task_of_ones_own_learns_what_it_is_there_for(folder):
    result = fp.compare(f"{folder / 'spirals.py'}:task", seeds=1, progress=False)
    assert all(row.mean > 90 for row in result.rows())  # guessing gives 33


CLAIMED = [shlex.split(row[2].split("`")[1])[1:] for row in table("claim") if "`minifp" in row[2]]
SHORTEST = {  # options that end a command at once; those of the demo and of lessons have own tests
    "explain": [], "summary": [], "inspect": ["--steps", "2"], "gallery": ["--quick", "--dry-run"],
}  # fmt: skip


@pytest.mark.sampled(9, core=lambda words: words[0] == "explain")
@pytest.mark.parametrize("words", [w for w in CLAIMED if w[0] in SHORTEST], ids=" ".join)
def test_the_command_beside_each_claim_runs(words, folder):
    if words[1] in ("classification", "spoken-digits", "translation-en-fr", "skips"):
        pytest.importorskip("PIL")
        if "MINIFP_DATA" not in os.environ:
            pytest.skip("MINIFP_DATA names no folder with CIFAR-10, MNIST, FSDD and Multi30k")
    assert python("-m", "minifp", *words, *SHORTEST[words[0]], cwd=folder)


def long(*row):
    return pytest.param(*row, marks=pytest.mark.nightly)


@pytest.mark.parametrize(("number", "answer"), [
    long(1, r" EQUIVALENT$[\s\S]*^mixed, +\d\d?(\.\d)? +2\^\d+ "),  # skips, scale
    (2, r"they arose in forward: .* in few bits \(optimizer_state[\s\S]*^loss scale +1$"),
    long(3, r"^mixed,optimizer_state=float16: DIVERGED\. 5 of 5 runs did not finish"),
    (4, r"^No scaling is needed in float16[\s\S]*\d+ steps without an overflow"),
    long(6, r"^float32 +0 +1 +(?P<base>0\.\d+) [\s\S]*^mixed +.* 2\^16 +(?P<mixed>0\.\d+) "),
    long(7, r"^0.0001 +bfloat16 .* EQUIVALENT\n.*=off +[67]\d.* DIFFERENT\n.*=stochastic +9[01]"),
    (8, r"^float32 +0.82 +0 +1.64 +3.25 [\s\S]*^mixed +0.41 +0.82 +1.64 +1.63 "),
    long(9, r"^float32 +9\d.\d ± (0\.[3-9]|1\.\d) [\s\S]*^mixed .*\[-0.\d, \+0.\d\] .* EQUIV"),
    long(10, r"^layer .* headroom [\s\S]*^lstm gates .* 1\d\.\d +0$[\s\S]*^2\^22 +no +stopped "),
])  # fmt: skip
def test_the_command_of_a_learners_question_shows_its_answer(number, answer, folder):
    text = PAPERS[ROOT / "docs" / "teaching" / "questions.md"].partition(f"### {number}. ")[2]
    line = re.search(r"^```sh\nminifp (.*)", text, re.M)[1]
    said = python("-m", "minifp", *shlex.split(line), cwd=folder)
    seconds = re.search(answer, said, re.M).groupdict()
    assert not seconds or float(seconds["mixed"]) < 2 * float(seconds["base"])


def test_the_precision_table_is_that_of_the_code():
    head = re.search(r"^\| field (.*)\|$", ALL, re.MULTILINE)[1]
    names = re.findall(r"`([\w-]+)`", head)
    precisions = [fp.Precision.parse(name) for name in names]
    words = {True: "on", False: "off", None: "off"} | {Table(low): low for low in LOWS}
    rows = table("field")
    assert [row[0].strip("`") for row in rows] == list(SWITCHES)
    for field, *cells in rows:
        values = [getattr(p, field.strip("`")) for p in precisions]
        assert cells[: len(names)] == [words.get(value, value) for value in values]


def test_each_line_that_replaces_a_line_of_pytorch_runs():
    rows = table("your PyTorch AMP line")
    assert len(rows) == 12
    with fp.precision("mixed"):
        model, other = models.LeNet(size=8), models.LeNet(size=8)
    adam, g, d = (optim.Adam(m.parameters()) for m in (model, model, other))
    names = {"fp": fp, "LeNet": models.LeNet, "adam": adam, "g": g, "d": d, "model": model}
    x, t = fp.data.digits()[0][:8]
    for _, ours in rows:
        code = re.match(r"`([^`]+)`", ours)[1]
        if "optimizer.backward" in code:
            names["loss"] = F.cross_entropy(model(fp.tensor(x)), fp.tensor(t))
        exec(compile(code, ours, "exec"), names)
    assert names["result"].stepped and names["skipped"] is False
    assert names["optimizer"].scale == 1024.0


def test_what_is_said_to_be_short_is():
    """The README is a first page: details belong into docs/."""
    words = re.sub(r"^```.*?^```$|<!--.*?-->", "", README, flags=re.M | re.S).split()
    assert len(words) <= 700
    assert len(lines_of_code(block("import minifp as fp\nimport minifp.nn.functional"))) == 12
    assert len(lines_of_code(block("# spirals.py", GUIDE))) <= 25
    section = re.search(r"The core: .*? statements", README)[0]
    paths = re.findall(r"\]\((.*?)\)", section)
    assert len(paths) == 7
    limit = int(re.search(r"fewer than (\d+) statements", section)[1])
    assert sum(statements(ROOT / path) for path in paths) < limit


def statements(path):
    nodes = [n for n in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(n, ast.stmt)]
    texts = [n for n in nodes if isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant)]
    return len(nodes) - len(texts)
