"""`minifp kernels`: which kernel is how computed, and what is generated of a formula."""

import pytest
from terminals import call

from minifp.errors import ArgumentError
from minifp.lab.commands import kernels_text as text
from minifp.numerics import kernels
from minifp.runtime import cpu

derived = pytest.mark.skipif(not cpu.can_derive(), reason="needs llvmlite")
MINE = """
import numpy as np
import minifp as fp

soft_cap = fp.kernel("map", "x")(lambda x, *, cap: cap * np.tanh(x / cap))

@fp.kernel("map", "x")
def in_order(x):
    return np.sort(x)
"""


def shown(*words):
    result = call("kernels", *words)
    assert result.exit_code == 0, result.output
    return result.output


def test_all_kernels_are_listed_with_what_computes_them():
    listing = shown()
    for kernel in kernels.KERNELS:
        assert kernel.name.partition(".")[2] in listing
    assert f"of {len(kernels.KERNELS)} kernels" in listing


def test_kernels_are_found_by_their_names_and_their_operations(tmp_path):
    for name, count in (("silu_dx", 1), ("activation.silu_dx", 1), ("silu", 2)):
        assert len(text.named(name)) == count
    assert {kernel.name.partition(".")[0] for kernel in text.named("softmax")} == {"softmax"}
    (tmp_path / "empty.py").touch()
    for name, why in (
        ("sofmax", "'sofmax'; did you mean softmax"),
        (f"{tmp_path}/empty.py", "defines no kernel"),
        (f"{tmp_path}/other.py", "no file"),
    ):
        with pytest.raises(ArgumentError, match=why):
            text.named(name)


@derived
def test_graph_and_generated_texts_mark_where_numbers_are_rounded():
    page = shown("leaky_relu_forward", "--show", "all")
    assert "x: x > 0" not in page and "np.where(x > 0, x, negative_slope * x)" in page
    assert "result = where(x > 0, x, negative_slope * x)" in page
    assert "a number that each call tells" in page and "rounded, for the only time" in page
    assert 'define void @"formula"' in page and "python_formula" not in page
    assert "Instructions of this processor" in page
    assert "float f(float x0, float p0)" in page and "typedef half X0;" in page


@derived
def test_what_reduces_rows_says_what_is_known_of_a_row():
    page = shown("softmax_forward")
    assert "t1 = largest(x)   once a row" in page and "result = t2 / t3" in page
    assert "this graph is for calls where axis is -1" in page
    page = shown("softmax_forward", "--show", "all")
    assert 'define void @"rows"' in page and "Instructions of this processor" in page


@derived
def test_in_float32_nothing_is_rounded_and_functions_can_be_expanded():
    assert "rounded, for" not in shown("exp_forward", "--precision", "float32")
    assert "exp(x)" in shown("exp_forward")
    assert len(shown("exp_forward", "--show", "expanded")) > 2 * len(shown("exp_forward"))
    page = shown("matmul_forward")  # which is written by hand
    assert "def matmul_forward" in page
    assert not cpu.can_compile() or "by hand, minifp/ops/products/matmul_numba.py" in page


@derived
def test_a_file_of_ones_own_is_shown_also_what_cannot_be_derived(tmp_path, monkeypatch):
    monkeypatch.setattr(kernels, "KERNELS", [*kernels.KERNELS])
    (tmp_path / "mine.py").write_text(MINE, encoding="utf-8")
    page = shown(tmp_path / "mine.py")
    assert "cap * tanh(x / cap)" in page and "lambda x, *, cap" in page
    assert "CPU: reference, np.sort has no formula" in page
    assert "np.sort has no formula" in text.left_to_numpy()


@derived
@pytest.mark.nightly
def test_every_kernel_has_a_page():
    for kernel in kernels.KERNELS:
        assert kernel.name in text.page(kernel, ("graph", "llvm", "cuda"), "float16")
