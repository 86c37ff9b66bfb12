"""Tensors, modules and batches that go to a GPU and come back."""

import copy
import gc
import itertools
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from real_gpu import IMITATED
from refusals import refuses

import minifp as fp
import minifp.nn.functional as F
from minifp import nn, optim
from minifp.models import LeNet
from minifp.numerics import kernels
from minifp.numerics.accumulate import primitives
from minifp.numerics.compiled import compiled_kernel_of
from minifp.numerics.formats import float16
from minifp.ops.convolution.conv import conv_forward
from minifp.runtime.cuda import arrays
from minifp.runtime.cuda.product import product
from minifp.runtime.cuda.transfer import Upload


def test_tensors_go_there_and_back_and_gradients_to_where_the_leaf_is():
    x = fp.tensor([[1.0, 2.0], [3.0, 4.0]], dtype="float16")
    there = x.to("cuda")
    assert (there.device, there.dtype, there.shape) == ("cuda", float16, (2, 2)) and there.is_cuda
    assert x.device == "cpu" and not x.is_cuda
    assert there.to("cuda") is there and x.cpu() is x
    assert there.cpu().tolist() == there.tolist() == x.tolist()
    assert there[1, 0].item() == 3 and float(there.sum()) == 10
    assert "device=cuda" in repr(there) and "device" not in repr(x)
    assert x.to(there).device == "cuda" and x.cuda().is_cuda
    assert there.to("cpu", "float32").dtype == "float32"
    leaf = fp.tensor([1.0, 2.0], requires_grad=True)
    (leaf.to("cuda") * 3.0).sum().backward()
    assert leaf.grad.device == "cpu" and leaf.grad.tolist() == [3, 3]


@pytest.mark.skipif(not IMITATED, reason="changes what CuPy finds")
@pytest.mark.parametrize(
    "lacks, advice",
    [("headers", r"Failed to find CUDA headers.*\[cuda13\]"), ("numba", "pip install numba")],
)
def test_a_device_that_nothing_can_be_compiled_for_says_what_to_install(lacks, advice, monkeypatch):
    def get_function(module, name):
        raise RuntimeError("Failed to find CUDA headers")

    if lacks == "headers":
        monkeypatch.setattr(sys.modules["cupy"].RawModule, "get_function", get_function)
    else:
        monkeypatch.setattr(arrays, "find_spec", lambda name: None)
    arrays.cupy.cache_clear()
    refuses(fp.DeviceError, advice, fp.ones, 2, device="cuda")


def test_tensors_of_two_devices_do_not_meet_and_numpy_must_be_asked_for():
    with pytest.raises(fp.DeviceError, match=r"add.*CPU, others on the GPU.*to\(device='cuda'\)"):
        fp.ones(2) + fp.ones(2, device="cuda")
    x = fp.ones(2, device="cuda")
    assert (x * np.float32(2)).tolist() == [2, 2]
    one = np.ones(2, np.float32)
    for y in (x + one, one + x, fp.add(x, one)):  # NumPy's arrays are on no device
        assert (y.device, y.tolist()) == ("cuda", [2, 2])
    x = fp.ones(2, device="cuda")
    assert x.numpy().tolist() == [1, 1]
    refuses(fp.DeviceError, r"call \.numpy\(\)", np.asarray, x)


def test_a_module_moves_with_its_buffers_and_unrounded_numbers_and_a_copy_is_where_it_is():
    with fp.precision("mixed"):
        model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
    before = {name: v.numpy().copy() for name, v in model.state_dict().items()}
    assert model.to("cuda") is model
    assert {t.device for t in [*model.parameters(), *model.buffers()]} == {"cuda"}
    for name, value in model.cpu().state_dict().items():
        assert value.numpy().tobytes() == before[name].tobytes()
    model = nn.Linear(2, 2).to("cuda")
    other = copy.deepcopy(model)
    assert other.weight.device == "cuda" and other.weight.array is not model.weight.array


def test_environment_variable(monkeypatch):
    monkeypatch.setenv("MINIFP_DEVICE", "cuda")
    assert fp.ones(2).device == nn.Linear(2, 2).weight.device == "cuda"
    assert fp.tensor([1, 2], device="cpu").device == "cpu"


def test_in_place_changes_and_assignments():
    x = fp.zeros(2, 3, device="cuda")
    x += 1.0
    x[0, 1] = 5.0
    x.mul_(2.0)
    assert x.tolist() == [[2, 10, 2], [2, 2, 2]]
    x.data = np.ones((2, 3))
    assert x.sum().item() == 6
    for dtype in ("float32", "float16", "bfloat16"):  # recorded, with views
        w = fp.full((2, 3), 3.0, dtype=dtype, device="cuda", requires_grad=True)
        y = w * 1
        column = y.T[0]
        y[y > 2] = w[0, 0] * 0.5
        column += w[:, 1]
        y[1][[0, 2]] = 0.25
        assert (y.tolist(), column.tolist()) == ([[4.5, 1.5, 1.5], [0.25, 1.5, 0.25]], [4.5, 0.25])
        y.sum().backward()
        assert w.grad.tolist() == [[2, 1, 0], [0, 0, 0]]


def test_batches_arrive_on_the_gpu_as_on_the_cpu():
    train, _ = fp.data.digits()
    settings = {"batch_size": 100, "shuffle": True, "seed": 3}
    here = fp.data.DataLoader(train, **settings)
    there = fp.data.DataLoader(train, device="cuda", prefetch=2, **settings)
    with fp.precision("mixed"):
        for (x, t), (y, u) in zip(here, there):
            assert (y.device, u.device, y.dtype) == ("cuda", "cuda", float16)
            assert y.numpy().tobytes() == x.numpy().tobytes() and u.tolist() == t.tolist()
    assert there.state_dict() == here.state_dict()


def test_memory_for_uploads_is_used_again_and_nothing_is_written_over():
    upload, random = Upload(), np.random.default_rng(0)
    sent = [random.normal(size=(7, 5)) for _ in range(9)]
    there = [upload(a) for a in sent]
    assert all(np.array_equal(a, arrays.to_host(b)) for a, b in zip(sent, there))
    assert [len(slots) for slots in upload.slots.values()] == [2]
    assert upload(np.zeros((0, 3))).shape == (0, 3)


def test_a_full_memory_is_an_error_that_says_what_is_held():
    import cupy

    pool = cupy.get_default_memory_pool()
    with fp.precision("mixed"):
        model = nn.Linear(64, 64).to("cuda")
        optimizer = fp.MixedOptimizer(optim.Adam(model.parameters()))
    optimizer.minimize(
        F.mse_loss(model(fp.ones(2, 64, device="cuda")), fp.ones(2, 64, device="cuda"))
    )
    gc.collect()  # or else what earlier tests left is given back, and is room enough
    pool.set_limit(size=pool.used_bytes() + 2**20)
    try:
        with pytest.raises(fp.OutOfMemory, match="no room on the GPU for 512.0 MiB") as caught:
            fp.zeros(2**27, device="cuda", dtype="float32")
    finally:
        pool.set_limit(size=0)
    text = str(caught.value)
    assert "float32 (134217728,)" in text and "smaller batch" in text
    assert re.search(r"masters \d+\.\d MiB", text)  # of all optimizers that there are
    assert isinstance(caught.value, MemoryError)
    assert fp.zeros(4, device="cuda").tolist() == [0, 0, 0, 0]


def test_the_program_in_docs_gpu_runs():
    text = (Path(__file__).parents[2] / "docs" / "gpu.md").read_text(encoding="utf-8")
    (program,) = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    train, _ = fp.data.digits()
    train = fp.data.TensorDataset(*train[np.arange(64 * 6)])
    known = {"fp": fp, "F": F, "optim": optim, "LeNet": LeNet, "train": train, "print": print}
    with fp.precision("mixed"):
        exec(program, known)
    assert known["step"].graphs == 1 and np.isfinite(known["loss"].item())


def test_sums_in_chunks_are_those_of_the_cpu():
    """cuBLAS sums each chunk in float16, and minifp adds these in float32."""
    x, w, b, dy = (np.random.default_rng(0).normal(0, 1, s) for s in ((7, 90), (5, 90), 5, (7, 5)))
    found = {}
    for device, n in itertools.product(("cpu", "cuda"), (1, 32, 90)):
        with fp.precision(f"mixed,accumulate=chunked:{n}"):
            x_, w_ = (fp.tensor(a, device=device, requires_grad=True) for a in (x, w))
            F.linear(x_, w_).backward(gradient=dy)
            with fp.no_grad():
                y = F.linear(x_, w_, fp.tensor(b, device=device)), x_ @ w_.T
            found[device, n] = [a.tolist() for a in (x_.grad, w_.grad, *y)]
    for n in (1, 32, 90):  # a GPU sums a chunk in blocks
        assert not IMITATED or found["cpu", n] == found["cuda", n]
    assert found["cuda", 32] != found["cuda", 90]


@pytest.mark.parametrize("shape", [(6, 0), (6, 1), (2, 3, 6, 8), (6, 21)])
def test_a_product_in_chunks_is_scaled_and_takes_its_bias_in_float32(shape):
    a, b, bias = (fp.randn(*s, device="cuda", dtype=float16) for s in (shape, (shape[-1], 5), (5,)))
    y = product(a.array, b.array, "float32", bias.array, compute="float16", chunk=8, alpha=0.5)
    a, b, bias = (t.numpy().astype("float32") for t in (a, b, bias))
    expected = primitives("chunked:8").dot(a, b) * np.float32(0.5) + bias
    assert y.dtype == "float32" and y.shape == expected.shape
    assert not IMITATED or np.array_equal(arrays.to_host(y), expected)


def test_under_numpy_alone_there_is_no_kernel_for_a_gpu_either(monkeypatch):
    assert all(compiled_kernel_of(conv_forward.reference, device) for device in ("cpu", "cuda"))
    monkeypatch.setenv("MINIFP_KERNELS", "numpy")
    assert compiled_kernel_of(conv_forward.reference, "cuda") is None


def test_what_runs_on_the_cpu_says_so_once():
    x = fp.tensor(np.arange(6.0).reshape(2, 3), device="cuda", dtype=float16)
    kernels.ran_on_host.discard("reduce.sum_forward")
    with fp.precision("mixed,reduce=float16"):
        with pytest.warns(kernels.OnHostWarning, match="reduce.sum_forward runs on the CPU"):
            y = x.sum(0)
        assert (y.device, y.dtype) == ("cuda", float16)
        assert x.sum(0).tolist() == [3, 5, 7]


@pytest.mark.parametrize("there, now", [("cpu", "cuda"), ("cuda", "cpu")])
def test_a_module_that_moves_after_its_optimizer_was_made_is_refused(there, now):
    model = nn.Linear(3, 4).to(there)
    optimizer = fp.MixedOptimizer(optim.Adam(model.parameters()))
    model.to(now)
    before = model.weight.numpy().copy()
    with pytest.raises(fp.DeviceError, match=f"weight was on device '{there}'.*on '{now}' now"):
        optimizer.minimize(model(fp.ones(2, 3, device=now)).sum())
    assert np.array_equal(model.weight.numpy(), before)


def test_parameters_of_two_devices_are_refused():
    parameters = [*nn.Linear(3, 3).parameters(), *nn.Linear(3, 3).to("cuda").parameters()]
    with pytest.raises(fp.DeviceError, match=r"CPU and on the GPU.*module\.to\('cuda'\)"):
        fp.MixedOptimizer(optim.Adam(parameters))


@pytest.mark.parametrize("name", [n for n in vars(nn.init) if n.endswith("_") and n[0] != "_"])
def test_initialisers_write_on_a_gpu_what_they_write_on_the_cpu(name):
    settings = {"constant_": (0.5,), "sparse_": (0.5,)}.get(name, ())
    shape = (6, 3, 2, 2) if name == "dirac_" else (6, 4)
    written = []
    for place in ("cpu", "cuda"):
        fp.manual_seed(3)
        tensor = fp.full(shape, 7.0, device=place)
        written.append(getattr(nn.init, name)(tensor, *settings).numpy())
    assert (written[0] == written[1]).all()
    with pytest.raises(fp.TapeError, match="shares its elements"):
        getattr(nn.init, name)(fp.ones(1, *shape[1:], device="cuda").expand(*shape), *settings)
