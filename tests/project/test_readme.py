"""The README: its Python runs, its commands exist, its tables are true, its links lead on."""

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
from minifp.numerics.policy import SWITCHES

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}


def blocks(language):
    """The fenced blocks of one language, in order."""
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


def block(start):
    """The Python block that begins with this line."""
    (found,) = (code for code in blocks("python") if code.startswith(start))
    return found


def lines_of_code(text):
    """Its lines that are not empty."""
    return [line for line in text.splitlines() if line.strip()]


def table(head):
    """The rows of the table whose head begins so, as lists of cells."""
    lines = TEXT[TEXT.index(f"| {head} ") :].split("\n\n")[0].splitlines()
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


def python(*arguments, cwd):
    """What a new interpreter prints, with warnings as errors."""
    command = [sys.executable, "-W", "error", *arguments]
    streams = {"capture_output": True, "text": True, "encoding": "utf-8"}
    done = subprocess.run(command, cwd=cwd, env={**os.environ, **ONE_THREAD}, **streams)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def folder(tmp_path):
    """An empty folder with the files whose names the blocks begin with."""
    for code in blocks("python"):
        if name := re.match(r"# (\w+\.py)\n", code):
            (tmp_path / name[1]).write_text(code, encoding="utf-8")
    return tmp_path


# ---- what runs ----------------------------------------------------------------------------------


def test_all_python_runs_in_order(folder):
    """In another process, because one block adds an operation."""
    program = "\n\n".join(code for code in blocks("python") if not code.startswith("# "))
    (folder / "readme.py").write_text(program, encoding="utf-8")
    said = python("readme.py", cwd=folder)
    assert "StepResult(stepped=True, reason=None, scale_before=65536.0" in said
    assert "mixed against float32" in said and "dtype=float16" in said


def test_the_example_has_twelve_lines():
    assert len(lines_of_code(block("import minifp as fp\nimport minifp.nn.functional"))) == 12


def test_a_task_of_ones_own_fits_in_25_lines():
    assert len(lines_of_code(block("# spirals.py"))) <= 25


def test_the_command_line_takes_a_task_of_ones_own(folder):
    (line,) = (line for code in blocks("sh") for line in code.splitlines() if "spirals.py" in line)
    program, *words = shlex.split(line)
    assert program == "minifp"
    python("-m", "minifp", *words, "--seeds", "2", "--epochs", "1", "--quiet", cwd=folder)
    assert (folder / words[words.index("--out") + 1] / "report.html").is_file()


def test_a_task_of_ones_own_learns_what_it_is_there_for(folder):
    result = fp.compare(f"{folder / 'spirals.py'}:task", seeds=1, progress=False)
    assert all(row.mean > 90 for row in result.rows())  # guessing gives 33


COMMANDS = re.findall(r"^minifp compare .*$", "".join(blocks("sh")), re.MULTILINE)


@pytest.mark.parametrize("line", [line for line in COMMANDS if ".py" not in line])
def test_every_compare_command_is_understood(line):
    """Its options are parsed as they stand; what it trains is trained elsewhere."""
    cli = pytest.importorskip("minifp.cli")
    context = cli.main.get_command(None, "compare").make_context("compare", shlex.split(line)[2:])
    assert fp.load_task(context.params["task"], context.params["data"])
    assert context.params["seeds"] in (3, 5) and context.params["out"].startswith("runs/")
    for text in context.params["precisions"]:
        fp.Precision.parse(text)


def test_every_train_command_is_understood():
    cli = pytest.importorskip("minifp.cli")
    lines = re.findall(r"^minifp train .*$", "".join(blocks("sh")), re.MULTILINE)
    assert len(lines) >= 2
    for line in lines:
        context = cli.main.get_command(None, "train").make_context("train", shlex.split(line)[2:])
        assert fp.load_task(context.params["task"], context.params["data"])


def test_the_first_block_wraps_commands_that_exist():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.findall(r"^make (\w+)", blocks("sh")[0], re.MULTILINE)
    assert targets == ["demo", "test"]
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in targets)
    everywhere = blocks("sh")[1], *blocks("powershell")
    assert all(
        "python -m minifp demo" in code and "python -m pytest" in code for code in everywhere
    )


# ---- what is said -------------------------------------------------------------------------------


def test_the_precision_table_is_that_of_the_code():
    head = re.search(r"^\| field (.*)\|$", TEXT, re.MULTILINE)[1]
    names = re.findall(r"`(\w+)`", head)
    precisions = [fp.Precision.parse(name) for name in names]
    words = {True: "on", False: "off", None: "off", (): "on"}
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


def test_the_source_to_read_first_is_short():
    section = re.search(r"\*\*Read the source.*?\n\n", TEXT, re.DOTALL)[0]
    paths = re.findall(r"\]\((.*?)\)", section)
    assert len(paths) == 5
    limit = int(re.search(r"fewer than (\d+) statements", section)[1])
    assert sum(statements(ROOT / path) for path in paths) < limit


def statements(path):
    """How many statements a file has, docstrings not counted."""
    nodes = [n for n in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(n, ast.stmt)]
    texts = [n for n in nodes if isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant)]
    return len(nodes) - len(texts)


def test_every_link_and_every_room_is_there():
    links = [link for link in re.findall(r"\]\(([^)]+)\)", TEXT) if "://" not in link]
    rooms = [room for row in table("room") for room in re.findall(r"`([\w/.]+)`", row[0])]
    missing = [name for name in [*links, *rooms] if not (ROOT / name).exists()]
    assert len(rooms) > 12 and not missing


def test_every_room_of_the_package_is_on_the_map():
    rooms = {
        room.strip("/") for row in table("room") for room in re.findall(r"`([\w/.]+)`", row[0])
    }
    small = {"__init__.py", "__main__.py", "errors.py", "functional.py", "utils"}
    small |= {"py.typed"}
    here = {f"minifp/{p.name}" for p in (ROOT / "minifp").iterdir() if p.name not in small}
    here = {name for name in here if "__pycache__" not in name and not name.endswith("models")}
    assert here <= rooms


def test_nothing_in_it_belongs_to_one_machine():
    assert not re.search(r"(?<![\w.])/(home|root|work|tmp|usr|Users)/|[A-Z]:\\", TEXT)
