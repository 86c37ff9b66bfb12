"""Parts for products that their modules do not have: told once, in the first step."""

import warnings

import numpy as np
import pytest

import minifp as fp
import minifp.nn.functional as F
from minifp import nn, optim


class Gain(nn.Module):
    """Multiplies numbers, and sums no products."""

    def __init__(self):
        self.gain = nn.Parameter(fp.ones(4))

    def forward(self, x):
        return x * self.gain


class Mixing(nn.Module):
    """Its matrix is an operand of @ like the other one, whose gradients are both dgrad."""

    def __init__(self):
        self.matrix = nn.Parameter(fp.ones(4, 4))

    def forward(self, x):
        return x @ self.matrix


class Net(nn.Module):
    def __init__(self):
        self.first, self.gain, self.mixing = nn.Linear(4, 4), Gain(), Mixing()
        self.last = nn.Linear(4, 2)

    def forward(self, x):
        return self.last(self.mixing(self.gain(self.first(x))))


def told_in_steps(text, *, mixed=False, trained=lambda model: model.parameters()):
    """What two steps of Net under a precision warn of."""
    model = fp.assign_precision(Net(), text)
    optimizer = optim.SGD(trained(model), lr=0.1)
    step = fp.MixedOptimizer(optimizer).minimize if mixed else plain(optimizer)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for _ in range(2):
            step(F.cross_entropy(model(fp.ones(8, 4)), fp.tensor(np.arange(8) % 2)))
    return [str(warning.message) for warning in told]


def plain(optimizer):
    def step(loss):
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


@pytest.mark.parametrize("key, fix", [
    ("gain.fprop:accumulate", "linear layers, convolutions"), ("gain.wgrad:accumulate", "or dgrad"),
    ("mixing.wgrad:accumulate", "the gradients of @, einsum and attention are"),
    ("first.dgrad:accumulate", "the input of a first layer needs none"),
])  # fmt: skip
@pytest.mark.parametrize("mixed", [False, True])
def test_a_product_that_is_not_there_is_told_once(key, fix, mixed):
    text = f"float32;{key}=chunked:{8 + mixed}"  # one that no other test has told of
    (told,) = told_in_steps(text, mixed=mixed)
    product = key.partition(":")[0].partition(".")[2]
    assert f'part {key!r} of precision "{text}"' in told and fix in told
    assert f"the modules that it matches have no {product}" in told
    assert told_in_steps(text, mixed=mixed) == []


@pytest.mark.parametrize("parts", [
    "*.wgrad:accumulate=float16;*.dgrad:accumulate=float16;*.fprop:accumulate=float16",
    "mixing.dgrad:accumulate=float16;mixing.fprop:accumulate=float16",
    "first.wgrad:accumulate=float16;last.dgrad:accumulate=float16",
    "[fg]*.wgrad:accumulate=float16",  # of gain and of first, which has one
])  # fmt: skip
def test_nothing_is_told_where_some_module_has_the_product(parts):
    assert told_in_steps(f"mixed;{parts}", mixed=True) == []


def test_of_what_another_optimizer_may_train_nothing_is_told():
    text = "float32;gain.wgrad:accumulate=chunked:4;last.wgrad:accumulate=chunked:4"
    assert told_in_steps(text, trained=lambda model: model.first.parameters()) == []
