"""Bad input to operations: the error names the operation, what was given and what was expected."""

import inspect
from itertools import product

import numpy as np
import pytest
from claims import Claims
from refusals import check_refusals, refuses

import minifp as fp
import minifp.nn.functional as F
from minifp import nn

ARRAYS = {
    "x": np.linspace(-1, 1, 6).reshape(2, 3), "y": np.ones((3, 2)), "v": np.ones(3),
    "none": np.ones((0, 3)), "image": np.ones((2, 3, 5, 5)), "kernel": np.ones((4, 3, 3, 3)),
    "one": np.ones((1, 3)), "s": np.array(2.0), "batch": np.ones((2, 3, 4)),
}  # fmt: skip


def test_shapes_that_do_not_fit_are_refused():
    both = r"fp.{0}(x, y) -> ShapeError: {0}\(.*\(2, 3\).*\(3, 2\).*broadcast"
    dim = "fp.{0}(x, 2) -> ShapeError: {0}.*dim=2 for a tensor of 2 dimensions: expected -2"
    none = r"fp.{0}(none, 0) -> ShapeError: {0} of no numbers: shape \(0, 3\), dim=0"
    rows = [both.format(n) for n in "add sub mul div pow maximum minimum eq lt".split()]
    named = "sum mean var amax amin argmax argmin squeeze cumsum logsumexp max any sort unbind"
    rows += [dim.format(n) for n in named.split()]
    rows += [none.format(n) for n in "amax amin argmax argmin min".split()]
    check_refusals(
        "\n".join(rows)
        + r"""
    fp.where([True, False], x, v) -> ShapeError: where\(.*\(2, 3\).*\(3,\).*broadcast
    x @ x -> ShapeError: matmul of \(2, 3\) with \(2, 3\): .*\(3\).*\(2\) must be equal
    x @ s -> ShapeError: matmul of shapes \(2, 3\) and \(\): use \*
    batch @ fp.ones(3, 4, 5) -> ShapeError: matmul\(.*\(2, 3, 4\).*\(3, 4, 5\).*broadcast
    F.linear(x, y) -> ShapeError: linear: input of shape \(2, 3\).*weight of shape \(3, 2\)
    F.linear(x, v) -> ShapeError: linear: .*\(3,\): expected \(\.\.\., in\) and \(out, in\)
    F.linear(y, x.T, y[0]) -> ShapeError: linear: bias of shape \(2,\) for weight \(3, 2\)
    F.conv2d(x, kernel) -> ShapeError: conv2d: input of shape \(2, 3\).*expected \(N, C, H, W\)
    F.conv2d(fp.ones(1, 2, 5, 5), kernel) -> ShapeError: conv2d: .*2 channels.*expects 3
    F.conv2d(image, kernel, groups=2) -> ShapeError: conv2d: .*groups=2 expects 6
    F.conv2d(image, kernel, groups=0) -> ShapeError: conv2d: .*groups=0
    F.conv2d(image, kernel, v) -> ShapeError: conv2d: bias of shape \(3,\) for weight
    F.conv2d(image, kernel, dilation=3) -> ShapeError: conv2d: .*does not fit input of shape
    F.conv2d(image, kernel, stride=(1, 2, 3)) -> ShapeError: conv2d: stride=.*integer
    F.conv2d(image, kernel, dilation=1.5) -> ShapeError: conv2d: dilation=.*integer
    F.max_pool2d(x, 2) -> ShapeError: max_pool2d: input of shape \(2, 3\): expected \(N
    F.max_pool2d(image, 0) -> ShapeError: max_pool2d: kernel_size=0: expected an integer
    F.adaptive_avg_pool2d(image, 2**40) -> ShapeError: output_size=.*at most 2147483647
    F.adaptive_avg_pool2d(image, 2**27) -> MemoryError: 134217728
    F.conv_transpose2d(image, image.swapaxes(0, 1), stride=2**30) -> ShapeError: conv_transpose2d
    image.repeat(1, 1, 1, 2**62) -> ShapeError: repeat: a result of shape
    fp.repeat_interleave(x, 2**62) -> ShapeError: repeat_interleave: a result of shape
    F.dropout(x, training="no") -> ArgumentError: dropout: training='no': expected True or False
    x.sum(0, "no") -> ArgumentError: sum: keepdim='no': expected True or False
    F.max_pool2d(image, 9) -> ShapeError: max_pool2d: a window of \(9, 9\) does not fit
    F.batch_norm(v, None, None) -> ShapeError: batch_norm: input of shape \(3,\): expected \(N, C
    F.batch_norm(one, None, None, training=True) -> ShapeError: batch_norm .*1 value a channel
    F.batch_norm(x, None, None, y[0]) -> ShapeError: batch_norm: weight of shape \(2,\).*\(2, 3\)
    F.layer_norm(x, 4) -> ShapeError: layer_norm: input of shape \(2, 3\) does not end in \(4,\)
    F.layer_norm(x, 3, y[0]) -> ShapeError: layer_norm: weight of shape \(2,\), expected \(3,\)
    F.softmax(x, 2) -> ShapeError: softmax: dim=2 for a tensor of 2 dimensions: expected -2
    F.softmax(s, 0) -> ShapeError: softmax: dim=0 for a tensor without dimensions
    F.cross_entropy(x, [0]) -> ShapeError: cross_entropy: .*\(2, 3\).*\(1,\): expected \(N, C
    F.cross_entropy(v, [0, 1, 2]) -> ShapeError: cross_entropy: input of shape \(3,\)
    F.embedding([0], v) -> ShapeError: embedding: weight of shape \(3,\), expected \(V, D\)
    x.sum((0, -2)) -> ShapeError: sum.*dim=\(0, -2\) names a dimension twice
    x.reshape(4, 2) -> ShapeError: reshape\(float32 \(2, 3\)\): .*into shape \(4,2\)
    image.flatten(3, 1) -> ShapeError: flatten: start_dim=3 comes after end_dim=1
    x.flatten(4) -> ShapeError: flatten: start_dim=4 .*expected -2 to 1
    x.unsqueeze(4) -> ShapeError: unsqueeze: dim=4
    x.transpose(0, 2) -> ShapeError: transpose: dim=2 .*expected -2 to 1
    x.permute(0, 0) -> ShapeError: permute\(0, 0\): expected each of 2 dimensions once
    batch.T -> ShapeError: \.T of a tensor of shape \(2, 3, 4\): expected two dimensions
    x.expand(4, 3) -> ShapeError: expand\(float32 \(2, 3\)\): .*\(4,3\)
    fp.cat([x, y]) -> ShapeError: cat\(float32 \(2, 3\), float32 \(3, 2\)\)
    fp.cat([x, x], 3) -> ShapeError: cat\(.*dim=3 .*expected -2 to 1
    fp.cat([]) -> ShapeError: cat of no tensors
    fp.stack([x, y]) -> ShapeError: stack of \(2, 3\), \(3, 2\): expected tensors of one shape
    fp.stack([]) -> ShapeError: stack of no tensors
    fp.split(x, [1, 1], 1) -> ShapeError: split into \[1, 1\]: axis 1 has size 3, not 2
    fp.split(x, 0) -> ShapeError: split into pieces of 0: expected at least 1
    x[5] -> ShapeError: getitem\(float32 \(2, 3\)\): index 5 is out of bounds for axis 0 with size 2
    x[0, 0, 0] -> ShapeError: getitem\(float32 \(2, 3\)\): too many indices
    x[np.array([True, False, True])] -> ShapeError: getitem\(float32 \(2, 3\)\): boolean index
    x.item() -> ShapeError: item\(\) of a tensor of shape \(2, 3\): expected one element
        """,
        **ARRAYS,
    )


def test_what_is_of_the_wrong_kind_or_out_of_range_is_refused():
    check_refusals(
        r"""
    F.cross_entropy(x, [0, 3]) -> ArgumentError: cross_entropy: target 3 at \(1,\): expected classes
    F.cross_entropy(batch, [[0, 1, 2, 0], [0, 1, 7, 0]]) -> ArgumentError: cross_entropy: target 7
    F.cross_entropy(x, [0.0, 1.0]) -> DTypeError: cross_entropy: targets of float64: expected
    F.cross_entropy(x, [0, 1], reduction="avg") -> ArgumentError: cross_entropy: reduction='avg'
    F.embedding([0, 2], x) -> ArgumentError: embedding: index 2: expected 0 to 1
    F.embedding(v, x) -> DTypeError: embedding: indices of float32: expected integers
    F.dropout(x, 1.5) -> ArgumentError: dropout: p=1.5: expected a probability
    fp.where(x, x, x) -> DTypeError: where: a condition of float32: expected booleans
    x["a"] -> DTypeError: getitem: an index of type str: expected integers, slices
    x[v] -> DTypeError: getitem: an index of float32: expected integers or booleans
    fp.add(x, "a") -> DTypeError: add\(float32 \(2, 3\), 'a'\)
    fp.lt(x, None) -> MinifpError: lt\(float32 \(2, 3\), None\)
    x.clamp(min="a") -> DTypeError: clamp: min='a': expected a number
    x.to("float8") -> PrecisionError: no dtype 'float8': expected float16, float32
    fp.tensor("abc") -> DTypeError: data of type <U3, a text: of a path give np.load
    fp.tensor(None) -> DTypeError: data of type object: expected floating numbers
    fp.tensor([[1, 2], [3]]) -> DTypeError: data is not an array
    fp.tensor(1j) -> DTypeError: data of type complex128.*: write array\.real and
    fp.Tensor(np.ones(2, "c8")) -> DTypeError: data of type complex64.*: write array\.real
    fp.Tensor(np.array([1, None])) -> DTypeError: data of type object.*: write array\.ast
    fp.Tensor(np.zeros(1, "f4,f4")) -> DTypeError: data of type .*: write one field
    np.exp(fp.ones(1, requires_grad=True)) -> TapeError: np\.exp of a.*fp\.exp\(x\), or np
    np.sqrt(x, out=(x,)) -> DTypeError: np\.sqrt into a tensor: expected an array
    x.sum(dim=0, axis=1) -> ArgumentError: sum: axis and dim are two names
    x + "a" -> TypeError: for \+: 'Tensor' and 'str'
    len(s) -> TypeError: len\(\) of a tensor without dimensions
        """,
        **ARRAYS,
    )


def test_every_refusal_is_also_the_error_a_python_programmer_expects():
    assert issubclass(fp.ShapeError, ValueError) and issubclass(fp.ArgumentError, ValueError)
    assert issubclass(fp.DTypeError, TypeError)


@pytest.mark.parametrize("make", [fp.tensor, nn.Parameter])
def test_a_change_that_does_not_fit_is_refused_and_changes_nothing(make):
    with fp.no_grad():
        check_refusals(r"""
    t.copy_(np.ones(4)) -> ShapeError: copy_: .*fit shape \(2, 3\)
    t.add_(np.ones((4, 2, 3))) -> ShapeError: add_: .*fit shape \(2, 3\)
    t.mul_(np.ones((3, 2))) -> ShapeError: mul
    t.__setitem__(7, 1.0) -> ShapeError: x\[index\] .*\(2, 3\): index 7
    t.__setitem__(0, np.ones(5)) -> ShapeError: x\[index\] = value .*\(2, 3\)
    t.__setitem__(fp.ones(2), 1.0) -> DTypeError: an index of float32
    setattr(t, "data", np.ones((3, 2))) -> ShapeError: \.data of shape \(2, 3\) .*shape \(3, 2\)
        """, make=make, t=ARRAYS["x"])  # fmt: skip


def test_integers_do_not_lose_fractions_in_place_nor_are_they_made_of_nan():
    t = fp.tensor([1, 2])
    for change in (lambda: t.add_(0.5), lambda: t.mul_(fp.tensor([0.5, 0.5])), lambda: t.div_(2)):
        refuses(fp.DTypeError, "a result of float32 for a tensor of int64", change)
    assert (t.tolist(), t.add_(1).tolist()) == ([1, 2], [2, 3])
    for lost, dtype in product((float("nan"), float("inf")), ("int64", "uint8")):
        refuses(fp.DTypeError, f"NaN or Inf cannot be {dtype}", fp.tensor, [1.0, lost], dtype=dtype)


@pytest.mark.parametrize("precision", ["float32", "mixed", "float16", "float64"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_batch_that_is_not_finite_leaves_running_statistics(value, precision):
    with fp.precision(precision):
        norm, x = nn.BatchNorm1d(2), np.ones((3, 2))
        x[1, 0] = value
        y = norm(fp.tensor(x))
        assert np.isnan(y.array[:, 0]).all() and np.isfinite(y.array[:, 1]).all()
        held = norm.running_mean.tolist(), norm.running_var.tolist()
        assert (*held, norm.num_batches_tracked.item()) == ([0, 0], [1, 1], 0)
        norm(fp.randn(6, 2))
    assert norm.num_batches_tracked.item() == 1 and norm.running_mean.tolist() != [0, 0]


def test_strides_that_are_far_apart_take_no_plan_by_phases():
    x, kernel = fp.randn(1, 1, 9000), fp.randn(1, 1, 3)
    near, far = F.conv1d(x, kernel).array[..., [0, 8000]], F.conv1d(x, kernel, stride=8000).array
    np.testing.assert_allclose(far, near, rtol=1e-5, atol=1e-6)


def test_a_list_in_place_of_a_tensor_is_refused_by_the_functions_name():
    """Of each function whose first argument is a tensor called input."""
    functions = {
        name: fn
        for name, fn in (*vars(F).items(), *vars(fp).items())
        if inspect.isfunction(fn) and [*inspect.signature(fn).parameters][:1] == ["input"]
    }
    indices = {"embedding", "one_hot"}  # of which a list will do, or is refused otherwise
    assert len({*functions} - indices) > 120
    with Claims() as claims:
        for name in {*functions} - indices:
            parameters = inspect.signature(functions[name]).parameters.values()
            others = [1] * (sum(p.default is p.empty for p in parameters) - 1)
            words = rf"{functions[name].__name__}\W.*a list: expected (a )?tensor"
            with claims("a list is refused", name), pytest.raises(fp.DTypeError, match=words):
                functions[name]([[1.0, 2.0]], *others)
