"""What one operation's own error does to the loss and to the weights' gradients.

The reference is run once more, with the errors that this operation has really added in the step put
into its outputs, into what it keeps for backward, and into the gradients that it sends; all else is
exact. To first order the effects of all operations add up to the error of the whole step; where a
ReLU or a maximum chooses otherwise they do not, and each that makes it do so has the whole effect.

To let the operation itself run in the step's formats instead would blame it for rounding its
arguments, which is what others have done before it.
"""

from typing import Any, NamedTuple

import numpy as np

from minifp.autograd.backward import first_gradient, format_of, run_backward
from minifp.autograd.replay import Outputs, arguments_of, leaf_like
from minifp.autograd.tape import Tensor
from minifp.numerics.formats import float64, is_float, upcast
from minifp.scope.tracing.paired_runs import PairedRuns, added_to, difference, nested
from minifp.scope.tracing.repeating import Arrivals, summed


class Effect(NamedTuple):
    """Of one node's error. loss: what it adds to the loss. gradients: the norm of what it adds to
    the gradients of all weights, over the norm of those.
    """

    loss: float
    gradients: float


def effect_of(t: PairedRuns, node: Any) -> Effect:
    """The effect of one node of a step of which all values have been gone through."""
    outputs = forward(t, node)
    loss, reference = (o[t.loss.gradient_node][t.loss.index].array for o in (outputs, t.reference))
    gradients = backward(t, outputs, node)
    pairs = [(gradients[leaf], other) for leaf, (_, other) in t.gradients.items()]
    return Effect(float(difference(loss, reference)), relative(pairs))


def relative(pairs: list) -> float:
    """The norm of all differences together over that of the second of each pair."""
    errors = norm([difference(a, b) for a, b in pairs])
    return ratio(errors, norm([b for _, b in pairs]))


def norm(arrays: list) -> float:
    """The root of the sum of all squares; of what is finite, unless all of it is an error's Inf."""
    with np.errstate(over="ignore"):
        squares = sum(float(np.sum(np.square(upcast(np.asarray(a), float64)))) for a in arrays)
    return float(np.sqrt(squares))


def ratio(error: float, size: float) -> float:
    """error / size; 0 where there is no error, Inf for one of nothing."""
    if error == 0:
        return 0.0
    return error / size if size else float("inf")


def forward(t: PairedRuns, node: Any) -> Outputs:
    """The reference's outputs, those after `node` made again from what is wrong with it."""
    outputs, changed = dict(t.reference), {node}
    for v in t.order:
        if v is node:
            outputs[v] = spoilt(t, v)
        elif any(parent in changed for parent, _ in v.parents):
            outputs[v] = t.under_reference(v, arguments_of(v, outputs, t.wide))
            changed.add(v)
    return outputs


def spoilt(t: PairedRuns, node: Any) -> tuple[Tensor, ...]:
    """The outputs of a node with its errors in them, and in what it keeps for backward."""
    errors = t.errors[node]
    if isinstance(node, Tensor):
        return (leaf_like(node, added_to(t.reference[node][0].array, errors.outputs[0])),)
    results = t.under_reference(node, arguments_of(node, t.reference, t.wide))
    for tensor, error in zip(results, errors.outputs):
        if is_float(tensor.array.dtype):
            tensor.array = added_to(tensor.array, error)
    copy: Any = results[0].node
    copy.saved = nested(added_to, copy.saved, errors.saved)
    return results


def backward(t: PairedRuns, outputs: Outputs, node: Any) -> dict[Tensor, np.ndarray]:
    """The gradients of all leaves, with the errors of `node` in what it sums and sends."""
    arrivals, gradients_of_leaves, errors = Arrivals(), {}, t.errors[node]
    loss = outputs[t.loss.gradient_node][t.loss.index]
    first = first_gradient(loss, None, t.seed)
    arrivals.add(t.loss.gradient_node, t.loss.index, first, t.precision)
    for v in reversed(t.order):
        addends, own = arrivals.take(v), outputs[v][0].gradient_node
        if not addends:
            continue
        sums = {i: summed(each, format_of(own, i)) for i, each in addends.items()}
        if v is node:
            sums |= {i: added_to(sums[i], error) for i, error in errors.sums.items()}
        if isinstance(v, Tensor):
            gradients_of_leaves[v] = sums[0]
            continue
        gradients = run_backward(own, sums)
        if v is node:
            gradients = tuple(
                g if e is None else added_to(g, e) for g, e in zip(gradients, errors.gradients)
            )
        arrivals.send(v, gradients, t.precision)
    return gradients_of_leaves
