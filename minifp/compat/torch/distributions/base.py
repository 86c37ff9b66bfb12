"""What all distributions share."""

from typing import Any

from minifp.autograd.grad_mode import no_grad
from minifp.autograd.tape import Tensor
from minifp.errors import ArgumentError
from minifp.numerics.dtypes import float64
from minifp.ops import as_tensor


def as_floats(x: Any) -> Tensor:
    """A tensor of at least float32."""
    x = as_tensor(x)
    return x if x.dtype == float64 else x.float()


class Distribution:
    """The base: `sample` draws without a gradient what `rsample` draws with one.

    batch_shape: the shape of one draw of all its members, without the axes of an event.
    """

    batch_shape: tuple[int, ...] = ()
    event_shape: tuple[int, ...] = ()
    mean: Any
    variance: Any

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Draws of shape sample_shape + batch_shape + event_shape, detached."""
        with no_grad():
            return self.rsample(tuple(sample_shape))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """Raises ArgumentError for a distribution whose draws have no gradient."""
        raise ArgumentError(f"{type(self).__name__}.rsample: expected sample()")

    def log_prob(self, value: Tensor) -> Tensor:
        """ln of the probability, or of the density, of each event. Raises NotImplementedError."""
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """In nats, of batch_shape. Raises NotImplementedError."""
        raise NotImplementedError
