"""What a rule, a gradient and a product with weights make of a precision."""

import pytest

from minifp.numerics import rules
from minifp.numerics.formats import float16, float32, float64
from minifp.numerics.policy import NAMED, Precision
from minifp.numerics.rules import COMPUTE, GIVEN, Rule, resolve
from minifp.numerics.sum_format import SumFormat

F16, F32, F64, WEAK32 = (float16, False), (float32, False), (float64, False), (float32, True)


@pytest.mark.parametrize("spec, kinds, out", [
    ("x", (F16, F32), float16), ("y", (F16, F32), float32), ("x y", (F16, F32), float32),
    ("x y", (F16, WEAK32), float16), ("x y", ((float16, True), WEAK32), float32),
    ("x y", (F16, None), float16), (COMPUTE, (F16, F16), float32), (GIVEN, (F16, F64), float64),
])  # fmt: skip
def test_a_result_takes_the_format_of_the_arguments_its_rule_names(spec, kinds, out):
    for role in rules.ROLES:
        formats = resolve(Rule(role, (spec,)), ("x", "y"), kinds, NAMED["mixed"])
        assert formats.out == (out,)
        assert formats.compute == (float64 if F64 in kinds else float32)


def test_sums_are_in_what_the_precision_says_but_never_below_what_they_add():
    rule = Rule("dot", ("x",))
    for reduce, accumulate in ((float16, float32), (float32, float16), (float16, float16)):
        p = Precision(storage="float16", reduce=reduce, accumulate=accumulate)
        formats = resolve(rule, ("x",), (F16,), p)
        assert (formats.sum_in, formats.dot_in) == (SumFormat(reduce), SumFormat(accumulate))
        formats = resolve(rule, ("x",), (F64,), p)
        assert formats.sum_in == formats.dot_in == SumFormat(float64)
    wide = resolve(rule, ("x",), (F16,), Precision(storage="float16", accumulate="float64"))
    assert (wide.compute, wide.dot_in) == (float64, SumFormat(float64))
    p = Precision(accumulate="chunked:032")
    for kind, compute, dot in ((F16, float32, (float16, 32)), (F64, float64, (float64, None))):
        formats = resolve(rule, ("x",), (kind,), p)
        assert (formats.compute, formats.dot_in, formats.sum_in.dtype) == (compute, dot, compute)
    assert p.accumulate == "chunked:32"


@pytest.mark.parametrize("dtypes, are_weights, text, met", [
    ((float16, float16), (False, True), "mixed", None),
    ((float32, float16), (False, True), "mixed", float16),
    ((float16, float32), (False, True), "mixed,weights=float32", float16),
    ((float32, float32), (False, True), "mixed,weights=float32", float16),
    ((float32, float16), (False, True), "mixed,activations=float32", float32),
    ((None, float16), (False, True), "mixed", None),
    ((float64, float64), (False, True), "float32", None),
    ((float16, float32), (False, True), "float32", float32),
    ((float16, float64), (False, True), "float32", float32),
])  # fmt: skip
def test_products_with_weights_work_in_the_activation_format(dtypes, are_weights, text, met):
    assert rules.entry(dtypes, are_weights, Precision.parse(text)) == met


def test_gradients_of_what_is_stored_are_in_gradients_and_of_others_in_their_own():
    p = NAMED["mixed"]
    for dtype, scalar, expected in (
        *((float16, False, float16), (float32, False, float32), (float32, True, float32)),
        *((float64, False, float64), (float16, True, float16)),
    ):
        assert rules.gradient_format(dtype, scalar, p) == expected
    wide = Precision.parse("mixed,gradients=float32")
    assert rules.gradient_format(float16, False, wide) == float32
    narrow = Precision.parse("float32,gradients=float16")  # the seed still meets float32
    assert rules.gradient_format(float32, False, narrow) == float16
    assert rules.gradient_format(float32, True, narrow) == float32
