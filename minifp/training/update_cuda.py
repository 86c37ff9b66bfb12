"""The update of one block of parameters on a GPU, as the numbers of a step in its memory say."""

from typing import Any

import numpy as np

from minifp.errors import CaptureError, DeviceError
from minifp.numerics import kernels
from minifp.optim.block import Block
from minifp.optim.block_cuda import Numbers
from minifp.optim.optimizer import Optimizer
from minifp.optim.update_rule import UpdateRule
from minifp.runtime.cuda import capturing
from minifp.runtime.cuda.arrays import empty, is_on_device, to_device
from minifp.runtime.cuda.pointwise import FLOATS


class BlockUpdate:
    """What the update of one block needs: its numbers, and the settings they come from.

    Raises DeviceError for a rule whose numbers no kernel computes.
    """

    numbers: Numbers
    is_captured = False

    def __init__(self, optimizer: Optimizer, block: Block) -> None:
        self.optimizer, self.block = optimizer, block
        rule: Any = optimizer.rule
        self.compiled = rule.compiled
        self.names = optimizer.needed(block.group)
        self._begin(self._formula(self._keywords(), block.weights.flat))

    @property
    def states(self) -> list:
        """The arrays of state, None for one that is not kept."""
        held, names = self.block.state, self.optimizer.state_names
        return [held[name].array if name in self.names else None for name in names]

    def _begin(self, formula):
        by_chance = self.block.weights.is_stochastic
        self.numbers = Numbers(formula, by_chance)
        self.values = np.empty(0)  # of the settings, those that are on the device
        self.settings = empty((max(1, len(self.numbers.settings) + 2 * by_chance),), np.float64)
        self.control = empty((self.numbers.count,), np.float32)

    def _keywords(self):
        return self.optimizer.keywords(self.block.group, {}, 1)

    def _formula(self, keywords, g):
        """That of a step with gradients in the format of g, on which no numbers depend."""
        return self.compiled.formula((self.block.weights.flat, g, *self.states), 1.0, keywords)

    def refresh(self) -> None:
        """Bring the group's settings to the device if they have changed, as a learning rate has,
        and the key of its random numbers, as a seed has.

        Raises CaptureError for one of which a graph has another kernel, such as `nesterov`.
        """
        keywords = self._keywords()
        formula = self._formula(keywords, self.block.weights.flat)
        if formula is not self.numbers.formula:
            if self.is_captured:
                raise CaptureError(
                    f"{type(self.optimizer).__name__}: a setting that is True or False was "
                    "changed after a step was captured, and a graph cannot follow: capture the "
                    "step again"
                )
            self._begin(formula)
        is_stochastic, draw = self.block.weights.is_stochastic, self.optimizer.draw(self.block, 0)
        values = self.numbers.values(keywords, draw.key if is_stochastic else ())
        if not np.array_equal(values, self.values):
            self.settings[...] = to_device(values)
            self.values = values

    def launch(self, state: Any, number: int, base: int, g: Any) -> None:
        """Update weights and state with gradients g (n), or leave them, as the step says.

        state: the step's memory: see step.cu. number: of the optimizer in it. base: how many steps
        the block has had that its optimizer does not count.
        """
        block, weights = self.block, self.block.weights
        sign = -1 if block.group.get("maximize") else 1
        self.numbers.launch(state, number, self.settings, base, sign, self.control)
        copy = weights.stored if weights.is_master else None
        formula = self._formula(self._keywords(), g)
        on_device, first = self.compiled.on_device, 0 if weights.is_stochastic else None
        places = weights.flat, copy, g, self.states, self.control, weights.compensation
        on_device.in_place(formula, *places, first)
        self.is_captured |= capturing.now is not None and capturing.now.captures
        weights.written(0, len(block.steps))


def can_update(o: Optimizer) -> bool:
    """Whether there are kernels for all of an optimizer's update: its parameters are on the GPU,
    all of a block in one format and as old as each other, and its rule is one that is known."""
    if o.rule is None or type(o).update is not Optimizer.update or o.alone or o.numbers:
        return False
    if not all(is_on_device(p.array) for p in o.parameters) or kernels.observers:
        return False
    known = isinstance(o.rule, UpdateRule) and o.rule.compiled is not None
    return known and all(_can_update_block(o, b) for b in o.blocks)


def _can_update_block(o, block):
    formats = {block.weights.flat.dtype, *(state.dtype for state in block.state.values())}
    if not formats <= FLOATS or not are_alike(block.steps):
        return False
    try:
        BlockUpdate(o, block)
    except DeviceError:
        return False
    return True


def are_alike(counts: list) -> bool:
    """Whether all parameters of a block have had as many steps."""
    return counts.count(counts[0]) == len(counts)
