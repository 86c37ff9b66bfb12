"""torch.optim.LBFGS: steps along -H g, with H the inverse curvature that the last steps show.

    d = -H g;   w <- w + t d,   t = min(1, 1 / |g|_1) r in the first step, then r
    y = g - g_before,  s = t d,  H from the pairs (s, y) of the history, from (s y / y y) I on

r learning rate, |g|_1 the sum of magnitudes (Nocedal 1980). All in the format of the weights.
"""

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from minifp.autograd.grad_mode import no_grad
from minifp.autograd.tape import Tensor
from minifp.compat.torch.nothing import say_once
from minifp.errors import ArgumentError
from minifp.optim import Optimizer

__all__ = ["LBFGS"]
LEAST = 1e-10  # of s y, for a pair to be taken up


class LBFGS(Optimizer):
    """Up to max_iter steps in each step(closure), without a line search.

    It ends before where the largest gradient is at most tolerance_grad, a step or the loss changes
    by at most tolerance_change, or the closure was called max_eval times (5/4 of max_iter). Raises
    ArgumentError for a line search, and for several groups.
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1.0,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        if line_search_fn is not None:
            raise ArgumentError(f"LBFGS: line_search_fn={line_search_fn!r}: expected None")
        settings = {"lr": lr, "max_iter": max_iter, "max_eval": max_eval or max_iter * 5 // 4}
        settings |= {"tolerance_grad": tolerance_grad, "tolerance_change": tolerance_change}
        super().__init__(params, settings)
        if len(self.param_groups) > 1:
            raise ArgumentError("LBFGS: expected parameters, not groups of them")
        self.pairs: deque[tuple[np.ndarray, np.ndarray]] = deque(maxlen=history_size)
        self.before: tuple[np.ndarray, np.ndarray] | None = None  # its gradient, and the step

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Call the closure, which computes the loss and its gradients, and step; again and again.
        Returns the first loss. Raises ArgumentError without a closure."""
        if closure is None:
            raise ArgumentError("LBFGS.step(): expected a closure that calls backward()")
        group, first = self.param_groups[0], closure()
        loss, g = float(first), self.flat()
        for n in range(group["max_iter"]):
            if np.abs(g).max() <= group["tolerance_grad"]:
                break
            rate = group["lr"]
            if self.before is None:
                rate *= min(1.0, 1.0 / float(np.abs(g).sum()))
            d = -self.times_inverse(g)
            if not float(g @ d) <= -group["tolerance_change"]:  # also where it is NaN
                break
            self.before = g, (rate * d).astype(g.dtype)
            self.move(self.before[1])
            if n + 1 == group["max_iter"]:
                break
            last, loss = loss, float(closure())
            g = self.flat()
            least = min(float(np.abs(self.before[1]).max()), abs(loss - last))
            if n + 2 >= group["max_eval"] or least <= group["tolerance_change"]:
                break
        return first

    def times_inverse(self, g: np.ndarray) -> np.ndarray:
        """H g, after the last step is taken up; of nothing g itself."""
        if self.before is not None:
            y, s = g - self.before[0], self.before[1]
            if float(y @ s) > LEAST:
                self.pairs.append((s, y))
        if not self.pairs:
            return g
        shares = []
        for s, y in reversed(self.pairs):
            shares.append(float(s @ g) / float(s @ y))
            g = g - shares[-1] * y
        s, y = self.pairs[-1]
        g = g * (float(s @ y) / float(y @ y))
        for (s, y), share in zip(self.pairs, reversed(shares)):
            g = g + (share - float(y @ g) / float(s @ y)) * s
        return g

    def flat(self) -> np.ndarray:
        """The gradients of all parameters, one after the other; zeros where there is none."""
        grads = [(p, p.grad) for p in self.parameters]
        each = [np.zeros(p.shape, p.dtype) if g is None else g.numpy() for p, g in grads]
        return np.concatenate([numbers.ravel() for numbers in each])

    def state_dict(self) -> dict[str, Any]:
        """The settings. The history is not in it: a resumed run begins it anew, which is said."""
        say_once("optim.LBFGS.state_dict of its history", "it begins anew after load_state_dict")
        return super().state_dict()

    def move(self, by: np.ndarray) -> None:
        """Add numbers to all parameters, one after the other."""
        ends = np.cumsum([p.numel() for p in self.parameters])[:-1]
        with no_grad():
            for p, part in zip(self.parameters, np.split(by, ends)):
                p.add_(Tensor(part.reshape(p.shape)))
