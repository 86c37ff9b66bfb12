"""Convolutions: their equation, their transposes, windows as columns, layers, refusals."""

import warnings

import cases  # noqa: F401 (the bounds of kernels whose sums go through further arithmetic)
import numpy as np
import pytest
from cases import some_places
from hypothesis import given
from hypothesis import strategies as st
from random_arrays import bits, halves, random_arrays
from refusals import check_refusals, refuses

import minifp as fp
import minifp.nn.functional as F
from minifp import nn


def naive_conv2d(x, w, stride, padding, dilation, groups):
    """The equation in the docstring of ops/conv.py, written as loops."""
    x = np.pad(x, ((0, 0), (0, 0), (padding[0],) * 2, (padding[1],) * 2))
    reach = [d * (k - 1) + 1 for d, k in zip(dilation, w.shape[2:])]
    size = [(n - r) // s + 1 for n, r, s in zip(x.shape[2:], reach, stride)]
    y, each = np.zeros((len(x), len(w), *size)), len(w) // groups
    for n, o, p, q in np.ndindex(*y.shape):
        first = o // each * w.shape[1]
        for c, i, j in np.ndindex(*w.shape[1:]):
            row, column = stride[0] * p + dilation[0] * i, stride[1] * q + dilation[1] * j
            y[n, o, p, q] += w[o, c, i, j] * x[n, first + c, row, column]
    return y


pairs = st.tuples(st.integers(1, 2), st.integers(1, 2))


@pytest.mark.references
@given(
    *(st.integers(1, 2), st.integers(1, 2), st.integers(1, 2), st.integers(1, 2)),
    *(st.tuples(st.integers(1, 5), st.integers(1, 5)), st.tuples(*[st.integers(1, 3)] * 2)),
    *(pairs, st.tuples(st.integers(0, 3), st.integers(0, 2)), pairs, st.integers(0, 2**31)),
)
def test_conv2d_is_the_equation(n, c, o, groups, size, kernel, stride, padding, dilation, seed):
    if not all(s + 2 * p > d * (k - 1) for s, p, d, k in zip(size, padding, dilation, kernel)):
        return
    random = np.random.default_rng(seed)
    x = random.integers(-4, 5, (n, c * groups, *size)) * 0.25
    w = random.integers(-4, 5, (o * groups, c, *kernel)) * 0.25
    geometry = stride, padding, dilation, groups
    with fp.precision("mixed"):  # these sums are exact in float16 and in float64
        x16, w16 = (fp.tensor(a, requires_grad=True) for a in (x, w))
        y = F.conv2d(x16, w16, None, *geometry)
        dy = random.integers(-4, 5, y.shape) * 0.25
        y.backward(gradient=dy)
    np.testing.assert_array_equal(y.array, naive_conv2d(x, w, *geometry))
    # <dy, conv(x, w)> is linear in x and in w: its value gives both gradients, tested on one-hots.
    for leaf, a, conv in (
        (x16, x, lambda e: naive_conv2d(e, w, *geometry)),
        (w16, w, lambda e: naive_conv2d(x, e, *geometry)),
    ):
        for place in some_places(a.shape):
            one_hot = np.zeros_like(a)
            one_hot[place] = 1.0
            assert leaf.grad.array[place] == (dy * conv(one_hot)).sum()


def test_weight_gradients_of_large_pictures_with_a_large_stride():
    """AlexNet's first layer, whose 16 planes a channel are read in blocks of more channels than
    there are: with too small a workspace that ended the process."""
    x, dy = random_arrays((1, 3, 224, 224), (1, 64, 55, 55))
    w = fp.tensor(np.zeros((64, 3, 11, 11)), requires_grad=True)
    F.conv2d(fp.tensor(x), w, stride=4, padding=2).backward(gradient=dy)
    around = np.pad(x[0], ((0, 0), (2, 2), (2, 2)))
    for i, j in ((0, 0), (3, 10), (10, 10)):
        seen = around[:, i:, j:][:, ::4, ::4][:, :55, :55]
        np.testing.assert_allclose(
            w.grad.numpy()[:, :, i, j],
            np.einsum("opq,cpq->oc", dy[0], seen),
            atol=16 * 2**-24 * 55 * 55,  # some roundings of each of 3,025 products of about 1
        )


@pytest.mark.parametrize("kernel", [(7, 1), (1, 7)])
def test_pictures_side_by_side_with_zeros_along_one_axis_alone(kernel):
    """Several pictures in a chunk, and no column of zeros between rows: that never ended."""
    x, w = random_arrays((32, 8, 7, 7), (8, 8, *kernel))
    padding = tuple(k // 2 for k in kernel)
    found = F.conv2d(fp.tensor(x), fp.tensor(w), padding=padding).numpy()
    expected = naive_conv2d(x[-1:], w, (1, 1), padding, (1, 1), 1)
    np.testing.assert_allclose(found[-1:], expected, atol=56 * 2**-20)


def test_conv1d_is_conv2d_of_one_row_in_every_bit():
    x, w, b = halves((2, 4, 30), (6, 2, 5), (6,))
    settings = {"stride": 2, "padding": 3, "dilation": 2, "groups": 2}

    def of_rows(x, w, b):
        rows = {k: (1, v) if k != "padding" else (0, v) for k, v in settings.items()}
        rows["groups"] = 2
        return F.conv2d(x.unsqueeze(2), w.unsqueeze(2), b, **rows).squeeze(2)

    for precision in ("mixed", "mixed,accumulate=float16", "float32"):
        found = bits(lambda *a: F.conv1d(*a, **settings), x, w, b, precision=precision)
        for a, c in zip(found, bits(of_rows, x, w, b, precision=precision), strict=True):
            np.testing.assert_array_equal(a, c)


def test_padding_same_of_an_even_kernel_has_one_more_at_the_end(torch):
    x, w = random_arrays((2, 3, 7, 6), (4, 3, 4, 2))
    for dilation in (1, 2, (3, 1)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PyTorch's, of a copy that it makes
            expected = torch.nn.functional.conv2d(
                *map(torch.tensor, (x, w)), padding="same", dilation=dilation
            )
        with fp.precision("float64"):
            y = F.conv2d(*map(fp.tensor, (x, w)), padding="same", dilation=dilation)
        assert y.shape == (2, 4, 7, 6)
        np.testing.assert_allclose(y.array, expected.numpy(), rtol=1e-11, atol=1e-11)


@given(
    *(st.integers(1, 3), st.integers(0, 2), st.integers(1, 2), st.integers(1, 3)),
    *(st.integers(1, 2), st.integers(1, 6)),
)
def test_a_transposed_convolution_is_a_gradient(stride, padding, dilation, kernel, groups, length):
    """<conv(x, w), y> = <x, conv_transpose(y, w)>, with the sizes that the stride leaves open."""
    settings = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    size = length + dilation * (kernel - 1)
    with fp.precision("float64"):
        x, w = map(fp.tensor, random_arrays((2, 2 * groups, size), (3 * groups, 2, kernel)))
        z = F.conv1d(x, w, **settings)
        (dz,) = map(fp.tensor, random_arrays(z.shape, seed=1))
        least = (z.shape[2] - 1) * stride - 2 * padding + dilation * (kernel - 1) + 1
        y = F.conv_transpose1d(dz, w, output_padding=size - least, **settings)
    assert y.shape == x.shape
    left, right = (z.array * dz.array).sum(), (x.array * y.array).sum()
    np.testing.assert_allclose(left, right, rtol=1e-10, atol=1e-10)


def test_output_size_chooses_among_the_sizes_that_the_stride_leaves_open(torch):
    ours, theirs = (m.ConvTranspose2d(3, 2, 3, 2, (1, 0)) for m in (nn, torch.nn))
    ours.load_state_dict({n: t.detach().numpy() for n, t in theirs.state_dict().items()})
    x = random_arrays((2, 3, 4, 5))[0].astype("float32")
    for size in ((7, 11), (8, 12), [8, 11], (2, 2, 7, 12)):
        y, z = ours(fp.tensor(x), size), theirs(torch.tensor(x), size)
        assert y.shape == (2, 2, *size[-2:])
        np.testing.assert_allclose(y.array, z.detach().numpy(), rtol=1e-5, atol=1e-6)
    refuses(fp.ShapeError, r"output_size=\(9, 11\).*from \[7, 11\] to", ours, fp.tensor(x), (9, 11))


def test_windows_that_overlap_3000_times_add_up_and_times_weights_are_a_convolution():
    """3,000 rows of one column fold onto one place each, 64 x 64 windows onto the middle."""
    with fp.precision("mixed"):
        assert F.fold(fp.ones(1, 64 * 64, 64 * 64), 127, 64).array[0, 0, 63, 63] == 4096
    random = np.random.default_rng(0)
    x, w = random.normal(0, 1, (2, 3, 6, 5)), random.normal(0, 1, (4, 3, 2, 3))
    with fp.precision("float64"):
        x, w = fp.tensor(x), fp.tensor(w)
        y = w.reshape(4, -1) @ F.unfold(x, (2, 3), dilation=(2, 1), padding=1, stride=(1, 2))
        expected = F.conv2d(x, w, stride=(1, 2), padding=1, dilation=(2, 1))
        np.testing.assert_allclose(y.array.reshape(expected.shape), expected.array, rtol=1e-12)


def test_convolutions_name_what_does_not_fit():
    check_refusals(r"""
    F.conv1d(x, w) -> ShapeError: conv1d: .*expected \(N, C, L\) or \(C, L\)
    F.conv_transpose2d(x[0, 0], w) -> ShapeError: conv_transpose2d: .*\(C, H, W\), and \(C, O/groups
    F.conv2d(x, w.array.tolist()) -> DTypeError: conv2d: weight is a list
    F.conv2d(x, w, [1.0]) -> DTypeError: conv2d: bias is a list
    F.conv2d(fp.ones(1, 4, 5, 5, dtype="int64"), w) -> DTypeError: conv2d: input of int64: expected
    F.conv2d(x, w, groups=1.5) -> ShapeError: conv2d: .*groups=1\.5
    F.conv2d(x, w, groups=2, padding="full") -> ArgumentError: padding='full'
    F.conv2d(x, w, groups=2, stride=2, padding="same") -> ArgumentError: conv2d: padding="same" with
    F.conv2d(x, fp.zeros(4, 2, 0, 3), groups=2) -> ShapeError: conv2d: a kernel of \(0, 3\)
    F.conv2d(x, w, fp.ones(3), groups=2) -> ShapeError: expected \(4,\)
    F.conv_transpose2d(x, w, fp.ones(4)) -> ShapeError: conv_transpose2d: bias of shape \(4,\)
    F.conv_transpose2d(x[:, :3], w) -> ShapeError: conv_transpose2d: .*has 3 channels; weight
    F.conv_transpose2d(x, w, output_padding=1) -> ShapeError: output_padding=\(1, 1\) must be
    F.conv_transpose2d(x, w, padding=4) -> ShapeError: conv_transpose2d: .*leave a result of sizes
    F.conv_transpose2d(x, w, stride=0) -> ShapeError: stride=0: expected an
    """, x=np.ones((2, 4, 5, 5)), w=np.ones((4, 2, 3, 3)))  # fmt: skip


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
def test_a_layer_pads_with_what_its_padding_mode_says(mode):
    for padding, widths in (((1, 2), (2, 2, 1, 1)), ("same", (1, 2, 1, 1)), ("valid", (0, 0))):
        layer = nn.Conv2d(2, 3, (3, 4), padding=padding, padding_mode=mode)
        y = F.conv2d(F.pad(x := fp.randn(2, 2, 5, 6), widths, mode), layer.weight, layer.bias)
        np.testing.assert_array_equal(layer(x).array, y.array)


def test_layers_refuse_what_cannot_be():
    check_refusals(r"""
    nn.ConvTranspose2d(3, 4, 3, padding_mode="reflect") -> MinifpError: padding_mode='reflect'
    nn.Conv1d(3, 4, 3, groups=2) -> MinifpError: groups=2 must divide 3 and 4 channels
    nn.Conv2d(3, 4, 0) -> MinifpError: kernel_size=0: expected an integer
    nn.Conv1d(3, 4, (3, 3)) -> MinifpError: kernel_size=\(3, 3\): expected an integer
    nn.Conv2d(3, 4, 3, 2, "same", padding_mode="reflect") -> MinifpError: padding="same" with stride
    nn.ConvTranspose2d(3, 4, 3, padding="same") -> MinifpError: padding='same'
    nn.ConvTranspose1d(3, 0, 3) -> MinifpError: out_channels=0: expected a positive
    nn.Conv2d(3, 4, 3, bias=None) -> MinifpError: bias=None: expected True or False
    """)


def test_a_convolution_as_it_is_printed():
    assert repr(nn.Conv2d(1, 2, 3, padding="same")) == (
        "Conv2d(1, 2, kernel_size=(3, 3), stride=(1, 1), padding=same, dilation=(1, 1), "
        "groups=1, bias=True)"
    )
