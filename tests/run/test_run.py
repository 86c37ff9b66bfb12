"""PyTorch's scripts as they are: the mirror of its paths, and `python -m minifp.run`."""

import json
import os
import subprocess
import sys
from importlib import import_module

import numpy as np
import pytest

import minifp as fp
from minifp.compat.torch import habits
from minifp.compat.torch.mirror import Finder, install
from minifp.compat.torch.tensors import METHODS
from minifp.run.missing import missing
from minifp.runtime.unknown_arguments import MEANING

SCRIPT = """
import sys, torch, torch.nn as nn, torch.nn.functional as F
from torch.autograd import Variable
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset, random_split
if torch.cuda.is_available(): raise SystemExit("a GPU")
torch.manual_seed(0); torch.backends.cudnn.benchmark = True
device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
x = Variable(torch.randn(64, 5)); y = (x.sum(1) > 0).long()
model = nn.DataParallel(nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 2))).to(device)
optimizer = torch.optim.Adam(model.parameters(), 1e-2)
for i in range(int(sys.argv[1])):
    for a, b in DataLoader(TensorDataset(x, y), 32, shuffle=True):
        p = F.softmax(model(a).masked_fill(b.unsqueeze(1) > 1, -1e9), dim=1)[:, 1]
        loss = F.binary_cross_entropy(p, b.float())
        optimizer.zero_grad(); loss.backward(); optimizer.step()
        torch.save({"model": model.state_dict(), "at": (i, loss.item())}, "model.pt")
state = torch.load("model.pt", map_location=device)
model.load_state_dict(state["model"]); print(state["at"][0], len(state["model"]))
"""


@pytest.fixture
def mirror(monkeypatch):
    """A process in which `import torch` brings the mirror, until the test ends."""
    held = {name: sys.modules.pop(name) for name in [*sys.modules] if f"{name}."[:6] == "torch."}
    for name in habits.TAKEN:
        monkeypatch.setitem(MEANING, name, MEANING.get(name))
    methods = {name: vars(fp.Tensor).get(name) for name in METHODS}
    install()
    yield import_module("torch")
    sys.meta_path.remove(Finder)
    for name, before in methods.items():
        setattr(fp.Tensor, name, before)
    for name in [name for name in sys.modules if f"{name}."[:6] == "torch."]:
        del sys.modules[name]
    sys.modules.update(held)


def test_paths_of_pytorchs_have_what_minifp_has_and_what_scripts_ask_in_passing(mirror):
    from torch.distributions.categorical import Categorical
    from torch.nn.modules.utils import _pair
    from torch.nn.utils import clip_grad_norm_

    torch = mirror
    assert torch.nn.Linear is torch.nn.modules.linear.Linear is fp.nn.Linear
    assert torch.utils.data.dataset.TensorDataset is fp.data.TensorDataset
    assert torch.Tensor is fp.Tensor and torch.float is fp.float and _pair(3) == (3, 3)
    assert torch.cuda.memory_allocated(0) == torch.distributed.get_rank() == 0
    w = torch.ones(2, requires_grad=True)
    with pytest.warns(match="no gradients yet"):
        assert clip_grad_norm_([w], 1.0) == 0
    state, draws = torch.get_rng_state(), torch.rand(3).tolist()
    torch.set_rng_state(state)
    assert torch.rand(3).tolist() == draws
    log = Categorical(logits=torch.tensor([[0.0, np.log(3.0)]])).log_prob(torch.tensor([1]))
    np.testing.assert_allclose(log.numpy(), np.log([0.75]), rtol=1e-6)
    normal = torch.distributions.Normal(1.0, torch.tensor([2.0]))
    density = -1 / 8 - np.log(2) - 0.5 * np.log(2 * np.pi)
    np.testing.assert_allclose(normal.log_prob(torch.tensor([2.0])).numpy(), density, rtol=1e-6)


def test_what_does_nothing_says_so_once_and_what_is_lacking_what_to_use(mirror):
    torch = mirror
    with pytest.warns(match="torch.compile does nothing here") as told:
        assert [torch.compile(len) is torch.compile(len, mode="max-autotune")] == [True]
    assert len(told) == 1
    from torch.nn.parallel import DistributedDataParallel

    with pytest.raises(AttributeError, match="minifp has no torch.fft.fft: numbers here are real"):
        torch.fft.fft(1)
    with pytest.raises(AttributeError, match="DistributedDataParallel: training runs in one"):
        DistributedDataParallel(None)
    with pytest.raises(ImportError, match=r"minifp\.data"):
        import torchvision  # noqa: F401


def test_missing_lists_what_a_script_and_the_modules_beside_it_lack(tmp_path):
    (tmp_path / "own.py").write_text("import torch.onnx as o\no.export", encoding="utf-8")
    script = tmp_path / "script.py"
    text = "import torch, own\nfrom torch import nn as n\nn.Conv3d; n.Linear; torch.cuda.amp\n"
    script.write_text(text + "import torchvision\nx.index_reduce(1)", encoding="utf-8")
    names = {lack.name: lack.line for lack in missing(str(script))}
    assert names == {"torch.onnx": 1, "torch.onnx.export": 2, "torch.nn.Conv3d": 3,
                     "torchvision": 4, ".index_reduce": 5}  # fmt: skip


def run(folder, *options):
    (folder / "script.py").write_text(SCRIPT, encoding="utf-8")
    command = [sys.executable, "-m", "minifp.run", *options, "script.py", "3"]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, encoding="utf-8")


@pytest.mark.slow
def test_a_script_trains_unchanged_under_the_microscope_and_ends_after_its_steps(tmp_path):
    done = run(tmp_path, "--precision", "autocast", "--steps", "5", "--microscope", "seen",
               "--write-losses", "losses.json")  # fmt: skip
    losses = json.loads((tmp_path / "losses.json").read_text(encoding="utf-8"))
    assert done.returncode == 0 and len(losses) == 5 and np.isfinite(losses).all(), done.stderr
    assert 'mixed precision "autocast"' in done.stderr and "=-1e+09 overflows" in done.stderr
    assert "5 of 5 steps" in (tmp_path / "seen" / "scope.txt").read_text(encoding="utf-8")


@pytest.mark.slow
def test_compared_runs_begin_alike_and_save_into_folders_of_their_own(tmp_path):
    done = run(tmp_path, "--compare", "float32,mixed", "--out", "both")
    assert done.returncode == 0 and "one seed, which decides nothing" in done.stdout, done.stderr
    for precision in ("float32", "mixed"):
        assert (tmp_path / "both" / precision / "model.pt").exists()
    rows = (tmp_path / "both" / "losses.csv").read_text(encoding="utf-8").split()
    first = [float(v) for v in rows[1].split(",")[1:]]
    assert rows[0] == "step,float32,mixed" and len(rows) == 7 and abs(np.diff(first)) < 1e-2
    assert not (tmp_path / "model.pt").exists()
