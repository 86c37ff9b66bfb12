"""Update rules on a GPU: the rules for one element that numba compiles for the CPU, as kernels.

See block_numba.py for what a rule is, and update.cu for the kernel. What a rule is told beside
arrays lies in the GPU's memory (`control`): whether to update at all, the factor of gradients, and
the rule's numbers, so that a step can be decided on there.
"""

from typing import Any

import numpy as np

from minifp.errors import DeviceError
from minifp.runtime.cuda.arrays import empty, to_device
from minifp.runtime.cuda.pointwise import FLOATS
from minifp.runtime.cuda.source import THREADS, TYPES, Text, blocks_for, module_of
from minifp.runtime.cuda.translate import symbol, translated

UPDATE, NUMBERS = Text(__name__, "update.cu"), Text(__name__, "numbers.cu")


class Rule:
    """The kernels of one `Update` of block_numba.py."""

    def __init__(self, update: Any) -> None:
        self.update = update
        self.modules: dict[tuple, Any] = {}

    def in_place(self, w: Any, copy: Any, g: Any, states: list, control: Any) -> None:
        """Update w and states (None for one that is not kept), all (n), with gradients g (n).

        copy: (n), into which w is rounded, or None. control: see the module.
        """
        arrays = [a for a in (w, *states, copy) if a is not None]
        key = g.dtype, copy is not None, *(None if s is None else s.dtype for s in (w, *states))
        if key not in self.modules:
            self.modules[key] = module_of(self._text(g, w, copy, states))
        blocks = blocks_for(w.size)
        self.modules[key].launch("update", blocks, THREADS, w.size, g, *arrays, control)

    def update_in_place(self, w, copy, g, states, inverse_scale, settings):
        """`Update.in_place` for device arrays: what the rule is told is known here."""
        control = [1.0, inverse_scale, *self.update.numbers(**settings)]
        control = np.array([float(number) for number in control], np.float32)
        self.in_place(w, copy, g, states, to_device(control))

    def updated(self, w, g, states, inverse_scale, to, settings):
        """`Update.__call__` for device arrays: new w and states, None where there is no kernel."""
        present = [a for a in (w, *states) if a is not None]
        if any(a.dtype not in FLOATS for a in (g, *present)):
            return None
        if any(a is not None and a.dtype != dtype for a, dtype in zip((w, *states), to)):
            return None
        new = [None if a is None else a.copy() for a in (w, *states)]
        self.update_in_place(new[0], None, g, new[1:], inverse_scale, settings)
        return tuple(
            empty(w.shape, dtype) if a is None else a.reshape(w.shape) for a, dtype in zip(new, to)
        )

    def _text(self, g, w, copy, states):
        element, names = self.update.element, self.update.element.__code__.co_varnames
        absent = tuple(names[2 + i] for i, s in enumerate(states) if s is None)
        text, results = translated(element, absent)
        held = [("w", w), *((f"s{i}", s) for i, s in enumerate(states))]
        there = [(name, a) for name, a in held if a is not None]
        stores = [f"store({n}, i, r[{k}]);" for k, (n, a) in enumerate(held) if a is not None]
        stores += [] if copy is None else ["store(copy, i, r[0]);"]
        arrays = [f"{TYPES[a.dtype]} *{name}" for name, a in there]
        arrays += [] if copy is None else [f"{TYPES[copy.dtype]} *copy"]
        parts = {
            "ARRAYS": ", ".join(arrays),
            "VALUES": "load(w, i)",
            "STATES": "".join(f", load({name}, i)" for name, _ in there[1:]),
            "NUMBERS": "".join(f", control[{2 + k}]" for k in range(len(self.update.names))),
            "STORES": "\n    ".join(stores),
        }
        types = [f"typedef {TYPES[g.dtype]} G;", f"#define RESULTS {results}"]
        body = [f"#define rule {symbol(element)}", filled(UPDATE.read(), parts)]
        return "\n".join([*types, text, *body])


def filled(text: str, parts: dict[str, str]) -> str:
    """A text with a value in place of each name with a dollar."""
    for name, value in parts.items():
        text = text.replace("$" + name, value)
    return text


# ---- the numbers of a rule -----------------------------------------------------------------------


class Numbers:
    """What computes a rule's numbers on the device, from settings of its group and a step count.

    Raises DeviceError for a rule whose numbers come from elsewhere, such as NAdam's.
    """

    def __init__(self, update: Any, settings: dict) -> None:
        function = update.numbers
        names = function.__code__.co_varnames[: function.__code__.co_kwonlyargcount]
        unknown = {*names} - {*settings, "step", "first"}
        if unknown:
            raise DeviceError(f"{function.__name__}: {', '.join(sorted(unknown))} are not settings")
        pairs = {n: len(settings[n]) for n in names if isinstance(settings.get(n), (tuple, list))}
        text, count = translated(function, (), "double", pairs)
        self.names, self.count = [n for n in names if n not in ("step", "first")], count
        places, given = iter(range(64)), []
        for name in names:
            if name == "step":
                given.append("step")
            elif name == "first":
                given.append("(step == 1.0 ? 1.0 : 0.0)")
            else:
                given += [f"settings[{next(places)}]" for _ in range(pairs.get(name, 1))]
        lines = [f"#define COUNT {count}", f"#define rule_numbers {symbol(function)}", text]
        body = filled(NUMBERS.read(), {"SETTINGS": ", ".join(given)})
        self.module = module_of("\n".join([*lines, body]))

    def values(self, settings: dict) -> np.ndarray:
        """The settings as the kernel reads them: float64, one after the other."""
        flat: list[float] = []
        for name in self.names:
            value = settings[name]
            flat += map(float, value) if isinstance(value, (tuple, list)) else [float(value)]
        return np.array(flat or [0.0])

    def launch(self, state, optimizer, settings, base, sign, control):
        """Compute `control` for the step that `state` says: see numbers.cu."""
        self.module.launch(
            *("numbers", 1, 1, state, np.int32(optimizer), settings, np.float64(base)),
            *(float(sign), control),
        )
