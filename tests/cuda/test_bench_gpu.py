"""scripts/bench_gpu.py on the imitation: each section gives rows, and nothing ends it early.

Nothing here says how fast anything is. On a real GPU `make gpu` runs the script itself.
"""

import json
import sys
import time
from pathlib import Path

import pytest
from real_gpu import IMITATED
from refusals import refuses

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
import bench_gpu
from benchmarks import gpu_child, gpu_gemm, gpu_loading, gpu_networks, gpu_parent, gpu_timing
from benchmarks.gpu_bars import bars as bars_of
from benchmarks.gpu_conv import means
from benchmarks.gpu_report import notes_of

pytestmark = pytest.mark.skipif(not IMITATED, reason="make gpu runs the script itself")
LINES = """
import json, sys
request = json.loads(sys.stdin.readline())
def emit(**answer):
    print(json.dumps(answer), flush=True)
for name, unit in request["units"]:
    emit(begin=[name, unit], limit=1)
    if unit == "dies":
        sys.exit("out of luck")
    if unit == "hangs":
        sys.stdin.read()
        import time
        time.sleep(60)
    emit(done=[name, unit], rows=[{"name": unit}], took=0.5)
emit(end=True)
"""


class TimedEvent:
    """An event of CUDA that knows when it was recorded."""

    def __init__(self, *flags, **settings):
        self.at = None

    def record(self, stream=None):
        self.at = time.perf_counter()

    def synchronize(self):
        """Wait for it: it has come."""


@pytest.fixture
def timed(gpu, monkeypatch):
    """Let the imitation know times, and have a pool for memory that is pinned."""
    import cupy

    monkeypatch.setattr(cupy.cuda, "Event", TimedEvent)
    elapsed = lambda start, end: 1e3 * max(end.at - start.at, 1e-7)  # noqa: E731
    monkeypatch.setattr(cupy.cuda, "get_elapsed_time", elapsed, raising=False)


@pytest.fixture
def given(tmp_path):
    flags = ["--tiny", "--repeat", "2", "--seconds", "0.001", "--limit", "600"]
    return bench_gpu.options(["--out", str(tmp_path), *flags])


def test_every_section_gives_rows(timed, given, capsys):
    found = bench_gpu.run(given, gpu_parent.in_this_process)
    assert not found.errors and not found.left_out and not found.fatal
    assert "torch" in found.absent
    assert set(found.rows) == set(bench_gpu.SECTIONS)
    for name, rows in found.rows.items():
        assert rows, name
        for side in (s for row in rows for s in row.get("sides", {}).values()):
            assert "error" not in side and "without_a_graph" not in side, (name, side)
            assert len(side["rounds"]) == 2 and side["seconds"] > 0
    for row in {row["workload"]: row for row in found.rows["steps"]}.values():
        assert not row["notes"]
        assert all(side["peak"] > 0 for side in row["sides"].values())
        assert row["sides"]["minifp mixed, captured"]["graphs"] == 1
    written = json.loads((given.out / "bench.json").read_text(encoding="utf-8"))
    assert written["rows"].keys() == found.rows.keys()
    text = (given.out / "bench.md").read_text(encoding="utf-8")
    for head in ("## Device", "## Matrix products", "## Convolutions", "## Bandwidth", "## Bars"):
        assert head in text
    assert capsys.readouterr().out.strip() == text.strip()
    pytest.importorskip("matplotlib")
    pictures = {path.name for path in given.out.glob("*.png")}
    assert pictures == {"gemm.png", "conv-layers.png", "conv-networks.png", "steps.png"}


class OnTheHost(gpu_timing.Theirs):
    """PyTorch without a GPU, so that what is asked of it is tried."""

    device = "cpu"

    def __init__(self):
        import torch

        self.torch = torch

    def synchronize(self):
        """Nothing to wait for."""

    def seconds(self, run):
        start = time.perf_counter()
        run()
        return time.perf_counter() - start

    def forget_peak(self):
        return 0

    def peak(self):
        return 1

    def repeated(self, call, seconds, most=100, **about):
        self.seconds(call)
        return gpu_timing.Contestant(lambda: self.seconds(call), {"launches": 1, **about})


def test_pytorch_does_the_same_beside(timed, given, monkeypatch):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed (minifp[parity])")
    monkeypatch.setattr(gpu_timing, "Theirs", OnTheHost)
    monkeypatch.setattr(torch, "compile", lambda function, mode: function)
    monkeypatch.setattr(torch.compiler, "cudagraph_mark_step_begin", lambda: None)
    given.only = ["device", "loading", "gemm", "optimizer", "steps", "conv", "compiled"]
    found = bench_gpu.run(given, gpu_parent.in_this_process)
    assert found.absent is None and not found.errors
    for name, rows in found.rows.items():
        for row in rows:
            failed = {n for n, side in row.get("sides", {}).items() if "error" in side}
            theirs = [n for n in row.get("sides", {}) if n.startswith("PyTorch")]
            assert theirs or name == "device" or row.get("kind") == gpu_gemm.WITHOUT
            missing = {"PyTorch, pinned"}  # what PyTorch has on a GPU alone
            if row.get("kind") == "float16 to float32" or row.get("workload") == "lstm":
                missing = {"PyTorch", "PyTorch AMP"}
            assert failed <= missing, row
            layouts = {row["sides"][n].get("layout") for n in theirs if n not in failed}
            has_layouts = name in ("conv", "steps", "compiled")
            assert layouts <= ({"NCHW", "NHWC"} if has_layouts else {None})
            assert not row.get("notes")
    states = [bar.state for bar in bars_of(found.rows)]
    assert states.count("not measured") < len(states)
    text = (given.out / "bench.md").read_text(encoding="utf-8")
    assert "Without PyTorch" not in text and "PyTorch compiled" in text


def test_of_two_layouts_the_faster_is_compared_with():
    def contestant(seconds):
        return gpu_timing.Contestant(lambda: seconds)

    def fails():
        raise ValueError("no such layout")

    both = {"NCHW": lambda: contestant(2.0), "NHWC": lambda: contestant(1.0)}
    found = gpu_timing.contest({"PyTorch": lambda: gpu_timing.fastest(both)}, 1)["PyTorch"]
    assert (found["seconds"], found["layout"]) == (1.0, "NHWC")
    row = {"sides": {"PyTorch": found}, "name": "x"}
    notes = notes_of({"errors": {}, "left_out": [], "rows": {"steps": [row]}})
    assert "channels_last" in next(notes)
    assert gpu_timing.fastest({**both, "NHWC": fails}).about["layout"] == "NCHW"
    refuses(ValueError, "no such layout", gpu_timing.fastest, {"NCHW": fails})


def test_an_error_is_a_row_and_the_rest_goes_on(timed, given, monkeypatch):
    def fails(*args, **settings):
        raise ValueError("no luck\nat all")

    given.only = ["gemm", "loading"]
    monkeypatch.setattr(gpu_gemm, "multiply", fails)
    monkeypatch.setattr(gpu_loading, "_pinned", fails)
    found = bench_gpu.run(given, gpu_parent.in_this_process)
    assert all("ValueError: no luck" == r["sides"]["minifp"]["error"] for r in found.rows["gemm"])
    sides = found.rows["loading"][0]["sides"]
    assert sides["minifp, pinned"]["error"] and sides["minifp, pageable"]["seconds"] > 0
    assert "no luck" in (given.out / "bench.md").read_text(encoding="utf-8")


def test_what_cannot_be_captured_is_measured_one_by_one(timed):
    ours = gpu_timing.Ours()
    x = ours.values((3,))
    found = gpu_timing.contest({"a": lambda: ours.repeated(lambda: x.get(), 1e-4)}, 2)["a"]
    assert "while the stream captures" in found["without_a_graph"]
    assert found["seconds"] > 0


def test_what_does_not_fit_is_said(timed, given):
    given.only, given.limit = ["gemm"], -1.0
    found = bench_gpu.run(given, gpu_parent.in_this_process)
    assert found.left_out == [["gemm", "16"], ["gemm", "24"]] and not found.rows
    assert "2 left out" in (given.out / "bench.md").read_text(encoding="utf-8")


def test_where_a_process_ends_the_next_goes_on_but_for_one_that_cannot_begin():
    units = [["a", "good"], ["a", "dies"], ["a", "fine"], ["b", "hangs"], ["b", "last"]]
    kept, request = [], {"units": units, "ends": time.time() + 60}
    found = gpu_parent.run([sys.executable, "-c", LINES], request, lambda f: kept.append(f))
    assert found.rows == {"a": [{"name": "good"}, {"name": "fine"}], "b": [{"name": "last"}]}
    assert found.errors["a: dies"].endswith("ended with 1: out of luck")
    assert found.errors["b: hangs"] == "no answer within 1 s"
    assert not found.left_out and len(kept) == 3 and found.took == {"a": 1.0, "b": 0.5}
    command = [sys.executable, "-c", "raise SystemExit('no GPU here')"]
    request = {"units": [["a", "x"]], "ends": time.time() + 60}
    found = gpu_parent.run(command, request, lambda f: None)
    assert "no GPU here" in found.fatal and found.left_out == [["a", "x"]]


def test_bars_are_met_missed_or_not_measured_and_a_mean_is_of_what_all_sides_have():
    assert {bar.state for bar in bars_of({})} == {"not measured"}
    row = {"kind": "float16", "size": 1024, "times": 0.94}
    bars = list(bars_of({"gemm": [row, {**row, "times": 0.98}]}))
    assert [bar.state for bar in bars[:2]] == ["missed", "met"]
    sides = {"minifp float16": {"seconds": 1e-3}, "minifp float32": {"seconds": 4e-3}}
    row = {"network": "VGG-16", "layer": "a", "pass": "forward", "count": 2, "flops": 8 * 10**9}
    other = {**row, "layer": "b", "sides": {"minifp float16": {"seconds": 1.0}}}
    found = means([{**row, "sides": sides}, other])["VGG-16"]
    assert found["layers"] == 1
    assert found["minifp float16"] == pytest.approx(8) == 4 * found["minifp float32"]


def test_networks_have_the_layers_of_their_papers():
    counts = {n: sum(x.count for x in gpu_networks.layers(n)) for n in gpu_networks.NETWORKS}
    assert counts == {"AlexNet": 5, "VGG-16": 13, "GoogLeNet": 57, "ResNet-50": 53}
    flops = {  # of one picture, a product and a sum counted once: as their authors count
        n: sum(x.flops * x.count for x in gpu_networks.layers(n, 1)) / 2e9
        for n in gpu_networks.NETWORKS
    }
    assert flops["VGG-16"] == pytest.approx(15.35, abs=0.02)
    assert flops["ResNet-50"] == pytest.approx(4.09, abs=0.02)
    assert 1.4 < flops["GoogLeNet"] < 1.6 and 0.6 < flops["AlexNet"] < 0.7


def test_a_broken_device_ends_the_process(timed, given, monkeypatch):
    answers = []
    monkeypatch.setattr(gpu_child, "is_usable", lambda machine: False)
    settings = {"tiny": True, "torch": False, "repeat": 1, "seconds": 0.001}
    units = [["gemm", "no number"], ["gemm", "16"]]
    request = {"settings": settings, "units": units, "ends": time.time() + 60}
    assert gpu_child.measure_all(request, answers.append) is False
    assert answers[-1]["done"] == units[0] and "ValueError" in answers[-1]["error"]
