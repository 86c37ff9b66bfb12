"""PyTorch's scripts as they are: the mirror of its paths, and `python -m minifp.run`."""

import csv
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from unittest.mock import Mock, patch

import numpy as np
import pytest
from refusals import refuses

import minifp as fp
from minifp.compat.torch import files, functions
from minifp.compat.torch.mirror import Finder, install
from minifp.compat.torch.paths import ROOTS
from minifp.compat.torch.tensors import METHODS
from minifp.run import comparing, missing, saves
from minifp.runtime.unknown_arguments import MEANING

SCRIPT = """
import os, sys, torch, torch.nn as nn, torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP; os.makedirs("sub", exist_ok=True)
from torch.utils.data import DataLoader, TensorDataset; os.chdir("sub"); open(__file__).close()
torch.manual_seed(0); assert not torch.cuda.is_available(); torch.backends.cudnn.benchmark = True
x = torch.autograd.Variable(torch.randn(64, 5)); y = (x.sum(1) > 0).long()
class Net(nn.Sequential): pass
model = nn.DataParallel(Net(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 2)))
optimizer = torch.optim.Adam(model.parameters(), 1e-2)
for i in range(int(sys.argv[1])):
    for a, b in DataLoader(TensorDataset(x, y), 32, shuffle=True):
        p = F.softmax(model(a).masked_fill(b.unsqueeze(1) > 1, -1e9), dim=1)[:, 1]
        loss = F.binary_cross_entropy(p, b.float())
        optimizer.zero_grad(); loss.backward(); optimizer.step()
        held = {"model": model, "optimizer": optimizer.state_dict(), "at": (i, loss.item())}
        torch.save(held, "model.pt")
again, held, _ = torch.load("model.pt", map_location="cpu").values()
assert type(again.module) is Net and torch.equal(again(x), model(x))
assert torch.is_tensor(held["state"][0]["exp_avg"])
torch.optim.Adam(again.parameters()).load_state_dict(held)
"""


def mirrored():
    return [name for name in sys.modules if name.partition(".")[0] in ROOTS]


@pytest.fixture
def torch():
    """What `import torch` brings, in this process until the test ends."""
    methods = {name: vars(fp.Tensor).get(name) for name in [*METHODS, *functions.METHODS]}
    others = {name: sys.modules.pop(name) for name in mirrored()}
    with patch.dict(MEANING), patch("sys.meta_path", [*sys.meta_path]):
        install()
        yield import_module("torch")
    for name in mirrored():
        del sys.modules[name]
    sys.modules.update(others)
    for name, before in methods.items():
        setattr(fp.Tensor, name, before)


def test_paths_of_pytorchs_have_what_minifp_has_and_what_scripts_ask_in_passing(torch):
    from torch.distributions import Beta, OneHotCategorical
    from torchvision import models, transforms

    assert models.resnet.resnet18 is models.resnet18 and callable(transforms.functional.to_tensor)
    assert torch.nn.Linear is torch.nn.modules.linear.Linear is fp.nn.Linear
    assert torch.utils.data.dataset.TensorDataset is fp.data.TensorDataset
    assert torch.Tensor is fp.Tensor and torch.nn.modules.utils._pair(3) == (3, 3)
    assert torch.cuda.memory_allocated(0) == torch.distributed.get_rank() == 0
    with pytest.warns(match="no gradients yet"):
        assert torch.nn.utils.clip_grad_norm_([torch.ones(2, requires_grad=True)], 1.0) == 0
    state, draws = torch.get_rng_state(), torch.rand(3).tolist()
    refuses(fp.ArgumentError, "get_rng_state", torch.set_rng_state, torch.zeros(9).byte())
    assert torch.set_rng_state(state) or torch.rand(3).tolist() == draws
    hot = OneHotCategorical(logits=torch.tensor([0.0, np.log(3.0)])).log_prob(torch.tensor([0, 1]))
    count = torch.distributions.Binomial(3, torch.tensor([0.5])).log_prob(torch.tensor([1.0]))
    np.testing.assert_allclose([hot.item(), count.item()], np.log([3 / 4, 3 / 8]), rtol=1e-6)
    of = torch.distributions
    p, q = of.Normal(torch.zeros(2), 1.0), of.Normal(torch.ones(2), 2.0)
    np.testing.assert_allclose(of.kl_divergence(p, q), np.log(2) - 1 / 4, rtol=1e-6)
    mean = of.kl.kl_divergence(of.Independent(p, 1), of.Independent(q, 1)).item()
    np.testing.assert_allclose(mean, 2 * np.log(2) - 1 / 2, rtol=1e-6)
    third = torch.ones(1).double().apply_(lambda one: one / 3)
    density = torch.distributions.Normal(1.0, 6 * third).log_prob(third)
    np.testing.assert_allclose(density.item(), -1 / 18 - np.log(8 * np.pi) / 2, rtol=1e-15)
    refuses(AttributeError, "no torch.distributions.Beta", Beta)  # imported, and not used before


def test_what_scripts_read_and_use_beside_has_pytorchs_values(torch):
    x = torch.arange(6.0).reshape(2, 3)
    assert x[1].storage().tolist() == [*range(6)] and x[0].data_ptr() == x.data_ptr()
    assert (
        torch.promote_types(torch.half, torch.int64)
        == torch.result_type(x.half(), 1.0)
        == "float16"
    )
    assert torch.can_cast(torch.int64, torch.half) and not torch.can_cast(torch.half, torch.int64)
    made_by = torch.ones(2, requires_grad=True).exp().grad_fn
    assert made_by.name() == "ExpBackward0" and x.grad_fn is None
    refuses(AttributeError, "next_functions; x.node", getattr, made_by, "next_functions")
    (batch,) = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x), 2)
    assert type(batch) is list and torch.optim.__dict__["Adam"] is fp.optim.Adam
    turn = torch.tensor([[[0.0, -1.0, 0.0], [1.0, 0.0, 0.0]]])  # of a square
    square, places = (
        x.flip(0)[None, None, :, :2],
        torch.nn.functional.affine_grid(turn, (1, 1, 2, 2)),
    )
    turned = torch.nn.functional.grid_sample(square, places)[0, 0]
    np.testing.assert_allclose(turned, np.rot90(square[0, 0]), atol=1e-6)
    w = torch.nn.Parameter(x[0])
    lbfgs = torch.optim.LBFGS([w], line_search_fn=None)
    lbfgs.step(lambda: [lbfgs.zero_grad(), (loss := ((w - 3) ** 2).sum()).backward(), loss][2])
    np.testing.assert_allclose(w.detach(), 3, atol=1e-5)
    adam, moment = torch.optim.Adam([w]), torch.full((3,), 0.5)
    state = {0: {"step": torch.tensor(4.0), "exp_avg": moment, "exp_avg_sq": moment}}
    adam.load_state_dict(
        {"state": state, "param_groups": [{"lr": 1, "fused": True, "params": [0]}]}
    )
    assert (adam.steps, adam.state[w]["exp_avg"].tolist()) == (4, [0.5] * 3)  # as PyTorch has it
    torch.set_default_dtype(torch.float64)
    assert torch.get_default_dtype() == torch.zeros(1).dtype == torch.float64
    torch.set_default_dtype(torch.float32)


def test_what_does_nothing_says_so_once_and_what_is_lacking_what_to_use(torch):
    with pytest.warns(match="torch.compile does nothing here") as told:
        assert torch.compile(len) is torch.compile(mode="max-autotune")(len) is len
    assert len(told) == 1
    refuses(AttributeError, "runs in one", getattr, torch.nn.parallel, "DistributedDataParallel")
    refuses(AttributeError, "no torch.fft.fft: numbers here are real", lambda: torch.fft.fft(1))
    refuses(ImportError, r"minifp\.data", import_module, "torchaudio")
    for name in ("ops.MLP", "models.detection.x", "transforms.GaussianBlur", "datasets.CelebA"):
        refuses(AttributeError, f"no .*{name}: ", exec, f"import torchvision as v; v.{name}")
    assert not isinstance(torch.ones(1), torch.nn.EmbeddingBag)
    numbers = Mock(make_np=type)
    with patch.dict(sys.modules, {"tensorboardX.x2num": numbers}):
        Finder.find_spec("tensorboardX.summary")
    assert numbers.make_np(torch.ones(1)) is np.ndarray  # what SummaryWriter makes of a tensor


def test_functions_of_its_own_have_pytorchs_numbers_slopes_and_formats(torch):
    rows = Path(__file__).with_name("own_functions.csv").read_text(encoding="utf-8")
    sizes = {"v": (1, 4, 4, 5, 5), "w": (4, 2, 3, 2, 2), "b": (4,), "p": (1, 4, 5, 5), "m": (3, 4)}
    waves = {n: np.sin(1.7 * np.arange(np.prod(s)) + len(s)).reshape(s) for n, s in sizes.items()}
    names = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional}
    whole = np.cos(np.arange(3000))
    for expression, *theirs in [*csv.reader(rows.splitlines())][1:]:
        exact = {n: torch.from_numpy(x).requires_grad_() for n, x in waves.items()}
        y = eval(expression, names, exact)
        y.backward(torch.from_numpy(whole[: y.numel()]).reshape(y.shape))
        slopes = [x.grad.numpy().ravel() for x in exact.values() if x.grad is not None]
        ours = [x.ravel() @ whole[: x.size] for x in (y.detach().numpy(), *slopes)]
        given = [float(n) for n in theirs]
        np.testing.assert_allclose(
            [ours[0], sum(ours[1:])], given, 1e-12, 1e-12, err_msg=expression
        )
        half = {n: x.detach().half() for n, x in exact.items()}
        narrow = eval(expression, names, half)
        assert narrow.dtype in (torch.float16, torch.float32)
        np.testing.assert_allclose(narrow.numpy(), y.detach().numpy(), 1e-2, 2e-2)


def test_missing_lists_what_a_script_and_the_modules_beside_it_lack(tmp_path):
    (tmp_path / "own.py").write_text("import torch.onnx as o\no.export", encoding="utf-8")
    text = (
        "import torch, own\nfrom torch import nn as n\nn.EmbeddingBag; n.Conv3d; torch.cuda.amp\n"
    )
    text += "import torchtext\nx.index_reduce(1)\nimport torchvision as v\nv.io; v.ops.nms\n"
    (script := tmp_path / "script.py").write_text(text, encoding="utf-8")
    lacking = "torch.onnx torch.onnx.export torch.nn.EmbeddingBag torchtext .index_reduce".split()
    assert [*zip(lacking, range(1, 6)), ("torchvision.io", 7)] == [
        lack[2:0:-1] for lack in missing.missing(str(script))
    ]
    refuses(fp.ArgumentError, "new, or empty", comparing.compare, None, ["a", "b"], tmp_path)
    assert comparing.named("float32,mixed,loss_scale=8") == ["float32", "mixed,loss_scale=8"]


def test_a_save_that_fails_is_found_elsewhere_and_no_gpu_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "home", tmp_path)
    (tmp_path / "file").touch()
    monkeypatch.chdir(tmp_path)
    text = "import torch\ntorch.save(1, f='file/x.pt')\ntorch.save(2, 'new/x.pt')\n"
    (tmp_path / "s.py").write_text(text, encoding="utf-8")
    assert [t[:25] for t in saves.unwritable("s.py")] == ["s.py:2 saves to 'file/x.p"]
    assert {p.name for p in tmp_path.iterdir()} == {"file", "s.py"}
    refuses(OSError, "is in .*saved-.*x.pt", files.save, {"a": 1}, tmp_path / "file" / "x.pt")
    with pytest.warns(match="map_location='cuda:0'.* no GPU"):
        assert files.load(*tmp_path.glob("saved-*/x.pt"), map_location="cuda:0") == {"a": 1}


def run(folder, *options, script=SCRIPT):
    (folder / "script.py").write_text(script, encoding="utf-8")
    command = [sys.executable, "-m", "minifp.run", *options, "script.py", "3"]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@pytest.mark.slow
def test_a_script_trains_unchanged_under_the_microscope_and_in_two_precisions(tmp_path):
    told = run(tmp_path, "--precision", "autocast", "--steps", "5", "--microscope", "seen")
    assert 'mixed precision "autocast"' in told and "=-1e+09 overflows" in told
    assert "5 of 5 steps" in (tmp_path / "seen" / "scope.txt").read_text(encoding="utf-8")
    assert "decides nothing" in run(tmp_path, "--compare", "float32,mixed", "--out", "both")
    assert (tmp_path / "both" / "mixed" / "model.pt").exists()
    names, *rows = (tmp_path / "both" / "losses.csv").read_text(encoding="utf-8").split()
    assert names == "step,float32,mixed" and len(rows) == 6
    assert abs(np.diff([float(v) for v in rows[0].split(",")[1:]])) < 1e-2


SPAWNING = """
import torch, multiprocessing
def work(queue): queue.put(torch.nn.Linear(2, 3)(torch.ones(1, 2)).shape)
if __name__ == "__main__":
    queue = (context := multiprocessing.get_context("spawn")).Queue()
    context.Process(target=work, args=(queue,)).start(); print(tuple(queue.get(timeout=300)))
"""


@pytest.mark.slow
def test_a_process_that_a_script_spawns_has_torch_too(tmp_path):
    assert "(1, 3)" in run(tmp_path, script=SPAWNING)
