"""The three products of a layer: which kernel is which, and that each has switches of its own."""

import numpy as np
import pytest
from refusals import refuses
from watching import Kernels

import minifp as fp
import minifp.nn.functional as F
from minifp import nn
from minifp.numerics.formats import float16, float32, format_of
from minifp.numerics.kernels import KERNELS, kernel
from minifp.numerics.policy import Precision
from minifp.numerics.products import DGRAD, FPROP, PRODUCTS, WGRAD
from minifp.numerics.rules import GIVEN
from minifp.ops.products.linear import linear_dw, linear_dx, linear_forward

GRADIENTS = {"dy", "dz", "ds", "dh"}  # what kernels call them


def numbers(*shape):
    return fp.tensor(np.random.default_rng(0).normal(0, 1, shape), requires_grad=True)


# What is done, and how many sums of each product its forward and backward have, where the gradient
# of the state before the first step is none.
STEPS = {
    "linear": (lambda: nn.Linear(6, 3)(numbers(4, 6)), (1, 1, 1)),
    "conv": (lambda: nn.Conv2d(2, 3, 3)(numbers(2, 2, 6, 6)), (1, 1, 1)),
    "conv_transpose": (lambda: nn.ConvTranspose1d(2, 3, 3)(numbers(2, 2, 6)), (1, 1, 1)),
    "lstm": (lambda: nn.LSTM(3, 4, proj_size=2)(numbers(5, 2, 3))[0], (1, 2, 3)),
    "gru": (lambda: nn.GRU(3, 4)(numbers(5, 2, 3))[0], (1, 2, 2)),
    "rnn": (lambda: nn.RNN(3, 4)(numbers(5, 2, 3))[0], (1, 2, 2)),
    "matmul": (lambda: numbers(4, 6) @ numbers(6, 3), (1, 2, 0)),
    "einsum": (lambda: fp.einsum("bi,io->bo", numbers(4, 6), numbers(6, 3)), (1, 2, 0)),
    "attention": (
        lambda: F.scaled_dot_product_attention(numbers(2, 3), numbers(4, 3), numbers(4, 5)),
        (2, 4, 0),
    ),
}


def seen(step, precision):
    """(product, formats) of the kernels that sum products in a forward and its backward."""
    fp.manual_seed(0)
    with fp.precision(precision), Kernels() as calls:
        y = step()
        y.backward(gradient=np.ones(y.shape, "float32"))
    return [(k.rule.product, formats) for k, _, _, formats in calls if k.rule.role == "dot"]


def test_every_kernel_that_sums_products_is_one_of_the_three():
    own = [k for k in KERNELS if k.rule.role == "dot" and k.reference.__module__[:6] == "minifp"]
    assert len(own) > 20
    for k in own:
        has_gradient = bool(GRADIENTS & {*k.names})
        assert k.rule.product in (PRODUCTS[1:] if has_gradient else (FPROP,)), k
    assert not [k for k in KERNELS if k.rule.role != "dot" and k.rule.product]


@pytest.mark.parametrize(("step", "counts"), STEPS.values(), ids=STEPS)
def test_a_switch_of_one_product_holds_for_all_of_its_kernels_and_no_other(step, counts):
    for changed in PRODUCTS:
        found = seen(step, f"float32,{changed}:accumulate=float16")
        assert tuple(sum(p == product for p, _ in found) for product in PRODUCTS) == counts
        for product, formats in found:
            assert formats.dot_in.dtype == (float16 if product == changed else float32)


@pytest.mark.parametrize("product", [DGRAD, WGRAD])
def test_operands_of_one_product_are_rounded_as_it_says(product):
    text = f"float8,{product}:gradient_operands=float4_e2m1,{product}:operand_scale=row"
    for one, formats in seen(STEPS["conv"][0], text):
        of_gradients = [r for r in formats.operands if r and r.format == format_of("float4_e2m1")]
        assert len(of_gradients) == (one == product)
        scale = "row" if one == product else "current"
        assert {r.scale for r in formats.operands if r} == {scale}
    switches = ("operands", "gradient_operands", "operand_scale")
    off = ",".join(f"{product}:{switch}=off" for switch in switches)
    assert {p for p, formats in seen(STEPS["conv"][0], f"float8,{off}") if formats.operands} == {
        *PRODUCTS
    } - {product}


def test_the_numbers_of_a_product_are_those_of_the_precision_that_has_its_switch():
    x, w, dy = (np.random.default_rng(i).normal(0, 1, (64, 64)).astype("f2") for i in range(3))
    calls = {FPROP: (linear_forward, x, w, None), DGRAD: (linear_dx, dy, w)}
    calls[WGRAD] = linear_dw, dy, x
    for product, (called, *args) in calls.items():
        how, results = {"to": None if product == FPROP else float16}, {}
        texts = "float16", "float16,accumulate=float32", f"float16,{product}:accumulate=bfloat16"
        for text in texts:
            with fp.precision(text):
                results[text] = [np.asarray(k(*a, **how)) for k, *a in [(called, *args)]][0]
        with fp.precision(f"float16,{product}:accumulate=float32"):
            np.testing.assert_array_equal(
                called(*args, **how), results["float16,accumulate=float32"]
            )
        assert len({r.tobytes() for r in results.values()}) == 3
        for other in {*PRODUCTS} - {product}:
            with fp.precision(f"float16,{other}:accumulate=float32"):
                np.testing.assert_array_equal(called(*args, **how), results["float16"])


def test_switches_that_a_product_has_anyway_are_left_out():
    p = Precision.parse("mixed,wgrad:accumulate=float32,dgrad:accumulate=float16")
    assert p.products == (("dgrad:accumulate", "float16"),)
    assert p == Precision.parse("mixed,dgrad:accumulate=float16")
    assert str(p) == "mixed,dgrad:accumulate=float16"
    for given in (3, {"wgrad": "float32"}, {"wgrad:reduce": "float16"}, {"wgrad:accumulate": "x"}):
        refuses(fp.PrecisionError, "expected", Precision, products=given)


def test_a_kernel_that_does_not_say_what_it_multiplies_is_refused():
    try:

        @kernel("dot", GIVEN)
        def silent(x, y, *, dot):
            return dot(x, y)

        x = np.ones((2, 2), "f4")
        for text in ("float32,wgrad:accumulate=float16", "float8"):
            with fp.precision(text):
                refuses(fp.PrecisionError, r"silent .*kernel\(..., operands=", silent, x, x)
        with pytest.raises(fp.ArgumentError, match="product.*fprop"):
            kernel("dot", GIVEN, product="wgard")(silent.reference)
        with pytest.raises(fp.ArgumentError, match="with a product, role='map': expected .*dot"):
            kernel("map", GIVEN, product=WGRAD)(silent.reference)
    finally:
        KERNELS[:] = [k for k in KERNELS if "silent" not in k.name]


def test_what_parts_and_products_have_is_listed():
    text = "mixed,dgrad:accumulate=float16;head=float32;*.wgrad:accumulate=chunked:32"
    lines = str(fp.op_list(text)).splitlines()
    assert [line.split() for line in lines[1:]] == [
        *(["all", "fprop", "accumulate=float32"], ["all", "dgrad", "accumulate=float16"]),
        *(["all", "wgrad", "accumulate=float32"], ["head", "all", "float32"]),
        ["*", "wgrad", "accumulate=chunked:32"],
    ]
    both = str(fp.op_list("autocast,wgrad:accumulate=float16")).splitlines()
    assert both[0].startswith("operation") and both[-1].split()[1:] == [
        "wgrad",
        "accumulate=float16",
    ]
    with fp.precision(text):
        assert len(fp.op_list()) == 0 and fp.op_list().products[3].modules == "head"
        refuses(fp.PrecisionError, "none, without autocast", lambda: fp.op_list()["softmax"])
