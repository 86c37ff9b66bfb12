"""Products: large sums within the bound, float16 sums in order, einsum, refusals."""

import cases  # noqa: F401 (the bounds of kernels whose sums go through further arithmetic)
import numpy as np
import pytest
from bounds import Calls
from hypothesis import given
from hypothesis import strategies as st
from random_arrays import bits, halves, random_arrays
from refusals import check_refusals, refuses

import minifp as fp
import minifp.nn.functional as F
from minifp import nn
from minifp.numerics.formats import float16, float32


@pytest.mark.parametrize("K", [1, 4096, 65536])
@pytest.mark.parametrize("product", [
    lambda x, y: fp.matmul(x, y), lambda x, y: fp.dot(x[0], y[:, 0]),
    lambda x, y: fp.mv(x, y[:, 0]), lambda x, y: fp.einsum("ik,kj->ij", x, y),
    lambda x, y: F.linear(x, y.T), lambda x, y: F.conv1d(x.T[None], y.T.unsqueeze(2)),
], ids=["matmul", "dot", "mv", "einsum", "linear", "conv1d"])  # fmt: skip
def test_sums_of_65536_products_of_halves_are_the_exact_ones_rounded_once(product, K):
    """Forward; and backward, where the gradient of y is summed over as many rows."""
    with fp.precision("mixed"), Calls() as calls:
        x, y = (fp.tensor(a, requires_grad=True) for a in random_arrays((3, K), (K, 2), scale=0.3))
        z = product(x, y)
        z.backward(gradient=np.ones(z.shape))
        fp.mm(x.T, x[:, :2]).sum().backward()
    dots = [call for call in calls if call.kernel.rule.role == "dot"]
    assert len(dots) >= 4
    for call in dots:
        assert call.excess() <= 1, call.kernel


def test_a_product_of_vectors_is_one_number_and_does_not_overflow():
    """Nor does the seed of backward: 2^16 is more than float16 holds."""
    with fp.precision("mixed"):
        x = fp.tensor(np.full(1000, 10.0), requires_grad=True)
        for number in (fp.dot(x, x), x @ x, fp.einsum("i,i", x, x), fp.einsum("i,i->", x, x)):
            assert (number.dtype, number.item()) == (float32, 100_000)
        small = fp.tensor(np.full(1000, 2.0**-5), requires_grad=True)
        fp.dot(small, small).backward(seed=2.0**16)
        assert small.grad.tolist() == [2.0**12] * 1000


@pytest.mark.parametrize("fn, same", [
    (fp.mm, fp.matmul), (lambda x, y: fp.einsum("ik,kj->ij", x, y), fp.matmul),
    (lambda x, y: fp.einsum("ki,kj->ij", x.T, y), fp.matmul),
    (lambda x, y: fp.bmm(x[None], y[None])[0], fp.matmul),
    (lambda x, y: fp.mv(x, y[:, 0]), lambda x, y: (x @ y[:, :1])[:, 0]),
    (lambda x, y: F.linear(x, y.T), fp.matmul),
    (lambda x, y: fp.addmm(fp.zeros(1), x, y), fp.matmul),
], ids=["mm", "einsum", "einsum turned", "bmm", "mv", "linear", "addmm"])  # fmt: skip
def test_products_of_all_names_add_in_the_same_order(fn, same):
    arrays = halves((6, 300), (300, 5))
    for a, b in zip(bits(fn, *arrays), bits(same, *arrays), strict=True):
        np.testing.assert_array_equal(a, b)
    wide = bits(fn, *arrays, precision="mixed")
    assert any((a != b).any() for a, b in zip(wide, bits(fn, *arrays)))


def test_three_operands_are_multiplied_from_left_to_right_and_each_product_is_stored():
    x, y, z = halves((4, 50), (50, 60), (60, 3))
    with fp.precision("mixed"):
        a, b, c = map(fp.tensor, (x, y, z))
        whole, first = fp.einsum("ij,jk,kl->il", a, b, c).array, fp.einsum("ij,jk->ik", a, b)
        assert first.dtype == float16
        np.testing.assert_array_equal(whole, fp.einsum("ik,kl->il", first, c).array)
        with Calls() as calls:
            fp.einsum("ij,jk,kl->il", a, b, c)
    assert [c.kernel.name for c in calls] == ["einsum.einsum_forward"] * 2


def test_an_operand_alone_is_a_view_or_a_sum():
    x = fp.tensor(np.arange(12.0).reshape(3, 4), requires_grad=True)
    assert np.shares_memory(fp.einsum("ij->ji", x).array, x.array)
    assert fp.einsum("ij->i", x).node.op == "sum"
    with fp.precision("mixed"):
        assert fp.einsum("ij->", fp.tensor(np.full((300, 300), 10.0))).item() == 900_000


@given(st.data())
def test_einsum_of_any_equation_is_numpys(data):
    sizes = {n: data.draw(st.integers(0, 4)) for n in "abcd"}
    terms = data.draw(st.lists(st.text("abcd", max_size=4), min_size=1, max_size=4))
    found = sorted({*"".join(terms)})
    out = "".join(data.draw(st.permutations(found))[: data.draw(st.integers(0, len(found)))])
    shapes = [tuple(sizes[n] for n in term) for term in terms]
    arrays = [np.asarray(a) for a in random_arrays(*shapes)]
    equation = ",".join(terms) + "->" + out
    with fp.precision("float64"):
        z = fp.einsum(equation, [fp.tensor(a) for a in arrays])
    np.testing.assert_allclose(z.array, np.einsum(equation, *arrays), rtol=1e-11, atol=1e-11)


X, Y = fp.tensor(np.ones((2, 3))), fp.tensor(np.ones((3, 4)))


@pytest.mark.parametrize("arguments, error, message", [
    ((X, "ij"), fp.DTypeError, "equation is a Tensor: expected a text"),
    (("ij,jk", X), fp.ArgumentError, "1 operands, expected 2"),
    (("ij", X, Y), fp.ArgumentError, "2 operands, expected 1"),
    (("ij",), fp.ArgumentError, "0 operands, expected 1"),
    (("ij,jk", X, [1.0]), fp.DTypeError, "operand 1 is a list: expected a tensor"),
    (("i,jk", X, Y), fp.ShapeError, 'operand 0 has 2 dimensions, not those of "i"'),
    (("ijk...,jk", X, Y), fp.ShapeError, r'operand 0 has 2 dimensions, not those of "ijk\.'),
    (("ij,ik", X, Y), fp.ShapeError, "i has size 3 in operand 1, and 2 before"),
    (("ii", X), fp.ShapeError, "i has size 3 in operand 0, and 2 before"),
    (("...,...", X, Y), fp.ShapeError, r"\.\.\. has size 3 in operand 1, and 2 before"),
    (("ij->ijj", X), fp.ArgumentError, 'in the result "ijj" each letter'),
    (("ij->k", X), fp.ArgumentError, 'in the result "k" each letter'),
    (("i1->i", X), fp.ArgumentError, '"i1": expected letters'),
    (("i.j", X), fp.ArgumentError, r'"i\.j": expected letters'),
    (("ij->i->j", X), fp.ArgumentError, '"i->j": expected letters'),
    (("......", X), fp.ArgumentError, "expected letters, with at most one ellipsis"),
])  # fmt: skip
def test_an_equation_that_does_not_fit_is_refused(arguments, error, message):
    refuses(error, "einsum.*" + message, fp.einsum, *arguments)


V = fp.tensor(np.ones(3))


def test_products_name_what_does_not_fit():
    check_refusals(r"""
    fp.mm(X, X) -> ShapeError: mm of \(2, 3\) with \(2, 3\): .*\(3\).*\(2\) must
    fp.mm(X, V) -> ShapeError: mm of .*: expected 2 and 2 dimensions
    fp.bmm(X, Y) -> ShapeError: bmm of .*: expected 3 and 3 dimensions
    fp.bmm(fp.ones(2, 2, 3), fp.ones(3, 3, 2)) -> ShapeError: bmm of .*: expected as many matrices
    fp.mv(X, fp.ones(2)) -> ShapeError: mv of .*last of the second \(2\) must
    fp.dot(X, V) -> ShapeError: dot of .*: expected 1 and 1 dimensions
    fp.dot(V, fp.ones(2)) -> ShapeError: dot of \(3,\) with \(2,\)
    fp.outer(X, V) -> ShapeError: outer of .*: expected two vectors
    fp.addmm(V, X, Y) -> ShapeError: addmm: input of shape \(3,\) does not broad
    fp.addmm(V, X, X) -> ShapeError: addmm of \(2, 3\) with \(2, 3\)
    fp.addmm(fp.ones(1), X, Y, beta="1") -> DTypeError: addmm: beta='1': expected
    fp.mm(X, [[1.0]]) -> DTypeError: mm: mat2 is a list: expected a tensor
    X.matmul(2.0) -> DTypeError: matmul: other is a float: expected a tensor
    F.linear(X, [[1.0]]) -> DTypeError: linear: weight is a list: expected
    F.linear(X, Y.T, [1.0]) -> DTypeError: linear: bias is a list: expected
    F.linear(fp.tensor([[1]]), X) -> DTypeError: linear: input of int64: expected
    """, X=np.ones((2, 3)), Y=np.ones((3, 2)), V=np.ones(3))  # fmt: skip


def test_whole_numbers_are_multiplied_exactly_and_floating_ones_by_them():
    x = fp.tensor(np.array([[2**40, 1], [3, 4]]))
    assert (x @ x).tolist() == [[2**80 % 2**64 + 3, 2**40 + 4], [3 * 2**40 + 12, 19]]
    n, x = fp.tensor([[1, 2], [3, 4]]), fp.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    for z in (n @ x, fp.einsum("ij,jk->ik", n, x)):
        np.testing.assert_array_equal(z.numpy(), [[7.0, 10.0], [15.0, 22.0]])
        (dx,) = fp.grad(z.sum(), [x])
        np.testing.assert_array_equal(dx.numpy(), [[4.0, 4.0], [6.0, 6.0]])


def test_what_does_not_count_in_addmm_may_be_nan():
    assert fp.addmm(fp.tensor([np.nan]), X, Y, beta=0, alpha=0.5).tolist() == [[1.5] * 4] * 2


def test_identity_gives_back_what_it_is_given():
    x = fp.ones(2)
    assert nn.Identity(54, unused=True)(x) is x


@pytest.mark.parametrize("product", ["linear", "conv2d", "conv_transpose2d", "addmm"])
def test_with_accumulate_float16_the_bias_is_one_addend_more(product):
    """4096 + 1 is 4096 in float16, though the result is stored in float32. To chunks it is added in
    float32, also to one that has room for it."""
    ones, bias = fp.ones(1, 1), fp.ones(1)
    one = ones.reshape(1, 1, 1, 1)
    calls = {
        "linear": lambda x: F.linear(x, ones, bias),
        "conv2d": lambda x: F.conv2d(x.reshape(1, 1, 1, 1), one, bias),
        "conv_transpose2d": lambda x: F.conv_transpose2d(x.reshape(1, 1, 1, 1), one, bias),
        "addmm": lambda x: fp.addmm(ones, x, ones),
    }
    with fp.precision("float32,accumulate=float16"):
        assert calls[product](fp.full((1, 1), 4096.0)).item() == 4096
    with fp.precision("float32,accumulate=chunked:2"):
        assert calls[product](fp.full((1, 1), 4096.0)).item() == 4097
    assert calls[product](fp.full((1, 1), 4096.0)).item() == 4097
