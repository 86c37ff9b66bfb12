"""Claims about in-place operations where gradients are recorded: x is bound to the result."""

from functools import partial

import numpy as np
import pytest
from refusals import each_refused, refuses

import minifp as fp
import minifp.nn.functional as F
from minifp import nn
from minifp.ops.public import DECLARED

A, B = np.random.default_rng(0).uniform(0.25, 2, (2, 3, 4)) * [[1.0, -1.0, 1.0, 1.0]]


def exact(array, **settings):
    return fp.tensor(array, dtype="float64", **settings)


# Programs that write into y, by names and views of it, which NumPy runs, too. y and v: (3, 4),
# recorded; behind FRESH y is not.
PROGRAMS = """
y[-1] = 2.5; y += v; y[1:, ::2] = v[0, :2]; y[None, 1] *= v[2]; y /= 2.0
y[y > 0] = v[0, 0]; y[y < 0] *= 3.0; y -= v * y
y[[0, 2]] = v[1]; y[..., [1, 3]] += v[:, :2]; y[[0, 2], [1, 3]] = v[0, 1:3]; y[:] *= v[:1]
z = y; z += v; y *= z; t = y.T; t[1] = v[:, 0]; y[0] *= 2.0; t *= y.T
r = y[1]; y *= v; r -= 1.0; t = y.reshape(-1); t[2:7] *= v[0, 0]; y[1] = t[:4]
y[0][1] += v[0, 0]; y[1][2:] = 3.0; r = y[1:][0]; r[0] = v[2, 2]; r **= 2
y = y[:, 1:]; r = y[None]; r += v[:, :3]; y *= y; y = y.T; y += v.T[1:]; t = y[0]; t *= v[2, 1]
for i in range(3): y[i] = y[i - 1] * v[i] + y[i]
FRESH; y[0] = v[0]; y[1] += v[1]; r = y[2]; r += v[0]; y *= y
FRESH; r = y.T; r[1] = v[:, 2]; r[0][0] = 1.0
""".strip().split("\n")


def run(program, x, v):
    """All that a program leaves."""
    names = {"v": v, "y": x.detach() * 1 if "FRESH" in program and x is not A else x * 1}
    exec(program, {"FRESH": 0}, names)
    return [names[name] for name in "yztr" if name in names]


GIVEN = {
    **dict.fromkeys(("add", "sub", "mul", "div", "pow", "floor_divide", "remainder"), (2.0,)),
    **{"masked_fill": (np.array([True, False, True, True]), 0.5), "clamp": (-0.5, 1.0)},
    **{"lerp": (exact(B), 0.25), "addcmul": (exact(A), exact(B))},
    **{"addcdiv": (exact(A), exact(B)), "addmm": (exact(A[:, :3]), exact(B))},
    **{"scatter": (0, fp.tensor([[1, 2]]), 0.5), "index_fill": (1, fp.tensor([3, 0]), 0.5)},
    "scatter_add": (0, fp.tensor([[1, 2]]), exact([[0.5, 1.0]])),
    **dict.fromkeys(("index_add", "index_copy"), (0, fp.tensor([2, 0]), exact(B[:2]))),
    "index_put": ((fp.tensor([2, 0]), fp.tensor([1, 1])), 0.25),
    "masked_scatter": (np.array([True, False, True, True]), exact(B)),
}
FUNCTIONS = {n: d.function for d in DECLARED if d.in_place for n in d.names[:1]}
FUNCTIONS |= {n[:-1]: getattr(F, n[:-1]) for n in vars(F) if n[-1] == "_" and n[0] != "_"}
FUNCTIONS |= {n: getattr(fp.Tensor, n) for n in GIVEN if n not in FUNCTIONS}
GIVEN |= {"copy": (exact(B),), "fill": (0.25,)}
FUNCTIONS |= {n: lambda x, value=0.0: x * 0 + value for n in ("copy", "fill", "zero")}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_is_written_has_the_numbers_and_gradients_of_the_operation(name):
    args, gradients = GIVEN.get(name, ()), []
    write = getattr(fp.Tensor, f"{name}_", None) or getattr(F, f"{name}_")
    for in_place in (False, True):
        x = exact(np.abs(A) / 2, requires_grad=True)
        y = x * 1
        view = y[1:]
        z = write(y, *args) if in_place else FUNCTIONS[name](y, *args)
        assert (z is y) is in_place
        (z * exact(B) + (view if in_place else z[1:]).sum()).sum().backward()
        gradients.append((z.array, x.grad.array, (view if in_place else z[1:]).array))
    for one, other in zip(*gradients):
        np.testing.assert_array_equal(one, other)
    t = exact(np.abs(A) / 2)
    loss, view, array = (x * t).sum(), t[1:], t.array  # not recorded: seen by all, and by backward
    assert write(t, *args) is t and t.array is array and view.storage is t.storage
    np.testing.assert_array_equal(view.array, z.array[1:])
    refuses(fp.TapeError, "changed in place after mul", loss.backward)
    refuses(fp.TapeError, "no_grad", write, x, *args)
    with fp.no_grad():
        np.testing.assert_array_equal(write(x, *args).array, z.array)


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_that_write_into_what_is_recorded_have_numpys_numbers_and_right_slopes(program):
    def after(x, v):
        return fp.cat([t.reshape(-1) for t in run(program, x, v)])

    numbers = np.concatenate([n.reshape(-1) for n in run(program, A, B)])
    x, v = (exact(a, requires_grad=True) for a in (A, B))
    np.testing.assert_allclose(after(x, v).array, numbers, rtol=1e-13)
    with fp.precision("float64"):
        fresh = "FRESH" in program
        assert fp.gradcheck(partial(after, x) if fresh else after, [x, v][fresh:])


@pytest.mark.parametrize("stored", ["float16", "bfloat16", "float8_e4m3fn"])
def test_what_is_bound_keeps_its_format(stored):
    x, v = fp.ones(4, requires_grad=True), fp.tensor([0.3, 1.5], requires_grad=True)
    y = x.to(stored)
    y[:2] = v
    assert y.tolist() == [*v.to(stored).tolist(), 1, 1]
    y += fp.ones(4)
    y.sum().backward()
    assert (y.dtype, x.grad.tolist(), v.grad.tolist()) == (stored, [0, 0, 1, 1], [1, 1])


def test_a_retained_gradient_is_that_of_what_the_tensor_became():
    x = fp.ones(3, requires_grad=True)
    y = x * 2
    y.retain_grad()
    y *= 5
    (y * 3).sum().backward()
    assert (y.grad.tolist(), x.grad.tolist()) == ([3] * 3, [30] * 3)
    assert not y.detach_().requires_grad


def apart():
    y = leaf() * 1
    column, row = y[:, 1], y[1]
    del y
    column *= row.sum()


leaf = lambda: fp.ones(3, 4, requires_grad=True)  # noqa: E731
test_what_cannot_be_bound_is_refused = each_refused(
    (lambda: leaf().add_(1.0), "add_ on a tensor that requires a gradient.*no_grad"),
    (lambda: leaf()[0].zero_(), "zero_ on .*, or a view of one"),
    (lambda: nn.ReLU(inplace=True)(leaf()), r"ReLU\(inplace=True\) on a tensor that requires"),
    (lambda: nn.Parameter(fp.ones(3), False).copy_(leaf()[0, :3]), "a parameter.*detach"),
    (lambda: fp.arange(4).copy_(leaf()[0]), "of integers.*would be lost"),
    (lambda: nn.Linear(1, 1).state_dict()["bias"].copy_(leaf()[0, 0]), "of a state_dict"),
    (lambda: leaf().sum(0).expand(3, 4).mul_(2.0), "expanded tensor.*clone"),
    (
        lambda: (y := leaf() * 1).detach()[0].copy_(y[1]),
        "memory that x.detach",
    ),
    (apart, "none sees all of it"),
    error=fp.TapeError,
)


def test_what_does_not_fit_changes_nothing():
    y = leaf() * 1
    refuses(fp.ShapeError, "add_: a result of shape", y[0].add_, leaf())
    refuses(fp.ShapeError, "setitem", y.__setitem__, 0, leaf()[0, :3])
    refuses(fp.ArgumentError, "accumulate=True", y.index_put_, ([0],), 1.0, True)
    refuses(fp.ShapeError, "12 places", y.masked_scatter_, np.array(True), fp.ones(3))
    assert y.node.op == "mul"
