"""Operands of products are rounded on a GPU as on the CPU, with scales that stay there."""

import numpy as np
import pytest

import minifp as fp
import minifp.nn.functional as F
from minifp import nn
from minifp.numerics import kernels
from minifp.numerics.formats import as_dtype, downcast, float32, format_of, upcast
from minifp.numerics.operand_codes import OperandCodes, coded
from minifp.numerics.operands import CURRENT, ROW, Rounding, rounded
from minifp.ops.products.linear import linear_forward
from minifp.runtime.cuda import capturing
from minifp.runtime.cuda.arrays import to_device, to_host


def assert_same(ours, theirs):
    assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
    np.testing.assert_array_equal(*(upcast(to_host(y), float32) for y in (ours, theirs)))


@pytest.mark.parametrize("stored", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("to", ["float8_e4m3fn", "float8_e5m2"])
def test_bits_are_those_of_the_reference_and_codes_say_what_enters_the_product(
    stored, to, monkeypatch
):
    """No number here is subnormal in float32: a GPU has none of these."""
    monkeypatch.setattr("minifp.numerics.operands.worth_compiling", lambda *_: False)
    wide = np.random.default_rng(1).normal(size=(4, 30, 50)) * 2.0 ** np.arange(-25, 25)
    wide[0, 3:, 4] = wide[1, 0] = 0
    both = [np.inf, np.nan, -np.inf]  # of which a product's codes know one
    for special in ([], [65504.0, -1e-7], [np.inf, -np.inf, 0.0], [np.nan, 0.0, 0.0], both):
        wide[0, 0, : len(special)] = special
        x = downcast(np.clip(wide, -6e4, 6e4) if len(special) < 3 else wide, as_dtype(stored))
        for scale, axes in ((CURRENT, ()), (None, ()), (ROW, (0,)), (ROW, (-1, 0)), (ROW, ())):
            how = Rounding(format_of(to), scale)
            for view in (lambda a: a, lambda a: a[:, ::2, ::-1], lambda a: a.transpose(2, 0, 1)):
                there = view(to_device(x))
                assert_same(rounded(there, how, axes), to_device(rounded(view(x), how, axes)))
                if scale != ROW and stored != "float16" and special is not both:
                    codes = coded(there, how, None, None)
                    assert codes.codes.dtype == how.format.stored
                    assert codes.codes.nbytes == there.size
                    assert_same(codes.decoded(), rounded(there, how, ()))


def test_gradients_of_saved_operands_are_those_of_saved_activations():
    def gradients(text):
        with fp.precision(text):
            fp.manual_seed(0)
            model = nn.Sequential(
                *(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(4, 4, 2)),
                *(nn.Flatten(), nn.LayerNorm(16), nn.Linear(16, 3)),
            ).to("cuda")
            y = model(fp.randn(2, 1, 8, 8).to("cuda"))
            kept, node = [], y.node
            while isinstance(node, fp.autograd.tape.Node):
                kept += [node.op for a in node.saved if isinstance(a, OperandCodes)]
                node = node.parents[0][0]
            F.cross_entropy(y, fp.tensor([0, 2]).to("cuda")).backward()
            return [to_host(p.grad.array).tobytes() for p in model.parameters()], kept

    (ours, kept), (theirs, none) = gradients("float8,saved=operands"), gradients("float8")
    assert ours == theirs and (kept, none) == (["linear", "conv2d"], [])


def test_nothing_waits_for_a_scale():
    layer, x = nn.Linear(5, 3).to("cuda"), fp.ones(2, 5, device="cuda")
    for text in ("float8", "float8,saved=operands"):
        with fp.precision(text):
            layer(x)
            step = fp.capture(lambda x: layer(layer.weight * 1.0).sum() + layer(x).sum())
            assert [step(x).item() for _ in range(6)] == [step(x).item()] * 6
    assert capturing.now is None


def test_formats_that_no_kernel_of_a_gpu_rounds_to_are_refused():
    x, w = (to_device(np.ones((2, 3), "f4")) for _ in range(2))
    exact = "float8_e4m3fn,operand_scale=current+factor=exact"
    for text, why in (("e4m2", "of e4m2 are rounded on the CPU only"), (exact, "by powers of two")):
        with fp.precision(f"float32,operands={text}"), pytest.raises(fp.PrecisionError, match=why):
            linear_forward(x, w, None)
    with fp.precision("float32,operands=float8_e4m3fn"):
        assert (to_host(linear_forward(x, w, None)) == 3).all()
    assert not {"linear.linear_forward"} & kernels.ran_on_host
