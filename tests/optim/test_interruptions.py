"""Claims about a step that an exception ends in the middle."""

import contextvars
import ctypes
import threading

import numpy as np
import pytest

import minifp as fp
from minifp import nn, optim

RULES = ["SGD", "Adam", "NAdam", "LAMB", "Adagrad"]


class Stop(Exception):
    """What another thread raises here."""


def train(model, optimizer, x):
    for _ in range(2000):
        optimizer.minimize((model(x) ** 2).mean())
    raise Stop  # where Python ignored it, as in a finalizer


@pytest.mark.parametrize("precision", ["float32", "mixed", "bfloat16"])
@pytest.mark.parametrize("rule", RULES)
def test_the_counts_of_an_optimizer_stay_together_whoever_ends_its_step(rule, precision):
    settings = {"momentum": 0.9} if rule == "SGD" else {}
    with fp.precision(precision):
        model = nn.Sequential(*[nn.Linear(32, 32) for _ in range(3)])
        rates = getattr(optim, rule)(model.parameters(), lr=1e-3, **settings)
        optimizer = fp.MixedOptimizer(rates)
    x = fp.tensor(np.random.default_rng(0).normal(size=(16, 32)).astype(np.float32))
    me, raised = threading.get_ident(), ctypes.pythonapi.PyThreadState_SetAsyncExc
    delays = np.random.default_rng(1).uniform(1e-4, 4e-3, size=25)
    optimizer.minimize((model(x) ** 2).mean())
    for delay in delays:
        timer = threading.Timer(delay, raised, (ctypes.c_ulong(me), ctypes.py_object(Stop)))
        with pytest.raises(Stop):
            timer.start()
            contextvars.copy_context().run(train, model, optimizer, x)
        timer.join()
        optimizer.zero_grad()
        assert {*np.ravel([block.steps for block in rates.blocks])} == {rates.steps}
