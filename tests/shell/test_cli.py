"""The command line, from its help to whole comparisons of tiny size."""

import csv
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from pages import checked
from terminals import call

import minifp
from minifp import lab
from minifp.cli import COMMANDS
from minifp.lab import demo
from minifp.lab.arms import CONTROLS
from minifp.lab.commands.help_precision import EXAMPLES, OF_FORMATS
from minifp.lab.comparison import Comparison
from minifp.lab.tasks import BUILT_IN
from minifp.lab.workers import in_process
from minifp.numerics.loss_scale_text import KINDS
from minifp.numerics.policy import LEVELS, NAMED, SWITCHES, Precision
from minifp.numerics.switches import TABLE, read_switch
from minifp.report import drawing
from minifp.report.markup import name_of
from minifp.report.words import raised
from minifp.shell import options
from minifp.shell.group import INTERRUPTED

ROOT = Path(minifp.__file__).parents[1]


def call_outside(*words, cwd, **settings):
    env = {**os.environ, "PYTHONPATH": str(ROOT), **settings}
    command = [sys.executable, "-m", "minifp", *map(str, words)]
    how = {"capture_output": True, "encoding": "utf-8", "timeout": 300}
    return subprocess.run(command, cwd=cwd, env=env, **how)


TINY = ("mlp", "--data", "digits", "--epochs", "1", "--seeds", "2", "--quiet")


def test_without_arguments_it_greets_in_ten_lines_with_things_to_try():
    text = call().output
    names = re.findall(r"^  minifp (\w+)", text, re.MULTILINE)
    assert len(text.splitlines()) <= 10 and len(names) == 3 and {*names} < {*COMMANDS}


def test_help_of_precisions_tells_every_word_with_values_that_it_takes():
    text, compare = call("help", "precision").output, call("compare", "--help").output
    words = (*NAMED, *LEVELS, "fprop", "dgrad", "wgrad", *OF_FORMATS)
    words += tuple(f"{name}=" for settings in (TABLE, *KINDS.values()) for name in settings)
    assert not [word for word in words if f" {word}" not in text]
    assert [*TABLE] == [*SWITCHES] and max(map(len, text.splitlines())) <= 100
    for name, switch in TABLE.items():
        assert f" {name}={switch.example} " in text and read_switch(name, switch.example, "")
    assert all(Precision.parse(example.strip('"')) for example in EXAMPLES)
    assert len(compare.split()) <= 350 and not [task for task in BUILT_IN if task not in compare]
    assert call("help", "compare").output == compare and "help precision" in call("help").output
    assert all(f"@{control} " in call("help", "controls").output for control in CONTROLS)
    assert minifp.__version__ in call("--version").output


def test_a_flag_takes_all_words_up_to_the_next_option():
    for words, parsed in (
        ("-p a b --seeds 5", "-p a -p b --seeds 5"),
        ("--precision a --precision b", "--precision a --precision b"),
        ("x --precision a,c=1 b -q y", "x --precision a,c=1 --precision b -q y"),
        *(("--precision=a b", "--precision=a b"), ("-p a -- -p b", "-p a -- -p b")),
    ):
        assert options.repeated(words.split(), ("-p", "--precision")) == parsed.split()


class Answer:
    differs = ()

    def table(self):
        return "table"

    def unrepeatable(self):
        return [*self.differs]


@pytest.fixture
def asked(monkeypatch):
    calls = []

    def compare(task, precisions, seeds, epochs, steps, dial, **more):
        calls.append({**locals(), **more})
        return Answer()

    monkeypatch.setattr(lab, "compare", compare)
    return calls


def test_a_repetition_that_differs_fails_the_command_and_plan_makes_a_pilot(asked, monkeypatch):
    assert call("compare", "mlp").exit_code == 0 and asked[-1]["pilot"] is False
    monkeypatch.setattr(Answer, "differs", ("float32@repeat, seed 0: loss differs at step 3",))
    monkeypatch.setattr(lab, "Plan", lambda comparison: comparison)
    result = call("compare", "mlp", "--plan")
    assert result.exit_code != 0 and asked[-1]["pilot"] is True
    assert "not repeatable: float32@repeat, seed 0: loss differs at step 3" in result.output


def test_the_example_of_the_readme_means_what_it_says_and_the_rest_has_defaults(asked, tmp_path):
    words = "--data digits --precision float32 mixed float16 mixed,loss_scale=off --seeds 5"
    result = call("compare", "lenet", *words.split(), "--epochs", "10", "--out", tmp_path)
    assert result.exit_code == 0, result.output
    (got,) = asked
    assert got["task"].name == "lenet-digits" and got["seeds"] == 5 and got["epochs"] == 10
    assert got["precisions"] == ("float32", "mixed", "float16", "mixed,loss_scale=off")
    assert got["out"] == str(tmp_path) and got["steps"] is None and got["dial"] is None
    assert str(tmp_path / "report.html") in result.output
    assert call("compare", "mlp", "--seeds", "0,3,7", "--dial", "-2").exit_code == 0
    assert asked[1]["seeds"] == [0, 3, 7] and asked[1]["dial"] == -2
    assert tuple(asked[1]["precisions"]) == ("float32", "mixed")
    assert asked[1]["out"] is None and asked[1]["figures"] is None


@pytest.mark.parametrize(("words", "said"), [
    ("comparre", "no command 'comparre'; did you mean compare?"),
    ("xyz", "no command 'xyz'; the commands are demo, compare, ablate"),
    ("compare nonsense", "no task 'nonsense'"),
    ("compare mlp --data shakespeare", "digits or mnist"),
    ("compare mlp --precision float17", "no precision 'float17'"),
    ("compare mlp --precision mixed,masters=off", "masters=off"),
    ("compare --precision float32 mlp", "before --precision"),
    ("compare mlp --precision --seeds 2", "at least one value"),
    ("compare mlp -p", "at least one value"), ("compare mlp --seeds five", "0,3,7"),
    ("compare mlp --seeds 0", "at least 1"), ("compare mlp --steps 0", "steps"),
    ("compare mlp --epochs 1 --steps 2", "give one of them"),
    ("compare nowhere.py:task", "no file"), ("compare mlp --figures jpg", "jpg"),
    ("compare mlp extra", "extra"), ("help nonsense", "expected precision, controls, or a command"),
    *((f"{name} --out ~", "path is empty") for name in ("compare mlp", "demo", "inspect mlp")),
    ("inspect mlp --checkpoint ~", "path is empty"),
    *((f"{name} mlp --data ~", "digits or mnist") for name in ("compare", "train")),
    *((f"{name} mlp -p ~", "no precision ''") for name in ("compare", "train", "inspect")),
    ("compare mlp --seeds ~", "0,3,7"),
])  # fmt: skip
def test_a_wrong_argument_is_one_message_and_exit_code_2(words, said):
    """A ~ stands for an empty word."""
    result = call(*words.replace("~", "").split(" "))
    assert result.exit_code == 2
    assert said in result.output and "Traceback" not in result.output


def test_without_click_one_line_says_what_to_install(tmp_path):
    text = "raise ModuleNotFoundError('click', name='click')"
    (tmp_path / "click.py").write_text(text, encoding="utf-8")
    path = os.pathsep.join([str(tmp_path), str(ROOT)])
    result = call_outside("doctor", cwd=tmp_path, PYTHONPATH=path)
    assert result.returncode == 2 and result.stdout == ""
    assert result.stderr == "minifp's command line needs click: python -m pip install click\n"


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    out = tmp_path_factory.mktemp("tiny")
    result = call("compare", *TINY, "-p", "float32", "mixed", "--out", out, "--figures", "svg")
    assert result.exit_code == 0, result.output
    return out, result


def test_a_comparison_prints_its_table_and_leaves_results_histories_and_a_report(tiny):
    out, result = tiny
    lines = [line.split() for line in result.stdout.splitlines()]
    assert [line[0] for line in lines if "±" in line][-2:] == ["float32", "mixed"]
    assert f"Report: {out / 'report.html'}" in result.stdout
    results = json.loads((out / "results.json").read_text(encoding="utf-8"))
    assert [row["precision"] for row in results["rows"]] == ["float32", "mixed"]
    with open(out / "history.csv", encoding="utf-8", newline="") as file:
        steps = list(csv.DictReader(file))
    assert len(steps) == 2 * 2 * results["config"]["steps"]
    assert {"loss", "grad_norm", "scale", "skipped"} <= set(steps[0])
    assert "</html>" in (out / "report.html").read_text(encoding="utf-8")
    assert not list(out.rglob("*.part")) and not list(out.rglob("*.tmp"))
    if drawing.is_available():
        pictures = {path.name for path in out.glob("*.svg")}
        assert pictures >= {"loss.svg", "difference.svg", "memory.svg"}
    refused = call("compare", "mlp", "--steps", "3", "--out", out, "--quiet")
    assert refused.exit_code == 2 and "other settings" in refused.output


def test_the_module_runs_as_a_command_also_where_the_table_cannot_be_written(tmp_path):
    words = (*TINY, "--precision", "float32", "mixed")
    encoding = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    result = call_outside("compare", *words, cwd=tmp_path, **encoding)
    assert result.returncode == 0, result.stderr
    assert "mixed" in result.stdout and "--out DIR" in result.stdout
    assert result.stderr == "" and not list(tmp_path.iterdir())


def test_the_demonstration_makes_one_page_of_its_four_parts(short_demo, tmp_path):
    result = call("demo", "--quiet", "--out", tmp_path)
    assert result.exit_code == 0, result.output
    assert f"Report: {tmp_path / 'report.html'}" in result.output
    page = checked((tmp_path / "report.html").read_text(encoding="utf-8"))
    links, said = page.values("href"), "".join(page.words.split())
    assert "Exponentdialk=" in said
    for part in demo.PARTS:
        title = f"({part.key}) {part.title}"
        assert title in result.output and name_of(title) in page.values("id")
        for text in (part.title, part.claim, part.look, part.honest):
            assert "".join(raised(text).split()) in said
        pages = {f"{part.name}/{name}" for name in ("report.html", "history.csv")}
        assert {f"#{name_of(title)}", *pages} <= {*links}
        assert all((tmp_path / p).is_file() for p in pages)
    if drawing.is_available():
        picture = (tmp_path / "demo.png").read_bytes()
        assert picture.startswith(b"\x89PNG") and len(picture) > 20_000


def test_an_interrupted_demonstration_says_how_to_go_on(short_demo, tmp_path, monkeypatch):
    def interrupted(*args, **more):
        raise KeyboardInterrupt

    monkeypatch.setattr(in_process, "train", interrupted)
    result = call("demo", "--quiet", "--out", tmp_path)
    assert result.exit_code == INTERRUPTED and "command again to resume" in result.output


@pytest.mark.parametrize("command, name, worker", [
    ("demo", "report.html", "minifp.lab.workers.in_process.train"),
    ("demo", "demo.png", "minifp.lab.workers.in_process.train"),
    ("inspect mlp", "scope.npz", "minifp.scope.inspecting.inspect"),
    ("inspect mlp", "report.html", "minifp.scope.inspecting.inspect"),
    ("compare mlp", "report.html", "minifp.lab.workers.in_process.train"),
])  # fmt: skip
def test_all_places_are_tried_before_the_work(tmp_path, monkeypatch, command, name, worker):
    (tmp_path / name).mkdir()
    monkeypatch.setattr(worker, lambda *given, **named: pytest.fail("it works first"))
    result = call(*command.split(), "--out", tmp_path, "--quiet")
    assert result.exit_code == 2 and "is a folder" in result.output
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_tilde_that_the_shell_has_left_is_the_home_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert call("train", "mlp", "--steps", "1", "--save=~/runs/c", "-q").exit_code == 0
    assert (tmp_path / "runs" / "c").is_file() and not (tmp_path / "~").exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize("words", ["explain 0.1", "--help", "--version", "compare --help"])
def test_what_is_printed_onto_a_full_disk_is_one_line(words):
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "minifp", *words.split()]
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, env=env, check=False)
    assert done.returncode == 2 and b"No space left" in done.stderr
    assert b"Traceback" not in done.stderr


def test_an_interrupt_keeps_what_was_finished_and_exits_with_130(tmp_path, monkeypatch):
    train = in_process.train

    def interrupted(task, precision, seed, *args, **more):
        if (precision, seed) == ("mixed", 1):
            raise KeyboardInterrupt
        return train(task, precision, seed, *args, **more)

    monkeypatch.setattr(in_process, "train", interrupted)
    result = call("compare", *TINY, "--out", tmp_path)
    assert result.exit_code == INTERRUPTED
    assert "3 of 4 runs are finished" in result.output and "Traceback" not in result.output
    kept = Comparison.load(tmp_path)
    assert len(kept.runs) == 3 and (tmp_path / "report.html").is_file()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for one process")
def test_a_real_interrupt_leaves_no_traceback(tmp_path):
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    words = "compare mlp --steps 1000000 --seeds 2 --out x".split()
    command = [sys.executable, "-m", "minifp", *words]
    with subprocess.Popen(command, cwd=tmp_path, env=env, stderr=subprocess.PIPE) as process:
        said = b""
        while b"seed 0" not in said:  # the progress bar: it trains
            said += process.stderr.read1()
        process.send_signal(signal.SIGINT)
        said = process.stderr.read()
    assert process.returncode == INTERRUPTED, said
    assert b"Interrupted. No run was finished." in said and b"Traceback" not in said


@pytest.mark.nightly
def test_a_quiet_inspect_shows_no_bar_for_the_page_either(tmp_path, monkeypatch):
    import tqdm.auto

    bars, bar = [], tqdm.auto.tqdm
    monkeypatch.setattr("tqdm.auto.tqdm", lambda *a, **more: bars.append(more) or bar(*a, **more))
    result = call("inspect", "mlp", "--steps", "2", "--out", tmp_path, "--quiet")
    assert result.exit_code == 0, result.output
    assert (tmp_path / "report.html").is_file()
    assert all(named.get("disable") for named in bars)
