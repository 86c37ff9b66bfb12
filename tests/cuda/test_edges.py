"""What the kernels of a GPU decide for themselves: nothing to compute, places that are not there,
views that are not aligned; and what lies between them that no case of tests/cases reaches."""

import build
import numpy as np
import pytest
from checked import NAMES, check, normal, results_of
from test_capture import trained

import minifp as fp
import minifp.nn.functional as F
from minifp import nn
from minifp.autograd.gradient_clip import squared_norm
from minifp.autograd.tape import Tensor
from minifp.ops.convolution import conv_cuda
from minifp.runtime.cuda.arrays import cupy, to_device, to_host
from minifp.runtime.cuda.product import current_handle
from minifp.runtime.cuda.rows import rows_along
from minifp.runtime.cuda.source import THREADS, common

EPS = 1e-5


def launched(name, *args, to, **params):
    results = NAMES[name].device_kernel(*args, to=tuple(map(np.dtype, to)), **params)
    return results if isinstance(results, tuple) else (results,)


def test_of_nothing_softmax_is_nothing_sums_are_0_and_a_mean_is_nan():
    for shape in (0, 5), (5, 0), (3, 0, 4):
        x = np.ones(shape, "float16")
        (y,) = results_of("softmax.softmax_forward", x, axis=1, to=("float16",))
        assert y.shape == shape
    x, w = to_device(np.empty((0, 6, 4), "f2")), to_device(np.ones(6, "f4"))
    given = {"eps": EPS, "constant": False, "to": ("f2", "f4", "f4")}
    y, *sums = launched("batch_norm.batch_norm_dx", x, x, w, w, w, **given)
    assert y.shape == (0, 6, 4) and not any(to_host(s).any() for s in sums)
    assert launched("batch_norm.batch_norm_statistics", x, to=("f4", "f4")) == (None,)
    given = {"ignore_index": 1, "reduction": "mean", "to": ("float32",)}
    z, t = np.ones((3, 4), "float16"), np.ones(3, int)
    (loss,) = results_of("cross_entropy.cross_entropy_total", z, t, None, smoothing=0.0, **given)
    assert np.isnan(loss)
    (loss,) = results_of("nll_loss.nll_loss_total", z, t, None, **given)
    assert np.isnan(loss)


def test_rows_whose_squares_are_beyond_float32_are_0():
    x = np.full((3, 40), 3e38, "float32")
    x[:, 1::2] = -3e38
    y, r = results_of("rms_norm.rms_norm_forward", x, None, eps=0.0, to=("float32", "float32"))
    assert not y.any() and not r.any()


@pytest.mark.parametrize("behind", [(), (3,)])
def test_a_running_product_is_infinite_where_it_was_on_the_way(behind):
    x = np.ones((2, 600, *behind), "float32")
    x[0, :300], x[0, 300:], x[1, ::2], x[1, 1::2] = 1e20, 1e-20, 1e-30, 1e30
    (y,) = results_of("cumulative.cumprod_forward", x, axis=1, to=("float32",))
    assert np.allclose(y[:, -1:], 1, rtol=1e-4) and np.isinf(y[0, 300]).all()


def test_views_that_are_not_aligned():
    base = to_device(normal(1 + 6 * 4 * 64))
    x, single = base[1:].reshape(6, 4, 8, 8), ("float32", "float32")
    found = launched("batch_norm.batch_norm_statistics", x, to=single)
    expected = check("batch_norm.batch_norm_statistics", to_host(x), to=single)
    for a, b in zip(found, expected):
        assert np.allclose(to_host(a), b, rtol=1e-6, atol=1e-6)
    args, given = (x.reshape(6, 256), None, None), {"eps": EPS, "to": ("float16", *single)}
    y, *_ = launched("layer_norm.layer_norm_forward", *args, **given)
    expected, *_ = check("layer_norm.layer_norm_forward", to_host(args[0]), None, None, **given)
    assert np.allclose(to_host(y), expected, rtol=2e-3, atol=1e-6)


@pytest.mark.parametrize("loss", [F.cross_entropy, F.nll_loss])
def test_a_target_that_is_no_class_gives_nan(loss):
    z = Tensor(to_device(np.zeros((4, 3), "float32")), requires_grad=True)
    t = Tensor(to_device(np.array([0, 3, -1, 2])))
    assert np.isnan(loss(z, t, reduction="none").numpy()).tolist() == [False, True, True, False]
    loss(z, t, reduction="sum").backward()
    assert np.isnan(z.grad.numpy()).all(1).tolist() == [False, True, True, False]


def test_indices_that_name_no_row_read_nan_and_add_nothing():
    i = np.array([0, -1, 7, 3])
    w = Tensor(to_device(np.ones((7, 4), "float32")), requires_grad=True)
    y = F.embedding(Tensor(to_device(i)), w)
    assert np.isnan(y.numpy()).all(1).tolist() == [False, True, True, False]
    dy, given = np.ones((4, 4), "float32"), {"rows": 7, "padding_idx": None, "to": ("float32",)}
    (dw,) = results_of("embedding.embedding_dw", dy, i, **given)
    assert dw.sum(1).tolist() == [4, 0, 0, 4, 0, 0, 0]


def test_places_on_the_cpu_are_moved_and_an_input_is_not():
    x = Tensor(to_device(np.arange(12.0, dtype="float32").reshape(3, 4)), requires_grad=True)
    fp.repeat_interleave(x, 2, 0).sum().backward()
    assert (x.grad.numpy() == 2).all()
    assert fp.gather(x, 1, np.array([[3], [0], [1]])).numpy().tolist() == [[3], [4], [9]]
    with pytest.raises(fp.DeviceError, match="gather: an index on the GPU"):
        fp.gather(x.to("cpu"), 1, Tensor(to_device(np.array([[3]]))))


def test_targets_and_lengths_may_be_on_either_device():
    x, targets = normal(9, 2, 4, dtype="f8"), np.array([[1, 2], [3, 0]])
    expected = F.ctc_loss(fp.tensor(x), targets, [9, 7], [2, 1]).item()
    on_gpu = fp.tensor(x, device="cuda", requires_grad=True)
    for place in ("cpu", "cuda"):
        given = (fp.tensor(a, device=place) for a in (targets, [9, 7], [2, 1]))
        loss = F.ctc_loss(on_gpu, *given)
        loss.backward()
        assert loss.item() == pytest.approx(expected, rel=1e-6) and loss.device == "cuda"
    decoded = F.ctc_greedy_decode(on_gpu, fp.tensor([9, 7], device="cuda"))
    for ours, theirs in zip(decoded.labels, F.ctc_greedy_decode(x, [9, 7]).labels):
        np.testing.assert_array_equal(ours, theirs)


def test_places_of_the_largest_and_one_hot_are_told_on_the_device():
    x = normal(2, 3, 9, 9)
    y, places = F.max_pool2d(fp.tensor(x, device="cuda"), 3, 2, 1, return_indices=True)
    assert places.device == "cuda"
    found = np.take_along_axis(x.reshape(6, 81), to_host(places.array).reshape(6, -1), 1)
    assert np.array_equal(found, to_host(y.array).reshape(6, -1))
    y = F.one_hot(Tensor(to_device(np.array([[2, 0]]))))
    assert y.dtype == "int64" and y.numpy().tolist() == [[[0, 0, 1], [1, 0, 0]]]


@pytest.mark.parametrize("behind", [(), (1,), (7,), (4096,)])
def test_rows_of_any_length_are_shared_by_no_more_threads_than_kernels_are_told_of(behind):
    for n in (1, 9, 33, 1000, 1025, 8192, 8193, 50257, 2**20):
        rows = rows_along((3, n, *behind), 1)
        assert rows.group <= THREADS == build.number_of("MOST_ALONG", common())


def test_few_pictures_a_part_are_multiples_of_a_pack():
    assert conv_cuda.parts_of(20, conv_cuda.WORKSPACE // 9) == [(0, 8), (8, 8), (16, 4)]
    assert conv_cuda.parts_of(7, conv_cuda.WORKSPACE // 3) == [(0, 3), (3, 3), (6, 1)]
    assert conv_cuda.parts_of(2, conv_cuda.WORKSPACE * 3) == [(0, 1), (1, 1)]
    assert (conv_cuda.parts_of(0, 10), conv_cuda.parts_of(3, 0)) == ([], [(0, 3)])


def test_squares_have_more_parts_than_a_block_has_threads():
    arrays = [normal(200_000, dtype="float32", seed=seed) for seed in range(4)]
    exact = sum(np.square(a, dtype=float).sum() for a in arrays)
    assert squared_norm(*map(to_device, arrays)) == pytest.approx(exact, rel=1e-12)


def test_columns_of_all_parts_lie_in_the_same_memory(monkeypatch):
    monkeypatch.setattr(conv_cuda, "WORKSPACE", 2**16)
    pool = cupy().get_default_memory_pool()
    x, w, dy = (to_device(normal(*s)) for s in ((512, 4, 8, 8), (4, 4, 3, 3), (512, 4, 4, 4)))
    given = {"stride": (2, 2), "padding": (1, 1), "dilation": (1, 1), "groups": 1, "to": ("f2",)}
    calls = (
        ("conv.conv_forward", (x, w, None), {"counts": (4, 4)}),
        ("conv.conv_dx", (dy, w), {"x_sizes": (8, 8)}),
        ("conv.conv_dw", (dy, x), {"w_shape": w.shape}),
    )
    current_handle()  # or its workspace would count
    for name, args, more in calls:
        pool.free_all_blocks()
        before = pool.total_bytes()
        (result,) = launched(name, *args, **given, **more)
        taken = pool.total_bytes() - before - result.nbytes
        assert taken < 1.9 * 2**16  # those of all parts together are 9 times the workspace


class Reader(nn.Module):
    def __init__(self):
        self.embed, self.lstm, self.gru = nn.Embedding(30, 12), nn.LSTM(12, 16, 2), nn.GRU(16, 16)
        self.rnn, self.attend = nn.RNN(16, 16), nn.MultiheadAttention(16, 2)
        self.out = nn.Linear(16, 30)

    def forward(self, i):
        h = self.rnn(self.gru(self.lstm(self.embed(i))[0])[0])[0]
        return self.out(h + self.attend(h, h, h)[0]).reshape(-1, 30)


def losses_of(device, captured):
    texts = [np.random.default_rng(k).integers(0, 30, size=(7, 4)) for k in range(8)]
    data = [(fp.tensor(i), fp.tensor(np.roll(i, -1).ravel())) for i in texts]
    settings = {"precision": "mixed,loss_scale=1024", "net": Reader, "device": device}
    return trained(captured, data=data, **settings)[0]


def test_a_reader_trains_on_a_gpu_as_on_the_cpu_and_in_a_graph(on_device):
    alone = losses_of("cuda", False)
    assert alone == losses_of("cuda", True)
    np.testing.assert_allclose(alone, losses_of("cpu", False), rtol=1e-3)
