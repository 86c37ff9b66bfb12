"""Booleans, counts and places: what is asked of tensors on a GPU, and has no gradient."""

import numpy as np
import pytest

import minifp as fp

NUMBERS = np.array([[0.0, 1.5, np.nan], [np.inf, 0.0, -2.0]], "f4")
ASKED = {
    "isnan(x).any()": lambda x: fp.isnan(x).any(),
    "any(x, 1)": lambda x: fp.any(x, 1, keepdim=True),
    "all(x)": fp.all,
    "all(x, 0)": lambda x: x.all(0),
    "count_nonzero": fp.count_nonzero,
    "count_nonzero(x, 0)": lambda x: fp.count_nonzero(x, 0),
    "isclose": lambda x: fp.isclose(x, x, equal_nan=True),
    "isclose(x, 1.5)": lambda x: fp.isclose(x, 1.5),
    "isclose of a number on the CPU": lambda x: fp.isclose(x, fp.tensor(1.5)),
    "nonzero": fp.nonzero,
    "nonzero as a tuple": lambda x: fp.nonzero(x, as_tuple=True)[1],
}
OF_INTEGERS = {
    "x & 3": lambda x: x & 3,
    "x | x": lambda x: x | x,
    "x ^ 1": lambda x: x ^ 1,
    "~x": lambda x: ~x,
    "any": fp.any,
}


def check_alike(ask, x):
    """The same on both devices, and where the tensor is."""
    here, there = ask(x), ask(x.to(device="cuda"))
    assert (there.device, there.dtype, there.shape) == ("cuda", here.dtype, here.shape)
    np.testing.assert_array_equal(there.numpy(), here.numpy())


@pytest.mark.usefixtures("on_device")
@pytest.mark.parametrize("ask", ASKED.values(), ids=ASKED)
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_what_is_asked_of_numbers(ask, dtype):
    check_alike(ask, fp.tensor(NUMBERS, dtype=dtype))


@pytest.mark.usefixtures("on_device")
@pytest.mark.parametrize("ask", OF_INTEGERS.values(), ids=OF_INTEGERS)
@pytest.mark.parametrize("dtype", ["int64", "uint8"])
def test_what_is_asked_of_integers(ask, dtype):
    check_alike(ask, fp.tensor(np.arange(6).reshape(2, 3)).to(dtype))


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
        fp.DeviceError, match=r"on the CPU and on the GPU: .* x.to\(device='cuda'\)"
    ):
        ask(x.to(device="cuda"), x)
