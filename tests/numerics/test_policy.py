"""Precision: its switches, its text, and which one is active where."""

import dataclasses
import pickle
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from own_process import python
from refusals import refuses
from watching import at_once

import minifp as fp
from minifp.numerics import policy, rules, switches
from minifp.numerics.autocast import CHOICES, KIND_OF, LOWS, Table
from minifp.numerics.formats import FORMATS, float16, float32, float64
from minifp.numerics.policy import NAMED, SWITCHES, Precision
from minifp.numerics.precision_grammar import read
from minifp.numerics.precision_parts import SHARED, whole_of

ROOT = Path(__file__).resolve().parents[2]

formats = st.sampled_from(list(FORMATS))
scales = st.none() | st.just("dynamic") | st.floats(1e-300, 1e300) | st.integers(1, 2**60)
scales |= st.builds(
    "dynamic+growth_interval={}+max_scale={!r}".format, st.integers(1, 9999), st.floats(1, 1e30)
)
chunked = st.integers(1, 10**18 - 1).map("chunked:{}".format)
of_updates = st.sampled_from([{}, {"update_rounding": "stochastic"}, {"compensated": True}])
of_products = st.fixed_dictionaries(
    {},
    optional={
        "operands": st.sampled_from(["float8_e4m3fn", "float8_e5m2", "float6_e2m3", "e4m2"]),
        "gradient_operands": st.sampled_from(["float8_e5m2", "float4_e2m1"]),
    },
).flatmap(
    lambda p: st.sampled_from(["current", "row", None] if p else [None]).map(
        lambda scale: {**p, "operand_scale": scale}
    )
)
of_state = st.sampled_from(
    [
        {},
        {"second_moment": "e6m1"},  # which no optimizer_state is
        {"optimizer_state": "float16", "optimizer_state_scale": "tensor"},
        {"optimizer_state": "float8_e4m3fn", "second_moment": "float16"},
        {"second_moment": "float16", "optimizer_state": "e5m7", "optimizer_state_scale": "block:9"},
    ]
)
narrow = {"weights": "float16", "master_weights": False}  # else these would do nothing
wide = {"activations": "float32", "gradients": "float16"}  # the same
precisions = st.builds(
    lambda p, ways, entering, state: dataclasses.replace(
        p,
        **({"weights": "float16"} | state if state and not ways else state),
        **(narrow | ways if ways else {}),
        **(wide | entering if len(entering) > 1 else {}),
    ),
    st.builds(
        Precision,
        **dict.fromkeys(switches.FORMAT_FIELDS, formats)
        | dict.fromkeys(switches.SUM_FIELDS, formats | chunked),
        **{"master_weights": st.booleans(), "loss_scale": scales},
        operations=st.none()
        | st.tuples(
            st.sampled_from(LOWS),
            st.dictionaries(
                st.sampled_from(sorted({*KIND_OF} - {"cast"})), st.sampled_from(CHOICES), max_size=3
            ),
        ),
    ),
    of_updates,
    of_products,
    of_state,
)
of_a_module = [s for s in switches.FORMAT_FIELDS if s not in SHARED]
as_stored = [name for name in NAMED if name != "float8"]  # which refuses what it need not round
parts = st.dictionaries(
    st.sampled_from(["head", "decoder.*", "*", "layers.[0-3]", "*norm?"]),
    st.just("float8")
    | st.builds(
        "{},{}={}".format, st.sampled_from(as_stored), st.sampled_from(of_a_module), formats
    ),
    max_size=3,
)
sums_of_products = st.dictionaries(
    st.sampled_from(["fprop", "dgrad", "wgrad"]).map("{}:accumulate".format), formats | chunked
)
parts |= sums_of_products.map(lambda sums: {f"decoder.*.{key}": sums[key] for key in sums})
precisions = st.builds(
    lambda p, sums, parts: dataclasses.replace(p, products=sums, parts=parts),
    precisions,
    sums_of_products,
    parts,
)


def test_the_named_precisions_are_those_of_the_table():
    single, plain = ("float32",) * 6, ("nearest", False)
    table = {
        "float32": (*single, False, *plain, "float32", None, None),
        "mixed": (*("float16",) * 3, *single[:3], True, *plain, "float32", "dynamic", None),
        "autocast": (*single, False, *plain, "float32", "dynamic", Table("float16", ())),
        "autocast-bfloat16": (*single, False, *plain, "float32", None, Table("bfloat16", ())),
        "float16": (*("float16",) * 6, False, *plain, "float32", None, None),
        "bfloat16": (*("bfloat16",) * 3, *single[:3], True, *plain, "float32", None, None),
        "float8": (*("bfloat16",) * 3, *single[:3], True, *plain, "float32", None, None),
        "float64": (*("float64",) * 6, False, *plain, "float64", None, None),
    }
    entering = dict.fromkeys(table, (None,) * 5)
    entering["float8"] = "float8_e4m3fn", "float8_e5m2", "current", None, None
    order = "weights activations gradients accumulate reduce norm_parameters master_weights"
    order = f"{order} update_rounding compensated optimizer_state loss_scale operations".split()
    order += ["operands", "gradient_operands", "operand_scale"]
    order += ["second_moment", "optimizer_state_scale", "saved"]
    for name, values in table.items():
        values += *entering[name], "activations"
        assert {s: getattr(NAMED[name], s) for s in order} == dict(zip(order, values))
        assert (str(NAMED[name]), Precision.parse(name)) == (name, NAMED[name])
    assert set(order) == set(SWITCHES) and set(table) == set(NAMED)


def test_a_precision_is_a_key_that_cannot_be_changed_of_formats_however_they_are_named():
    p = Precision(storage="float16")
    assert p == Precision("float16", "float16", "float16")
    assert Precision.parse("float32,storage=float16") == p
    assert Precision.parse("mixed,storage=float32,weights=float16").weights == "float16"
    assert Precision.parse("mixed,weights=float16,storage=float32").weights == "float32"
    assert Precision(weights=fp.float16, reduce="float64").weights == "float16"
    p = Precision.parse("mixed,loss_scale=128")
    with pytest.raises(dataclasses.FrozenInstanceError):
        p.weights = "float32"
    assert {p: 1}[Precision.parse(str(p))] == 1
    assert dataclasses.replace(p, reduce="float16").storage is None


@given(precisions)
def test_text_and_object_round_trip(p):
    assert Precision.parse(str(p)) == p
    assert str(Precision.parse(str(p))) == str(read(str(p))) == str(p)


def test_the_precisions_of_parts_know_their_whole_also_from_a_pickle():
    p = Precision.parse("mixed,loss_scale=8 ; decoder.* = bfloat16; head=O3,storage=float32")
    assert str(p) == "mixed,loss_scale=8;decoder.*=bfloat16;head=float32,norm_parameters=float16"
    assert p == Precision.parse("mixed,loss_scale=8;decoder.*=bfloat16;" + str(p).split(";")[-1])
    assert p.awaits and not any(part.awaits for part in p.assigned)
    for part, path in zip(p.assigned, ("encoder.head", "decoder.0.1", "head.x")):
        assert p.of_module(path) is part and whole_of(part) == p
        again = pickle.loads(pickle.dumps(part))
        assert (again, again.whole) == (part, p) and str(again) == str(part)
    flagged = policy.shapes_only(p).of_module("head")
    assert flagged.shapes_only and not flagged.by_references
    for parts in ("head=float32", {"head": NAMED["mixed"]}, {"head": "mixed;a=float32"}, 3):
        refuses(fp.PrecisionError, "expected .*precision", Precision, parts=parts)
    assert rules.largest_gradient_of(Precision.parse("float32;head=mixed")) == 65504


def test_text_names_the_nearest_precision_and_what_differs():
    texts = ("mixed,master_weights=off", "mixed,loss_scale=128", "mixed,loss_scale=off")
    texts += ("float32,accumulate=float16", "mixed,master_weights=off,loss_scale=0.1")
    for text in texts:
        assert str(Precision.parse(text)) in (text, text.replace("0.1", "0.10000000000000001"))
    assert Precision.parse(" mixed , loss_scale = on ") == NAMED["mixed"]


words = st.sampled_from([
    *NAMED, *SWITCHES, "softmax", "given", "storage", "on", "off", "dynamic", "+", "none", "True",
    "growth_interval", "chunked:", "1", "-1", "0", "nan", "inf", "1e999", "1e-999", "0x10", "1_0",
    ",", "=", " ", "==", ",,", "", "float8", ";", "head", "*", ":", "wgrad", ".",
])  # fmt: skip


@given(
    st.text() | st.lists(words, max_size=9).map("".join) | st.text("mixed,=_offn128.", max_size=20)
)
def test_other_text_is_refused_by_a_precision_error_that_shows_it(text):
    try:
        p = Precision.parse(text)
    except fp.PrecisionError as error:
        assert "expected" in str(error)
    else:
        assert Precision.parse(str(p)) == Precision.parse(str(read(text))) == p


@pytest.mark.parametrize("text, problem", [
    ("fp16", f"no precision 'fp16': expected {', '.join(NAMED)}, with changes"),
    ("fp16", '"float16" .*, or "mixed" '), ("HALF", 'did you mean "float16" '),
    ("fp32", 'did you mean "float32"'), ("amp", 'did you mean "mixed" .*, or "autocast"'),
    ("mixed_precision", 'did you mean "mixed"'), ("16-mixed,loss_scale=8", 'did you mean "mixed"'),
    ("bf16", 'did you mean "bfloat16" '), ("Float32", 'did you mean "float32"'),
    ("bf16-mixed", 'did you mean "autocast-bfloat16" .*, or "bfloat16" '),
    ("fp8", 'did you mean "float8" '), ("mixd", 'did you mean "mixed"'),
    ("mixed,scale=2", "'scale=2'.*loss_scale, operations, storage"),
    ("mixed,softmax=float16", "'softmax' .*only under .autocast."),
    ("autocast,softmax=int8", "softmax='int8'.* float16, bfloat16, float32, widest, given"),
    ("autocast,operations=off,softmax=float16", "only under .autocast."),
    ("autocast,operations=some", "operations='some' .*expected float16, bfloat16 or off"),
    ("mixed;", "part '' of .*expected pattern=precision"),
    ("mixed;head", "part 'head' of .*as in \"mixed;decoder.\\*=bfloat16;head=float32\""),
    ("mixed;head=fp32", "part 'head': no precision 'fp32'"),
    ("mixed;head=mixed,loss_scale=8", "part 'head': loss_scale holds for all .*before the"),
    ("mixed;head=O2,master_weights=off", "master_weights holds for all"),
    ("mixed;head=mixed;head=float32", "part 'head' appears twice"),
    ("mixed;wgrad:accumulate=float16", "names no modules: expected \\*.wgrad.* before the"),
    ("mixed;.wgrad:accumulate=float16", "'.wgrad:accumulate' as the pattern .*expected"),
    ("mixed;*.wgard:accumulate=float16", "'wgard' in part .*expected fprop, dgrad, wgrad"),
    ("mixed;*.forward:accumulate=float16", "'forward' in part .*expected fprop, dgrad"),
    ("mixed;*.wgrad:reduce=float16", "'reduce' of wgrad in part .*expected accumulate"),
    ("mixed;*.wgrad:accumulate=half", "part '\\*.wgrad:acc.*accumulate='half': expected"),
    ("mixed;a.wgrad:accumulate=float16;a.wgrad:accumulate=float32", "accumulate' appears twice"),
    ("mixed,wgard:accumulate=float16", "'wgard' in precision .*expected fprop, dgrad, wgrad"),
    ("mixed,wgrad:weights=float16", "'weights' of wgrad in precision .*expected accumulate"),
    ("float8,wgrad:operand_scale=delayed", "recorded for all products of a layer"),
    ("mixed,fprop:gradient_operands=float8_e5m2", "no gradient enters fprop: expected dgrad"),
    ("mixed,wgrad:operand_scale=row", "wgrad: operand_scale=row without operands.*expected"),
    ("mixed,weights", "'weights' in precision .*switch=value"),
    *(
        (f"mixed,{switch}={value}", f"{switch}='{value}': expected one of float16, .*chunked:N")
        for switch in switches.SUM_FIELDS
        for value in ("chunked", "chunked:", "chunked:0", "chunked:x", "chunked:-1", "float8")
    ),
    ("mixed,weights=chunked:32", "weights='chunked:32' .*expected float16, float32, float64"),
    ("mixed,weights=float8", "weights='float8' .*expected float16, float32, float64"),
    ("mixed,master_weights=maybe", "master_weights='maybe' .*on or off"),
    ("mixed,loss_scale=0", "loss_scale='0' .*dynamic, lognormal, a positive number or off"),
    ("float16,compensated=maybe", "compensated='maybe' .*on or off"),
    ("float16,update_rounding=up", "update_rounding='up' .*expected nearest or stochastic"),
    ("mixed,update_rounding=stochastic", "update_rounding=stochastic: .*master_weights=off"),
    ("autocast,compensated=on", "compensated=on: with weights in float32.*weights=float16"),
    ("float16,compensated=on,update_rounding=stochastic", "at random: .*one of the two"),
    ("mixed,loss_scale=nan", "loss_scale='nan'"),
    ("mixed,loss_scale=dynamic+growth_intervall=9", "no setting .growth_inter.*expected growth_i"),
    ("mixed,loss_scale=dynamic+patience=0", "patience='0' .*whole number of steps"),
    ("mixed,loss_scale=dynamic+growth_interval=2.5", "growth_interval='2.5' .*whole number"),
    ("mixed,loss_scale=dynamic+min_scale=inf", "min_scale='inf' .*positive finite number"),
    ("mixed,loss_scale=lognormal+max_overflw=0.1", "no setting .max_overflw.*max_overflow"),
    ("mixed,loss_scale=dynamics", "scale='dynamics': expected .dynamic. or .lognormal., perhaps w"),
    ("mixed,loss_scale=1e999", "loss_scale='1e999'"), ("", "no precision ''"),
])  # fmt: skip
def test_a_wrong_text_is_told_what_was_expected(text, problem):
    refuses(fp.PrecisionError, problem, fp.set_precision, text)
    with pytest.raises(fp.PrecisionError, match=problem), fp.precision(text):
        pass
    assert fp.get_precision() is NAMED["float32"]


@pytest.mark.parametrize("scale", [0, -1, float("nan"), float("inf"), "big", True, [1], 10**400])
def test_a_loss_scale_is_dynamic_or_positive_and_finite_or_none(scale):
    with pytest.raises(fp.PrecisionError, match="loss_scale=.*positive finite number, or None"):
        Precision(loss_scale=scale)
    refuses(fp.PrecisionError, "master_weights='yes': expected", Precision, master_weights="yes")
    refuses(fp.PrecisionError, "update_rounding=None: expected", Precision, update_rounding=None)
    refuses(fp.PrecisionError, "not NoneType", Precision.parse, None)


def test_precisions_nest_and_end_with_their_block_and_the_default_is_outside_of_all():
    assert fp.get_precision() is NAMED["float32"]
    with fp.precision("mixed") as outer:
        assert fp.get_precision() is outer is NAMED["mixed"]
        with pytest.raises(KeyError), fp.precision("float64,loss_scale=2") as inner:
            assert fp.get_precision() is inner
            assert fp.ones(1).dtype == float64
            raise KeyError
        assert fp.get_precision() is outer
        assert fp.ones(1).dtype == float16
    assert fp.ones(1).dtype == float32
    fp.set_precision("mixed,loss_scale=8")
    assert str(fp.get_precision()) == "mixed,loss_scale=8"
    with fp.precision("float64"):
        fp.set_precision(NAMED["mixed"])
        assert fp.get_precision() is NAMED["float64"]
    assert fp.get_precision() is NAMED["mixed"]
    fp.set_precision("float32")


def test_a_block_is_active_on_its_own_thread_and_the_default_on_all():
    barrier = threading.Barrier(2)

    def enter(name):
        with fp.precision(name):
            barrier.wait(10)  # both are inside now
            return str(fp.get_precision()), fp.ones(1).dtype

    seen = at_once(lambda: enter("mixed"), lambda: enter("float64"))
    assert seen == [("mixed", float16), ("float64", float64)]
    fp.set_precision("float64")
    assert at_once(fp.get_precision)[0] is NAMED["float64"]
    fp.set_precision("float32")


def test_the_environment_sets_the_default_and_a_wrong_one_is_named():
    code = "import minifp as fp; print(fp.get_precision(), fp.ones(1).dtype)"
    result = python(code, MINIFP_PRECISION="mixed,loss_scale=64", PYTHONWARNINGS="error")
    assert (result.stdout.strip(), result.stderr) == ("mixed,loss_scale=64 float16", "")
    result = python("import minifp; minifp.tensor(1.0)", check=False, MINIFP_PRECISION="half")
    last = result.stderr.strip().splitlines()[-1]
    assert "PrecisionError" in last and "MINIFP_PRECISION" in last
    assert "'half'" in last and "mixed" in last
