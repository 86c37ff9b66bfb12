"""The precision in which a model was made, which is the one that it is trained in."""

from collections.abc import Iterable

from minifp.autograd.tape import Node, Tensor
from minifp.errors import PrecisionError
from minifp.numerics.formats import float32, format_of, is_narrow
from minifp.numerics.policy import Precision, entered_precision, get_precision
from minifp.numerics.precision_parts import whole_of
from minifp.numerics.small_updates import way_of
from minifp.optim.narrow_weights import CompensatedWeights, StochasticWeights
from minifp.optim.weights import Weights
from minifp.runtime.callers import warn_once
from minifp.training.masters import MasterWeights

SINGLE = format_of(float32)


def precision_of(parameters: Iterable[Tensor]) -> Precision:
    """The precision in which the parameters were made. Raises PrecisionError if they differ."""
    made_in = [whole_of(p.precision) for p in parameters if p.precision is not None]
    by_name = {str(precision): precision for precision in made_in}
    if len(by_name) > 1:
        raise PrecisionError(
            f"MixedOptimizer: parameters made under different precisions ({'; '.join(by_name)}): "
            "use one MixedOptimizer for each precision"
        )
    return next(iter(by_name.values()), None) or get_precision()


def weights_for(precision: Precision, masters: bool, parameters: Iterable[Tensor]) -> type[Weights]:
    """What holds weights that are stored in less than float32.

    Raises PrecisionError for a precision that rounds updates by chance, or compensates for rounding
    them, where there are masters; warns where no parameter is stored in so few bits.
    """
    if masters:
        check_masters(precision)
        return MasterWeights
    switch = way_of(precision)
    if switch is None:
        return Weights
    if not any(is_narrow(p.dtype) for p in parameters):
        warn_once(
            f"nothing to round: {switch}",
            f"{switch} does nothing here: all parameters are stored in float32 or wider; create "
            f'the model inside of fp.precision("{precision}")',
        )
    return CompensatedWeights if precision.compensated else StochasticWeights


def check_masters(precision: Precision) -> None:
    """Raise PrecisionError for a precision with a switch that masters leave nothing to do."""
    switch = way_of(precision)
    if switch is not None:
        raise PrecisionError(
            f'precision "{precision}" has {switch}, which has no effect with master weights: use '
            "fp.MixedOptimizer without master_weights=True, or leave the switch out"
        )


def warn_of_another(precision: Precision) -> None:
    """Warn where another precision was entered than this one, in which the model was made."""
    entered = entered_precision()
    if entered is not None and str(entered) != str(precision):
        warn_once(
            f"entered {entered}, made under {precision}",
            f'MixedOptimizer inside of fp.precision("{entered}"), of a model that was made under '
            f'"{precision}": it computes and trains in "{precision}". Create the model inside the '
            f'`with` block too; or, before you create anything, call fp.set_precision("{entered}") '
            f"(or the environment variable MINIFP_PRECISION={entered})",
        )


def is_flushed_under(precision: Precision) -> bool:
    """Whether operations cast to a format that has not float32's small numbers."""
    formats = map(format_of, precision.autocast_formats)
    return any(format.smallest_normal > SINGLE.smallest_normal for format in formats)


def warn_of_unscaled(owner: object, order: Iterable) -> None:
    """Warn where operations ran under autocast, and the optimizer that was made elsewhere has no
    loss scale. order: the nodes of a backward."""
    precisions = {n.precision for n in order if type(n) is Node and n.precision.operations}
    if any(map(is_flushed_under, precisions)):
        warn_once(
            "autocast without a scale",
            "MixedOptimizer.backward: the loss was computed under autocast, but the optimizer was "
            "created outside of it and has no loss scale: small gradients become 0. Give it "
            'loss_scale="dynamic", create the model under fp.precision("autocast"), or use '
            "fp.GradScaler with a plain optimizer",
            owner=owner,
        )
