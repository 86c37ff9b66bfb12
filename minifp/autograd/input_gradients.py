"""`fp.grad`: gradients for chosen inputs as values, which are added to no leaf."""

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np

from minifp.autograd.backward import (
    arrive,
    backward_through,
    first_gradient,
    toposort,
    unshared,
    without_overflow,
)
from minifp.autograd.gradients import as_gradient
from minifp.autograd.loss_seed import seeds_in
from minifp.autograd.seeds import Chosen
from minifp.autograd.tape import Tensor
from minifp.errors import ArgumentError, DTypeError, TapeError
from minifp.numerics import policy

Tensors: TypeAlias = Tensor | Iterable[Tensor]


def grad(
    outputs: Tensors,
    inputs: Tensors,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool = False,
    *,
    seed: float = 1.0,
) -> tuple:
    """The gradients of the sum of `outputs` for each of `inputs`, as a tuple; no leaf's changes.

    outputs, inputs: a tensor or several; inputs may also be values in the middle of a graph.
    grad_outputs: for each output what to multiply by, of its shape; None for a scalar's 1.
    retain_graph: keep what backward needs. allow_unused: None for an input that no output depends
    on, instead of a TapeError. seed: as in `Tensor.backward`.
    Raises ArgumentError for create_graph=True: gradients of gradients are not recorded.
    """
    seed = Chosen(seed) if type(seed) in (float, int) and seed != 1 else seed
    if create_graph:
        raise ArgumentError(
            "grad: create_graph=True: gradients of gradients are not supported; for a gradient "
            "penalty, compute the gradient with operations"
        )
    outputs, inputs = _several("outputs", outputs), _several("inputs", inputs)
    if isinstance(grad_outputs, (Tensor, np.ndarray)):
        grad_outputs = (grad_outputs,)
    factors = (None,) * len(outputs) if grad_outputs is None else tuple(grad_outputs)
    if len(factors) != len(outputs):
        raise ArgumentError(f"grad: {len(factors)} grad_outputs for {len(outputs)} outputs")
    for name, tensors in (("output", outputs), ("input", inputs)):
        for i, t in enumerate(tensors):
            if t.gradient_node is None:
                raise TapeError(f"grad: {name} {i}, of shape {t.shape}, requires no gradient")
    wanted = {(x.gradient_node, x.index) for x in inputs}
    ends = {v for v, _ in wanted}
    order = _leading_to(ends, toposort([y.gradient_node for y in outputs]))
    seeds = seeds_in(order, seed, outputs)

    def attempt(seeds, retain_graph):
        sums: dict = {}
        firsts = [first_gradient(y, g, seeds.first) for y, g in zip(outputs, factors)]
        places = [(y.gradient_node, y.index) for y in outputs]
        arrive(sums, places, firsts, policy.get_precision())
        return {
            (node, i): gradient if isinstance(node, Tensor) else seeds.taken_out(gradient)
            for node, dys in backward_through(order, sums, seeds, retain_graph, ends)
            for i, gradient in dys.items()
            if (node, i) in wanted
        }

    if seeds.are_taken_out:
        gradients = without_overflow(attempt, order, outputs, seeds, retain_graph)
    else:
        gradients = attempt(seeds, retain_graph)
    return _of_inputs(inputs, gradients, seeds, allow_unused)


def _of_inputs(inputs, gradients, seeds, allow_unused):
    """The gradients by place as Tensors, in the order of inputs; None for what has none."""
    places = [(x.gradient_node, x.index) for x in inputs]
    missing = [i for i, place in enumerate(places) if place not in gradients]
    if missing and not allow_unused:
        raise TapeError(
            f"grad: no output depends on input {missing[0]}, of shape "
            f"{inputs[missing[0]].shape}; allow_unused=True gives None for it"
        )
    pairs = [(x, gradients[place]) for x, place in zip(inputs, places) if place in gradients]
    results = iter([as_gradient(g, seeds.of_leaves) for _, g in unshared(pairs)])
    return tuple(None if i in missing else next(results) for i in range(len(inputs)))


def _several(name, tensors):
    if not isinstance(tensors, (Tensor, Iterable)):
        raise DTypeError(
            f"grad: {name} is a {type(tensors).__name__}: expected a tensor, or several"
        )
    tensors = (tensors,) if isinstance(tensors, Tensor) else tuple(tensors)
    for i, t in enumerate(tensors):
        if not isinstance(t, Tensor):
            raise DTypeError(f"grad: {name}[{i}] is a {type(t).__name__}: expected a tensor")
    return tensors


def _leading_to(wanted, order):
    """The nodes of a topological order through which the wanted ones are reached."""
    leading = set(wanted)
    for node in reversed(order):
        if any(parent in leading for parent, _ in node.parents):
            leading.add(node)
    return [node for node in order if node in leading]
