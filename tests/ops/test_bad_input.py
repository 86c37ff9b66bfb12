"""Bad input to operations: the error names the operation, what was given and what was expected."""

import inspect

import numpy as np
import pytest

import minifp as fp
import minifp.nn.functional as F
from minifp import nn, ops

ARRAYS = {
    "x": np.linspace(-1, 1, 6).reshape(2, 3), "y": np.ones((3, 2)), "v": np.ones(3),
    "none": np.ones((0, 3)), "image": np.ones((2, 3, 5, 5)), "kernel": np.ones((4, 3, 3, 3)),
    "one": np.ones((1, 3)), "s": np.array(2.0), "batch": np.ones((2, 3, 4)),
}  # fmt: skip


def arguments(fn):
    """The tensors that a row names as its parameters."""
    names = [p for p in inspect.signature(fn).parameters if p in ARRAYS]
    return {n: fp.tensor(ARRAYS[n], requires_grad=True) for n in names}


SHAPES = [
    *(
        (lambda x, y, f=f: getattr(fp, f)(x, y), rf"{f}\(.*\(2, 3\).*\(3, 2\).*broadcast")
        for f in (
            "add",
            "sub",
            "mul",
            "div",
            "pow",
            "maximum",
            "minimum",
            "eq",
            "lt",
        )
    ),
    (lambda x, v: fp.where([True, False], x, v), r"where\(.*\(2, 3\).*\(3,\).*broadcast"),
    (lambda x: x @ x, r"matmul of \(2, 3\) with \(2, 3\): .*\(3\).*\(2\) must be equal"),
    (lambda x, s: x @ s, r"matmul of shapes \(2, 3\) and \(\): use \*"),
    (lambda batch: batch @ fp.ones(3, 4, 5), r"matmul\(.*\(2, 3, 4\).*\(3, 4, 5\).*broadcast"),
    (
        lambda x, y: F.linear(x, y),
        r"linear: input of shape \(2, 3\).*weight of shape \(3, 2\): expected",
    ),
    (lambda x, v: F.linear(x, v), r"linear: .*\(3,\): expected \(\.\.\., in\) and \(out, in\)"),
    (lambda x, y: F.linear(y, x.T, y[0]), r"linear: bias of shape \(2,\) for weight \(3, 2\)"),
    (
        lambda x, kernel: F.conv2d(x, kernel),
        r"conv2d: input of shape \(2, 3\).*expected \(N, C, H, W\)",
    ),
    (
        lambda batch, kernel: F.conv2d(fp.ones(1, 2, 5, 5), kernel),
        r"conv2d: .*2 channels.*expects 3",
    ),
    (lambda image, kernel: F.conv2d(image, kernel, groups=2), r"conv2d: .*groups=2 expects 6"),
    (lambda image, kernel: F.conv2d(image, kernel, groups=0), r"conv2d: .*groups=0"),
    (
        lambda image, kernel, v: F.conv2d(image, kernel, v),
        r"conv2d: bias of shape \(3,\) for weight",
    ),
    (
        lambda image, kernel: F.conv2d(image, kernel, dilation=3),
        r"conv2d: .*does not fit input of shape",
    ),
    *(
        (
            lambda image, kernel, k=k, v=v: F.conv2d(image, kernel, **{k: v}),
            rf"conv2d: {k}=.*integer",
        )
        for k, v in (
            ("stride", 0),
            ("stride", (1, 2, 3)),
            ("padding", -1),
            ("padding", "same"),
            ("dilation", 1.5),
        )
    ),
    *(
        (lambda x, f=f: getattr(F, f)(x, 2), rf"{f}: input of shape \(2, 3\): expected \(N")
        for f in ("max_pool2d", "avg_pool2d")
    ),
    (lambda image: F.max_pool2d(image, 0), r"max_pool2d: kernel_size=0: expected an integer"),
    (
        lambda image: F.avg_pool2d(image, 2, 2, 2),
        r"avg_pool2d: padding=\(2, 2\) must be at most half",
    ),
    (lambda image: F.max_pool2d(image, 9), r"max_pool2d: a window of \(9, 9\) does not fit"),
    (lambda v: F.batch_norm(v, None, None), r"batch_norm: input of shape \(3,\): expected \(N, C"),
    (lambda one: F.batch_norm(one, None, None, training=True), r"batch_norm .*1 value a channel"),
    (
        lambda x, y: F.batch_norm(x, None, None, y[0]),
        r"batch_norm: weight of shape \(2,\).*\(2, 3\)",
    ),
    (lambda x: F.layer_norm(x, 4), r"layer_norm: input of shape \(2, 3\) does not end in \(4,\)"),
    (lambda x: F.layer_norm(x, (1, 2, 3)), r"layer_norm: input of shape \(2, 3\) does not end in"),
    (lambda x, y: F.layer_norm(x, 3, y[0]), r"layer_norm: weight of shape \(2,\), expected \(3,\)"),
    *(
        (
            lambda x, f=f: getattr(F, f)(x, 2),
            rf"{f}: dim=2 for a tensor of 2 dimensions: expected -2",
        )
        for f in ("softmax", "log_softmax")
    ),
    (lambda s: F.softmax(s, 0), r"softmax: dim=0 for a tensor without dimensions"),
    (lambda x: F.cross_entropy(x, [0]), r"cross_entropy: .*\(2, 3\).*\(1,\): expected \(N, C"),
    (
        lambda x: F.cross_entropy(x, np.eye(2, 3, dtype=int)),
        r"cross_entropy: .*target of shape \(2, 3\)",
    ),
    (lambda v: F.cross_entropy(v, [0, 1, 2]), r"cross_entropy: input of shape \(3,\)"),
    (lambda x, y: F.mse_loss(x, y), r"mse_loss: input of shape \(2, 3\), target of shape \(3, 2\)"),
    (lambda v: F.embedding([0], v), r"embedding: weight of shape \(3,\), expected \(V, D\)"),
    *(
        (
            lambda x, f=f: getattr(fp, f)(x, 2),
            rf"{f}.*dim=2 for a tensor of 2 dimensions: expected -2",
        )
        for f in ("sum", "mean", "var", "amax", "amin", "argmax", "argmin", "squeeze")
    ),
    (lambda x: x.sum((0, -2)), r"sum.*dim=\(0, -2\) names a dimension twice"),
    *(
        (lambda none, f=f: getattr(fp, f)(none, 0), rf"{f} of no numbers: shape \(0, 3\), dim=0")
        for f in ("amax", "amin", "argmax", "argmin")
    ),
    (lambda x: x.reshape(4, 2), r"reshape\(float32 \(2, 3\)\): .*into shape \(4,2\)"),
    (lambda image: image.flatten(3, 1), r"flatten: start_dim=3 comes after end_dim=1"),
    (lambda x: x.flatten(4), r"flatten: start_dim=4 .*expected -2 to 1"),
    (lambda x: x.unsqueeze(4), r"unsqueeze: dim=4"),
    (lambda x: x.transpose(0, 2), r"transpose: dim=2 .*expected -2 to 1"),
    (lambda x: x.permute(0, 0), r"permute\(0, 0\): expected each of 2 dimensions once"),
    (lambda batch: batch.T, r"\.T of a tensor of shape \(2, 3, 4\): expected two dimensions"),
    (lambda x: x.expand(4, 3), r"expand\(float32 \(2, 3\)\): .*\(4,3\)"),
    (lambda x, y: fp.cat([x, y]), r"cat\(float32 \(2, 3\), float32 \(3, 2\)\)"),
    (lambda x: fp.cat([x, x], 3), r"cat\(.*dim=3 .*expected -2 to 1"),
    (lambda x: fp.cat([]), r"cat of no tensors"),
    (lambda x, y: fp.stack([x, y]), r"stack of \(2, 3\), \(3, 2\): expected tensors of one shape"),
    (lambda x: fp.stack([]), r"stack of no tensors"),
    (lambda x: fp.split(x, [1, 1], 1), r"split into \[1, 1\]: axis 1 has size 3, not 2"),
    (lambda x: fp.split(x, 0), r"split into pieces of 0: expected at least 1"),
    (lambda x: fp.chunk(x, 0), r"chunk into 0 pieces: expected at least 1"),
    (
        lambda x: x[5],
        r"getitem\(float32 \(2, 3\)\): index 5 is out of bounds for axis 0 with size 2",
    ),
    (lambda x: x[0, 0, 0], r"getitem\(float32 \(2, 3\)\): too many indices"),
    (lambda x: x[np.array([True, False, True])], r"getitem\(float32 \(2, 3\)\): boolean index"),
    (lambda x: x.item(), r"item\(\) of a tensor of shape \(2, 3\): expected one element"),
    (lambda x: setattr(x, "data", np.ones(3)), r"\.data of shape \(2, 3\) .*shape \(3,\)"),
    (lambda: fp.ones(2, -1), r"size \(2, -1\): expected integers of at least 0"),
]

OTHERS = [
    (
        lambda x: F.cross_entropy(x, [0, 3]),
        fp.ArgumentError,
        r"cross_entropy: target 3 at \(1,\): expected classes 0 to 2 for input of shape \(2, 3\)",
    ),
    (
        lambda x: F.cross_entropy(x, [-1, 0]),
        fp.ArgumentError,
        r"cross_entropy: target -1 at \(0,\)",
    ),
    (
        lambda batch: F.cross_entropy(batch, [[0, 1, 2, 0], [0, 1, 7, 0]]),
        fp.ArgumentError,
        r"cross_entropy: target 7 at \(1, 2\)",
    ),
    (
        lambda x: F.cross_entropy(x, [0.0, 1.0]),
        fp.DTypeError,
        r"cross_entropy: targets of float64: expected integers, the class numbers",
    ),
    (lambda x: F.cross_entropy(x, [True, False]), fp.DTypeError, r"cross_entropy: targets of bool"),
    (lambda x: F.cross_entropy(x, ["cat", "dog"]), fp.DTypeError, r"cross_entropy: targets of <U3"),
    (
        lambda x: F.cross_entropy(x, [0, 1], reduction="avg"),
        fp.ArgumentError,
        r"cross_entropy: reduction='avg': expected one of mean, sum, none",
    ),
    (
        lambda x: F.mse_loss(x, x, reduction="avg"),
        fp.ArgumentError,
        r"mse_loss: reduction='avg': expected one",
    ),
    (lambda x: F.embedding([0, 2], x), fp.ArgumentError, r"embedding: index 2: expected 0 to 1"),
    (lambda x: F.embedding([-1], x), fp.ArgumentError, r"embedding: index -1: expected 0 to 1"),
    (
        lambda x, v: F.embedding(v, x),
        fp.DTypeError,
        r"embedding: indices of float32: expected integers",
    ),
    *(
        (
            lambda x, p=p: F.dropout(x, p),
            fp.ArgumentError,
            rf"dropout: p={p!r}: expected a probability",
        )
        for p in (1.5, -0.1, float("nan"), "half")
    ),
    (
        lambda x: fp.where(x, x, x),
        fp.DTypeError,
        r"where: a condition of float32: expected booleans",
    ),
    (lambda x: fp.where(fp.tensor([1, 0, 1]), x, x), fp.DTypeError, r"where: a condition of int64"),
    (lambda x: x["a"], fp.DTypeError, r"getitem: an index of type str: only integers, slices"),
    (
        lambda x, v: x[v],
        fp.DTypeError,
        r"getitem: an index of float32: expected integers or booleans",
    ),
    (lambda x: fp.add(x, "a"), fp.DTypeError, r"add\(float32 \(2, 3\), 'a'\)"),
    (lambda x: fp.exp(None), fp.DTypeError, r"exp: input is a NoneType: expected a tensor"),
    (lambda x: fp.lt(x, None), fp.MinifpError, r"lt\(float32 \(2, 3\), None\)"),
    (lambda x: x.clamp(min="a"), fp.DTypeError, r"clamp: min='a': expected a number"),
    (lambda x: x.sum(1.5), fp.DTypeError, r"sum.*dim=1\.5: expected an integer"),
    (lambda x: x.mean("a"), fp.DTypeError, r"mean.*dim='a': expected an integer"),
    (lambda x: F.softmax(x, None), fp.DTypeError, r"softmax: dim=None: expected an integer"),
    (lambda x: x.to("float8"), fp.PrecisionError, r"no dtype 'float8': expected float16, float32"),
    (lambda: fp.tensor("abc"), fp.DTypeError, r"data of type <U3: expected floating numbers"),
    (lambda: fp.tensor(None), fp.DTypeError, r"data of type object: expected floating numbers"),
    (lambda: fp.tensor([[1, 2], [3]]), fp.DTypeError, r"data is no array"),
    (lambda: fp.tensor(1j), fp.DTypeError, r"data of type complex128"),
    (lambda: fp.tensor(1.0, dtype="float8"), fp.PrecisionError, r"no dtype 'float8'"),
    (lambda: fp.zeros("a"), fp.DTypeError, r"zeros: size \('a',\): expected integers"),
    (lambda: fp.full((2,), "a"), fp.DTypeError, r"data of type <U1"),
    (lambda: fp.arange(0, 3, 0), fp.ArgumentError, r"arange: step=0"),
    (lambda x: x + "a", TypeError, r"for \+: 'Tensor' and 'str'"),
    (lambda s: len(s), TypeError, r"len\(\) of a tensor without dimensions"),
]


def lstm_arguments(**changed):
    """Arguments of ops.lstm for 3 steps of 2 sequences, 4 inputs and 5 units; or other shapes."""
    shapes = {"x": (3, 2, 4), "h": (2, 5), "c": (2, 5), "w_ih": (20, 4), "w_hh": (20, 5)}
    shapes |= {"b_ih": (20,), "b_hh": (20,), **changed}
    return [fp.ones(*s, requires_grad=True) for s in shapes.values()]


def assert_refused(call, inputs, error, message):
    """call(**inputs) raises the error and changes nothing of its inputs."""
    before = {n: (t.array.copy(), t.storage.version) for n, t in inputs.items()}
    with pytest.raises(error, match=message):
        call(**inputs)
    for name, (array, version) in before.items():
        np.testing.assert_array_equal(inputs[name].array, array)
        assert (inputs[name].storage.version, inputs[name].grad) == (version, None)


@pytest.mark.parametrize("call, message", SHAPES)
def test_shapes_that_do_not_fit_are_refused(call, message):
    assert_refused(call, arguments(call), fp.ShapeError, message)


@pytest.mark.parametrize("call, error, message", OTHERS)
def test_what_is_of_the_wrong_kind_or_out_of_range_is_refused(call, error, message):
    assert_refused(call, arguments(call), error, message)


@pytest.mark.parametrize(
    "changed, message",
    [
        ({"x": (3, 2)}, r"lstm: x of shape \(3, 2\)"),
        ({"x": (0, 2, 4)}, r"lstm: x of shape \(0, 2, 4\).*at least one step"),
        ({"h": (3, 5)}, r"lstm: h of shape \(3, 5\), expected \(2, 5\)"),
        ({"c": (2, 4)}, r"lstm: c of shape \(2, 4\), expected \(2, 5\)"),
        ({"w_ih": (20, 3)}, r"lstm: x of shape \(3, 2, 4\), expected \(3, 2, 3\)"),
        ({"w_hh": (16, 5)}, r"lstm: w_hh of shape \(16, 5\), expected \(20, 5\)"),
        ({"b_hh": (19,)}, r"lstm: b_hh of shape \(19,\), expected \(20,\)"),
    ],
)
def test_an_lstm_names_the_argument_that_does_not_fit(changed, message):
    with pytest.raises(fp.ShapeError, match=message):
        ops.lstm(*lstm_arguments(**changed))


def test_every_refusal_is_also_the_error_a_python_programmer_expects():
    for call, _ in SHAPES:
        with pytest.raises(ValueError):
            call(**arguments(call))
    for call, error, _ in OTHERS:
        if error is fp.DTypeError:
            with pytest.raises(TypeError):
                call(**arguments(call))


# ---- changes in place ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change, error, message",
    [
        (lambda t: t.copy_(np.ones(4)), fp.ShapeError, r"copy_: .*fit shape \(2, 3\)"),
        (lambda t: t.add_(np.ones((4, 2, 3))), fp.ShapeError, r"add_: .*fit shape \(2, 3\)"),
        (lambda t: t.mul_(np.ones((3, 2))), fp.ShapeError, r"mul"),
        (lambda t: t.copy_("a"), fp.DTypeError, r"data of type <U1"),
        (lambda t: t.fill_("a"), fp.DTypeError, r"data of type <U1"),
        (lambda t: t.__setitem__(7, 1.0), fp.ShapeError, r"x\[index\] .*\(2, 3\): index 7"),
        (lambda t: t.__setitem__(0, np.ones(5)), fp.ShapeError, r"x\[index\] = value .*\(2, 3\)"),
        (lambda t: t.__setitem__(0, "a"), fp.DTypeError, r"data of type <U1"),
        (lambda t: t.__setitem__(fp.ones(2), 1.0), fp.DTypeError, r"an index of float32"),
        (lambda t: setattr(t, "data", np.ones((3, 2))), fp.ShapeError, r"\.data of shape \(2, 3\)"),
        (lambda t: setattr(t, "data", "a"), fp.ShapeError, r"\.data of shape \(2, 3\)"),
    ],
)
def test_a_change_that_does_not_fit_is_refused_and_changes_nothing(change, error, message):
    for t in (fp.tensor(ARRAYS["x"]), nn.Parameter(ARRAYS["x"])):
        before, version = t.array.copy(), t.storage.version
        with fp.no_grad(), pytest.raises(error, match=message):
            change(t)
        np.testing.assert_array_equal(t.array, before)
        assert t.storage.version == version


def test_integers_do_not_lose_their_fractions_in_place():
    t = fp.tensor([1, 2])
    for change in (lambda: t.add_(0.5), lambda: t.mul_(fp.tensor([0.5, 0.5])), lambda: t.div_(2)):
        with pytest.raises(fp.DTypeError, match="a result of float32 for a tensor of int64"):
            change()
    assert t.tolist() == [1, 2]
    assert t.add_(1).tolist() == [2, 3]


# ---- running statistics -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "shape, weight, running",
    [((1, 3), (3,), (3,)), ((4, 3), (2,), (3,)), ((4, 3), (3,), (2,)), ((3,), (3,), (3,))],
)
def test_a_batch_norm_that_is_refused_leaves_its_running_statistics(shape, weight, running):
    mean, var = fp.zeros(*running), fp.ones(*running)
    with pytest.raises(fp.ShapeError, match="batch_norm"):
        F.batch_norm(fp.ones(*shape), mean, var, fp.ones(*weight), training=True)
    assert (mean.tolist(), var.tolist()) == ([0] * running[0], [1] * running[0])


def test_a_layer_that_refuses_a_batch_has_not_counted_it():
    norm = nn.BatchNorm1d(3)
    for x in (fp.ones(1, 3), fp.ones(4, 2), fp.ones(3)):
        with pytest.raises(fp.MinifpError, match="(?i)batch_?norm"):
            norm(x)
    assert norm.num_batches_tracked.item() == 0


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_batch_that_is_not_finite_leaves_running_statistics_and_shows_in_the_result(value):
    norm = nn.BatchNorm1d(2)
    x = np.ones((3, 2))
    x[1, 0] = value
    y = norm(fp.tensor(x))
    assert np.isnan(y.array[:, 0]).all() and np.isfinite(y.array[:, 1]).all()
    assert (norm.running_mean.tolist(), norm.running_var.tolist()) == ([0, 0], [1, 1])


@pytest.mark.parametrize("lost", [float("nan"), float("inf")])
@pytest.mark.parametrize("dtype", ["int64", "uint8"])
def test_numbers_that_no_integer_holds_are_refused(lost, dtype):
    with pytest.raises(fp.DTypeError, match=f"NaN or Inf cannot be {dtype}"):
        fp.tensor([1.0, lost], dtype=dtype)


def takes_input():
    """The functions of F whose first argument is a tensor called input, and how many they need."""
    for name, fn in vars(F).items():
        if inspect.isfunction(fn) and "input" in inspect.signature(fn).parameters:
            parameters = inspect.signature(fn).parameters.values()
            if name != "embedding":  # whose input is indices, of which a list will do
                yield name, sum(p.default is p.empty for p in parameters)


@pytest.mark.parametrize("name, needed", list(takes_input()))
def test_a_list_in_place_of_a_tensor_is_refused_by_the_functions_name(name, needed):
    others = [1] * (needed - 1)
    with pytest.raises(fp.DTypeError, match=f"{name}: input is a list: expected a tensor"):
        getattr(F, name)([[1.0, 2.0]], *others)
