"""Claims about the loss scale: its rule, its bounds, its state, and what it refuses."""

import inspect
import json
from itertools import groupby

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from refusals import refuses

import minifp as fp
from minifp.numerics.loss_scale_text import KINDS
from minifp.training.loss_scale import ADAPTIVE, DynamicLossScale, as_loss_scale


def expected_scale(history, a):
    """The rule told from a whole history (True: a good step), by runs instead of step by step."""
    scale = a["init_scale"]
    for good, run in groupby(history):
        for _ in range(len(list(run)) // a["growth_interval" if good else "backoff_interval"]):
            if good:
                scale = min(scale * a["growth_factor"], a["max_scale"])
            else:
                scale = max(scale * a["backoff_factor"], a["min_scale"])
    return scale


def in_a_row(history, wanted):
    """How many of the last steps were as wanted, one after the other."""
    last, run = ([(True, [])] + [(k, list(g)) for k, g in groupby(history)])[-1]
    return len(run) if last == wanted else 0


@st.composite
def arguments(draw):
    """Of a DynamicLossScale; few steps reach every bound."""
    low = draw(st.sampled_from([2.0**-3, 1.0, 3.0, 128.0]))
    high = low * draw(st.sampled_from([1.0, 2.0, 10.0, 2.0**20]))
    return {
        "init_scale": draw(st.floats(low, high)),
        "growth_factor": draw(st.sampled_from([1.5, 2.0, 2.0**10])),
        "backoff_factor": draw(st.sampled_from([0.25, 0.5, 0.9])),
        **{"growth_interval": draw(st.integers(1, 4)), "min_scale": low, "max_scale": high},
        **{"patience": draw(st.integers(1, 9)), "backoff_interval": draw(st.integers(1, 3))},
    }


class ScaleMachine(RuleBasedStateMachine):
    """Any steps in any order, with the scale saved and loaded anywhere between them."""

    @initialize(arguments=arguments())
    def make(self, arguments):
        self.arguments, self.history = arguments, []
        self.scale = DynamicLossScale(**arguments)

    @rule(n=st.integers(1, 9))
    def good_steps(self, n):
        for _ in range(n):
            self.scale.update(True)
        self.history += [True] * n

    @rule(n=st.integers(1, 9))
    def overflows(self, n):
        for _ in range(n):
            self.scale.update(False)
        self.history += [False] * n

    @rule()
    def save_and_load_into_one_with_other_settings(self):
        fresh = DynamicLossScale()
        fresh.load_state_dict(json.loads(json.dumps(self.scale.state_dict())))
        self.scale = fresh

    @invariant()
    def follows_the_rule(self):
        a = self.arguments
        assert self.scale.value == expected_scale(self.history, a)
        assert a["min_scale"] <= self.scale.value <= a["max_scale"]
        assert self.scale.patience == a["patience"]
        assert self.scale.skipped_in_a_row == in_a_row(self.history, False)
        assert self.scale.good_steps == in_a_row(self.history, True) % a["growth_interval"]


ScaleMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
test_the_dynamic_scale_follows_its_rule = ScaleMachine.TestCase


def test_the_defaults_are_those_of_the_design():
    scale = as_loss_scale("dynamic")
    for updates, value in ((1999, 2.0**16), (1, 2.0**17), (2000 * 7, 2.0**24), (2000, 2.0**24)):
        for _ in range(updates):
            scale.update(True)
        assert scale.value == value
    scale.update(False)
    assert scale.value == 2.0**23
    for _ in range(100):
        scale.update(False)
    assert scale.value == 1.0


def test_a_static_scale_stays_and_no_scale_is_one():
    for scale, value in [(fp.StaticLossScale(100), 100.0), (fp.NoLossScale(), 1.0)]:
        for finite in [False, False, True, False]:
            scale.update(finite)
        assert (scale.value, scale.skipped_in_a_row) == (value, 1)


def test_a_scale_is_named_by_a_number_a_word_or_nothing():
    own = fp.StaticLossScale(2.0)
    assert as_loss_scale(own) is own
    assert type(as_loss_scale("dynamic")) is DynamicLossScale
    assert type(as_loss_scale(None)) is fp.NoLossScale
    assert (type(as_loss_scale(128)), as_loss_scale(128).value) == (fp.StaticLossScale, 128.0)
    named = as_loss_scale("dynamic + growth_interval=20+init_scale=1024 + patience=50")
    assert (named.growth_interval, named.value, named.patience) == (20, 1024.0, 50)
    precision = fp.Precision.parse("mixed,loss_scale=dynamic+patience=50+growth_interval=20")
    assert str(precision) == "mixed,loss_scale=dynamic+growth_interval=20"
    with fp.precision(precision):
        optimizer = fp.MixedOptimizer(fp.optim.SGD(fp.nn.Linear(2, 2).parameters(), lr=0.1))
    assert optimizer.loss_scale.growth_interval == 20
    assert str(precision.parse("mixed,loss_scale=dynamic+growth_interval=2000")) == "mixed"


@pytest.mark.parametrize("kind", KINDS)
def test_texts_and_constructor_have_the_same_settings_and_defaults(kind):
    parameters = inspect.signature(ADAPTIVE[kind]).parameters.values()
    assert {p.name: (type(p.default), p.default) for p in parameters} == {
        name: (type(value), value) for name, value in KINDS[kind].items()
    }
    assert list(KINDS) == list(ADAPTIVE) and type(as_loss_scale(kind)) is ADAPTIVE[kind]


NO_SCALE = [0, 0.0, -1, -0.5, float("inf"), -float("inf"), float("nan"), 1e39, 1e-300, True, [2.0]]
NO_COUNT = [0, -1, 2.5, float("inf"), "10", True]


@pytest.mark.parametrize("scale", [*NO_SCALE, "big", "128", ""], ids=repr)
def test_what_is_no_scale_is_refused(scale):
    for make in (as_loss_scale, fp.StaticLossScale, DynamicLossScale):
        with pytest.raises(fp.PrecisionError):
            make(scale)


def test_what_is_no_bound_factor_or_count_of_steps_is_refused_by_name():
    for error, values, names in (
        (fp.PrecisionError, [*NO_SCALE, "2", "dynamic", None],
         ("min_scale", "max_scale", "growth_factor", "backoff_factor")),
        (fp.ArgumentError, [*NO_COUNT, None], ("growth_interval", "backoff_interval", "patience")),
    ):  # fmt: skip
        for name in names:
            for value in values:
                refuses(error, name, DynamicLossScale, **{name: value})
    for kind in (fp.NoLossScale, lambda patience: fp.StaticLossScale(2.0, patience)):
        assert kind(patience=3).patience == 3
        for value in NO_COUNT:
            refuses(fp.ArgumentError, "patience", kind, patience=value)


def test_settings_that_contradict_each_other_are_refused():
    for arguments, words in (
        ({"growth_factor": 1.0}, "growth_factor=1.0"),
        ({"growth_factor": 0.5}, "growth_factor=0.5"),
        ({"backoff_factor": 1.0}, "backoff_factor=1.0"),
        *(({"backoff_factor": 2.0}, "backoff_factor=2.0"), ({"init_scale": 0.5}, "min_scale=1")),
        ({"init_scale": 2.0**25}, "max_scale"),
        ({"init_scale": 8.0, "min_scale": 16.0}, "init_scale=8"),
        ({"min_scale": 2.0**20, "max_scale": 2.0**10}, "min_scale"),
    ):
        refuses(fp.PrecisionError, words, DynamicLossScale, **arguments)


def halved():
    """A dynamic scale with something in every field."""
    scale = DynamicLossScale(init_scale=1024.0, growth_interval=5, min_scale=2.0, patience=7)
    for finite in [True, False, True, True]:
        scale.update(finite)
    return scale


@pytest.mark.parametrize("damage", [
    *(lambda s, name=name: s.pop(name) for name in ("good_steps", "min_scale")),
    *(lambda s, change=change: s.update(change) for change in (
        {"growth": 2.0}, {"kind": "StaticLossScale"}, {"value": float("nan")}, {"value": 0.0},
        {"value": 1.0}, {"value": "1024"}, {"good_steps": -1}, {"skipped_in_a_row": 1.5},
        {"growth_interval": "often"}, {"backoff_interval": 0}, {"backoff_factor": 2.0},
    )),
])  # fmt: skip
def test_a_state_that_does_not_fit_is_refused_and_nothing_is_changed(damage):
    scale, state = DynamicLossScale(), halved().state_dict()
    before = dict(vars(scale))
    damage(state)
    for take in (scale.check_state_dict, scale.load_state_dict):
        refuses(fp.ArgumentError, "loss scale", take, state)
        assert vars(scale) == before


def test_what_is_no_state_is_refused_and_a_checked_one_changes_nothing():
    scale = DynamicLossScale()
    before = dict(vars(scale))
    for state in (None, [], 3, "dynamic", {}):
        for take in (scale.check_state_dict, scale.load_state_dict):
            refuses(fp.ArgumentError, "loss scale", take, state)
    assert scale.check_state_dict(halved().state_dict()) is None and vars(scale) == before


def test_a_state_holds_all_there_is_and_that_of_another_kind_is_refused():
    makers = [halved, fp.NoLossScale, lambda: fp.StaticLossScale(3.0, patience=2)]
    for make in makers:
        scale, fresh = make(), make()
        scale.update(False)
        fresh.load_state_dict(scale.state_dict())
        assert vars(fresh) == vars(scale)
        for other in (o() for o in makers if o is not make):
            with pytest.raises(fp.ArgumentError, match=type(scale).__name__):
                scale.load_state_dict(other.state_dict())
        assert vars(fresh) == vars(scale)
