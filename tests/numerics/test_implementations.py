"""How a kernel is computed is known without a call, and why it is by its reference."""

import numpy as np
import pytest
from refusals import refuses

from minifp.derive.symbol import Untraceable
from minifp.numerics import implementations, kernels
from minifp.numerics.implementations import BY_HAND, DERIVED, REFERENCE, implementation_of
from minifp.runtime import cpu

NAMED = {kernel.name: kernel for kernel in kernels.KERNELS}


@pytest.fixture
def own_kernels(monkeypatch):
    """A list of kernels that goes after the test."""
    monkeypatch.setattr(kernels, "KERNELS", [])


@pytest.mark.skipif(not cpu.can_compile(), reason="needs numba")
def test_by_hand_goes_before_derived_and_derived_before_the_reference(own_kernels):
    assert implementation_of(NAMED["conv.conv_forward"], "cpu") == (
        BY_HAND,
        "minifp/ops/convolution/conv_numba.py",
    )
    assert implementation_of(NAMED["activation.silu_dx"], "cpu") == (DERIVED, "")
    how, why = implementation_of(NAMED["dropout.dropped"], "cpu")
    assert how == REFERENCE and why


@pytest.mark.skipif(not cpu.can_derive(), reason="needs llvmlite")
def test_a_reference_that_cannot_be_traced_says_why_and_is_run_as_it_is(own_kernels):
    @kernels.kernel("map", "x")
    def sorted_rows(x):
        return np.sort(x, axis=-1)

    how, why = implementation_of(sorted_rows, "cpu")
    assert (how, why) == (REFERENCE, "np.sort has no formula")
    x = np.array([[3, 1, 2]], np.float16)
    assert sorted_rows(x).tolist() == [[1, 2, 3]] and sorted_rows(x).dtype == np.float16


def test_without_numba_it_is_told_why_a_gpu_has_no_kernel(monkeypatch):
    monkeypatch.setattr(cpu, "numba_error", lambda: ImportError("No module named 'numba'"))
    how, why = implementation_of.__wrapped__(NAMED["activation.silu_dx"], "cuda")
    assert how == REFERENCE and "numba" in why


def test_an_example_has_the_defaults_of_the_public_function_and_its_source_is_the_authors():
    example = implementations.example_of(NAMED["activation.leaky_relu_dx"])
    assert example.arguments == ["dy", "x"] and example.settings == {"negative_slope": 0.01}
    assert implementations.example_of(NAMED["error_function.gelu_forward"]).settings == {
        "approximate": "none"
    }
    assert implementations.example_of(NAMED["softmax.softmax_dx"]).settings == {"axis": -1}
    assert implementations.example_of(NAMED["adam.adam"]).settings["betas"] == (0.9, 0.999)
    refuses(Untraceable, ".", implementations.example_of, NAMED["ctc_loss.ctc_loss_dx"])
    where, text = implementations.source_of(NAMED["activation.silu_forward"])
    assert where.startswith("minifp/ops/pointwise/activation.py:") and "np.exp(-x)" in text
    where, text = implementations.source_of(NAMED["conv.conv_forward"])
    assert where.startswith("minifp/ops/convolution/conv.py:") and "def conv_forward" in text


def test_a_kernel_of_a_lambda_is_derived_too(own_kernels):
    times = kernels.kernel("map", "x")(lambda x, *, a: a * np.tanh(x))
    x = np.linspace(-2, 2, 5, dtype=np.float16)
    expected = (np.float32(3) * np.tanh(x.astype(np.float32))).astype(np.float16)
    np.testing.assert_allclose(times(x, a=3.0), expected, rtol=2**-10)
    assert implementations.example_of(times).formula.name == "_lambda_"


TYPED_IN = """
import numpy as np
import minifp as fp

@fp.kernel("map", "x")
def squared(x):
    return x * x
"""


@pytest.mark.skipif(not cpu.can_derive(), reason="needs llvmlite")
@pytest.mark.parametrize("names", [{}, {"__name__": "__main__"}, {"__name__": "in.no.package"}])
def test_what_is_typed_in_where_no_file_is_is_derived_too(own_kernels, names):
    exec(TYPED_IN, names)
    assert names["squared"](np.full(2, 3, np.float16)).tolist() == [9, 9]
    assert names["squared"].compiled is names["squared"].derived is not None
    assert implementation_of(names["squared"], "cuda").how == DERIVED
    assert implementations.source_of(names["squared"])[1] == "(its text is in no file)"
