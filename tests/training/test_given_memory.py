"""Claims about p.data: arithmetic on it is unrounded, and p.data = t gives p the memory of t.

What people write with weights beside an optimizer (moving averages, momentum encoders, Lookahead,
swaps, ties) gives the numbers of float32 in every precision with masters.
"""

import numpy as np
import pytest
from refusals import refuses
from snapshots import frozen

import minifp as fp
from minifp import nn, optim

STEPS, ULP = 100, 2.0**-24  # of numbers up to 1


def layers(precision, rate, count=2):
    """Layers with weights of 1, and a step of the first, whose gradients are 1."""
    with fp.precision(precision):
        made = [nn.Linear(3, 2, bias=False) for _ in range(count)]
    for layer in made:
        nn.init.ones_(layer.weight)
    optimizer = fp.MixedOptimizer(optim.SGD(made[0].parameters(), lr=rate), loss_scale=1.0)
    return (lambda: optimizer.minimize(made[0](fp.ones(1, 3)).float().sum())), *made


def numbers(layer):
    """One of the unrounded weights, which are alike."""
    return layer.state_dict()["weight"].tolist()[0][0]


def among_parameters(q, k, kept):
    with fp.no_grad():
        k.copy_(q.lerp(k, 0.999))
        k.mul_(0.99).add_(other=q, alpha=0.01)


def in_buffers(q, k, kept):
    like, own = kept.setdefault(0, (fp.zeros_like(q), fp.ones(2, 3, dtype=q.dtype)))
    for average in (like, own):
        average.mul_(0.9).add_(q.data, alpha=0.1)
    k.data.copy_(like + own)


def lookahead(q, k, kept):
    slow = kept.setdefault(0, k.data.clone())
    slow += 0.5 * (q.data - slow)
    q.data.copy_(slow)


def as_a_vector(q, k, kept):
    vector = fp.cat([q.data.view(-1), k.detach().view(-1)]) * (1 - 1e-4)
    q.data, k.data = vector[:6].view(2, 3), vector[6:].view_as(k)


HABITS = {
    "encoder": lambda q, k, _: setattr(k, "data", k.data * 0.999 + q.data * (1 - 0.999)),
    "by hand": lambda q, k, _: setattr(k, "data", k.data - 1e-4 * fp.ones(2, 3, dtype=k.dtype)),
    **{f.__name__: f for f in (among_parameters, in_buffers, lookahead, as_a_vector)},
}


@pytest.mark.parametrize("habit", HABITS.values(), ids=HABITS)
def test_averages_and_other_habits_give_the_numbers_of_float32(habit):
    ends = []
    for precision in ("float32", "mixed", "bfloat16"):
        step, q, k = layers(precision, 1e-4)
        kept: dict = {}
        for _ in range(STEPS):
            step()
            habit(q.weight, k.weight, kept)
        ends.append([numbers(q), numbers(k)])
        assert ends[-1] != [1, 1]
    for end in ends[1:]:  # each of some five operations rounds by ULP, or twice that, at most
        np.testing.assert_allclose(end, ends[0], rtol=0, atol=10 * STEPS * ULP)


@pytest.mark.parametrize("precision", ["float32", "mixed", "float16"])
def test_what_was_on_the_memory_before_keeps_its_numbers_and_what_is_given_is_trained(precision):
    step, layer, other = layers(precision, 0.25)
    p, given = layer.weight, other.weight.data * 2
    before, part = p.data, p.data[0]
    p.data = given
    assert (numbers(layer), before.tolist(), part.tolist()) == (2, [[1] * 3] * 2, [1] * 3)
    step()
    assert numbers(layer) == given[0, 0].item() == 1.75 and before[1, 1].item() == 1
    before.add_(1)
    p.data, taken = before, p.data
    step()
    assert (numbers(layer), part[0].item(), taken[0, 0].item()) == (1.75, 1.75, 1.75)
    other.weight.data = p.data  # tied: both are the same numbers
    step()
    assert numbers(other) == numbers(layer) == 1.5
    p.data = p.data.t().reshape(2, 3)
    step()
    assert (numbers(other), numbers(layer)) == (1.5, 1.25)
    y = (other.weight * p).sum()
    p.data = p.data * 2  # of which what was recorded does not know
    y.backward()
    assert other.weight.grad[0, 0].item() == 1.25


def test_parameters_on_one_memory_are_refused_by_name_by_one_optimizer():
    step, *made = layers("mixed", 0.25)
    model = nn.Sequential(*made)
    model.named_parameters()
    made[1].weight.data = made[0].weight.data
    words = "0.weight and 1.weight share memory"
    refuses(fp.ArgumentError, words, optim.SGD, model.parameters(), lr=0.1)
    step()
    made[1].weight.data = made[1].weight.data.clone()
    each = [optim.SGD([p], lr=0.25) for p in model.parameters()]
    optimizer = fp.MixedOptimizer(each, loss_scale=1.0)
    made[1].weight.data = made[0].weight.data
    before = frozen(model.state_dict())
    refuses(fp.ArgumentError, words, optimizer.minimize, model[1](fp.ones(1, 3)).float().sum())
    assert frozen(model.state_dict()) == before
    row, vector = made[0].weight.data[0], fp.ones(9, dtype="float16")
    made[1].weight.data = vector[3:].view(2, 3)
    with pytest.warns(fp.MisuseWarning, match="1.weight shares a part"):
        optimizer.zero_grad()
        optimizer.minimize((model[0].weight + model[1].weight).float().sum())
    assert row[0].item() == numbers(made[0]) and vector.tolist() == [1] * 9


def test_an_entry_of_a_state_stays_as_it_was_until_it_is_written_to_which_the_model_follows():
    step, layer, _ = layers("mixed", 2.0**-13)
    state = layer.state_dict()
    step()
    v = state["weight"]
    assert v[0, 0].item() == 1 and numbers(layer) == 1 - 2.0**-13
    v[0] = 0.5  # as the model is now, and one row of it another
    assert layer.weight.exact.tolist() == v.tolist() == [[0.5] * 3, [1 - 2.0**-13] * 3]
    v.view(-1)[3:].mul_(2)
    assert layer.weight[1, 0].item() == 2 and layer.weight.exact[1, 0] == 2 - 2.0**-12
    refuses(ValueError, "read-only", v.numpy().fill, 3)
    refuses(fp.TapeError, "fill_ on an expanded .*cannot be written", v[:1].expand(2, 3).fill_, 3)
    assert numbers(layer) == 0.5


def test_a_cast_is_made_anew_for_other_memory_and_numbers_in_another_format_are_none():
    (one, other), x = (nn.Linear(3, 2) for _ in range(2)), fp.ones(1, 3)
    with fp.amp.autocast("cpu", dtype="float16"):
        before = one(x).tolist()
        one.weight.data, one.bias.data = other.weight.data, other.bias.data
        assert one(x).tolist() == other(x).tolist() != before
    layer = nn.Linear(3, 2)
    before = frozen(layer.state_dict())
    with pytest.warns(fp.MisuseWarning, match="the parameter stays float32"):
        layer.weight.data = layer.weight.data.half()
    assert frozen(layer.state_dict()) == before and layer.half().weight.dtype == fp.float16
