"""Booleans, counts and places: what is asked of tensors on a GPU, and has no gradient."""

from itertools import product

import numpy as np
import pytest

import minifp as fp

NUMBERS = np.array([[0.0, 1.5, np.nan], [np.inf, 0.0, -2.0]], "f4")
ASKED = {
    "isnan(x).any()": lambda x: fp.isnan(x).any(),
    **{"any(x, 1)": lambda x: fp.any(x, 1, keepdim=True), "all(x)": fp.all},
    **{"all(x, 0)": lambda x: x.all(0), "count_nonzero": fp.count_nonzero},
    "count_nonzero(x, 0)": lambda x: fp.count_nonzero(x, 0),
    "isclose": lambda x: fp.isclose(x, x, equal_nan=True),
    "isclose(x, 1.5)": lambda x: fp.isclose(x, 1.5),
    "isclose of a number on the CPU": lambda x: fp.isclose(x, fp.tensor(1.5)),
    **{"argmax": lambda x: fp.argmax(x, 0), "largest": lambda x: fp.max(x, 1)[1]},
    **{"nonzero": fp.nonzero, "nonzero as a tuple": lambda x: fp.nonzero(x, as_tuple=True)[1]},
}
OF_INTEGERS = {
    **{"x & 3": lambda x: x & 3, "x | x": lambda x: x | x, "x ^ 1": lambda x: x ^ 1},
    **{"~x": lambda x: ~x, "any": fp.any},
}


@pytest.mark.usefixtures("on_device")
@pytest.mark.parametrize("name, dtype", [
    *product(ASKED, ("float32", "float16", "bfloat16")),
    *product(OF_INTEGERS, ("int64", "uint8")),
])  # fmt: skip
def test_what_is_asked_is_the_same_on_both_devices_and_where_the_tensor_is(name, dtype):
    ask, x = (ASKED | OF_INTEGERS)[name], NUMBERS if name in ASKED else np.arange(6).reshape(2, 3)
    here, there = (ask(fp.tensor(x).to(dtype).to(device=d)) for d in ("cpu", "cuda"))
    assert (there.device, there.dtype, there.shape) == ("cuda", here.dtype, here.shape)
    np.testing.assert_array_equal(there.numpy(), here.numpy())


@pytest.mark.usefixtures("on_device")
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int64"])
def test_whether_two_tensors_are_equal(dtype):
    x = fp.tensor([1, 2, 3]).to(dtype).to(device="cuda")
    other = fp.tensor([1, 2, 4]).to(dtype).to(device="cuda")
    assert fp.equal(x, x) and fp.allclose(x, x)
    assert not fp.equal(x, other) and not fp.allclose(x, other)
    assert not fp.equal(x, other[:2])
    nan = fp.tensor([np.nan]).to(device="cuda")
    assert not fp.equal(nan, nan) and fp.allclose(nan, nan, equal_nan=True)


@pytest.mark.parametrize("ask", [fp.equal, fp.isclose, fp.allclose])
def test_tensors_on_two_devices_are_refused(ask):
    x = fp.tensor([1.0, 2.0])
    with pytest.raises(
        fp.DeviceError, match=r"the CPU, others on the GPU: .* x.to\(device='cuda'\)"
    ):
        ask(x.to(device="cuda"), x)
