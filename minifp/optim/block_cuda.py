"""Update rules on a GPU: their formulas as kernels.

See update.cu for the kernel. What a rule is told beside arrays lies in the GPU's memory
(`control`): whether to update at all, and its numbers, so that a step can be decided on there.
"""

from typing import Any

import numpy as np

from minifp.derive.cuda import host_statements, results_text
from minifp.derive.graph import Node, in_order
from minifp.derive.trace import Formula
from minifp.errors import DeviceError
from minifp.numerics.formats import format_of
from minifp.runtime.cuda.arrays import empty, to_device
from minifp.runtime.cuda.pointwise import FLOATS
from minifp.runtime.cuda.source import THREADS, Text, blocks_for, module_of, type_of

UPDATE, NUMBERS = Text(__name__, "update.cu"), Text(__name__, "numbers.cu")
BY_CHANCE = Text(__name__, "update.cu", "random.cuh")
OF_DRAW = ("settings[{0}]", "settings[{1}]", "step")  # key and step, of random numbers
OF_STEP = ("step", "inverse_scale")  # settings that a step on the device knows by itself


class Rule:
    """The kernels of one `Update` of update.py."""

    def __init__(self, update: Any) -> None:
        self.update = update
        self.modules: dict[tuple, Any] = {}

    def in_place(
        self, formula: Formula, w, copy, g, states, control, rest=None, first: int | None = None
    ) -> None:
        """Update w and states (None for one that is not kept), all (n), with gradients g (n).

        copy: (n), into which w is rounded, or None. control: see the module. rest: (n), what is
        kept of rounding w, or None. first: the number of the random word by which the first weight
        is rounded, None to the nearest.
        """
        arrays = [a for a in (w, *states, copy, rest) if a is not None]
        by_chance = [] if first is None else [first]
        key = formula, None if copy is None else copy.dtype, rest is not None, first is not None
        if key not in self.modules:
            self.modules[key] = module_of(_text(formula, g, w, copy, states, rest, by_chance))
        given = w.size, g, *arrays, *by_chance, control
        self.modules[key].launch("update", blocks_for(w.size), THREADS, *given)

    def update_in_place(self, formula, w, copy, g, states, settings, rest=None, draw=()):
        """`Update.in_place` for device arrays: what the rule is told is known here."""
        numbers = np.array([1.0, *formula.told(settings)], np.float32).view(np.uint32)
        *words, first = draw or (None,)
        words = np.array([word & 0xFFFFFFFF for word in words], np.uint32)
        control = to_device(np.concatenate([numbers, words]).view(np.float32))
        self.in_place(formula, w, copy, g, states, control, rest, first)

    def updated(self, args, to, settings):
        """`Update.__call__` for device arrays: new w and states, None where there is no kernel."""
        w, g, *states, inverse_scale = args
        present = [a for a in (w, *states) if a is not None]
        if any(a.dtype not in FLOATS for a in (g, *present)):
            return None
        if any(a is not None and a.dtype != dtype for a, dtype in zip((w, *states), to)):
            return None
        new = [None if a is None else a.copy() for a in (w, *states)]
        formula = self.update.formula((w, g, *states), float(inverse_scale), settings)
        self.update_in_place(formula, new[0], None, g, new[1:], settings)
        return tuple(
            empty(w.shape, dtype) if a is None else a.reshape(w.shape) for a, dtype in zip(new, to)
        )


def _text(formula, g, w, copy, states, rest, by_chance):
    """The text of a rule's kernel."""
    held = {"w": w, **{f"s{k}": s for k, s in enumerate(states)}}
    names = dict(enumerate(["w", "g", *(f"s{k}" for k in range(len(states)))]))
    there = {name: a for name, a in held.items() if a is not None}
    stores = [f"store({n}, i, r[{k}]);" for k, n in enumerate(held) if n in there]
    values = {k: f"load({names[k]}, i)" for k in formula.loads}
    if copy is not None:
        there["copy"] = copy
        stores.append("store(copy, i, r[0]);")
    if rest is not None:
        there["rest"] = rest
        stores.append(f"store(rest, i, r[0] - rounded<{type_of(w.dtype)}>(r[0]));")
        values = {k: v + " + load(rest, i)" if k == 0 else v for k, v in values.items()}
    if by_chance:
        stores[0] = _store_by_chance(format_of(w.dtype), 1 + len(formula.numbers))
    values = [*values.values(), *(f"control[{1 + k}]" for k in range(len(formula.numbers)))]
    arrays = [f"{type_of(a.dtype)} *{name}" for name, a in there.items()]
    parts = {
        "ARRAYS": ", ".join([*arrays, *(["size first"] if by_chance else [])]),
        "VALUES": ", ".join(values),
        "STORES": "\n    ".join(stores),
    }
    types = [f"typedef {type_of(g.dtype)} G;", f"#define RESULTS {len(formula.results)}"]
    text = (BY_CHANCE if by_chance else UPDATE).read()
    return "\n".join([*types, results_text(formula, "rule"), filled(text, parts)])


def _store_by_chance(f, at):
    """How a weight of format f is stored; `at` in control are the key and the step."""
    drawn_from = ", ".join(f"__float_as_uint(control[{at + k}])" for k in range(len(OF_DRAW)))
    described = f.mantissa_bits, f.bias, f.largest_code, f.beyond, f.quiet_nan, f.bits - 1
    constants = ", ".join(map(str, described))
    word = f"word_of({drawn_from}, first + i)"
    return f"store_code(w, i, stochastic_code(r[0], {word}, {constants}));"


def filled(text: str, parts: dict[str, str]) -> str:
    """A text with a value in place of each name with a dollar."""
    for name, value in parts.items():
        text = text.replace("$" + name, value)
    return text


# ---- the numbers of a rule -----------------------------------------------------------------------


class Numbers:
    """What computes a rule's numbers on the device, from settings of its group and a step count.

    by_chance: whether they are followed by what random ones are drawn from. Raises DeviceError for
    a rule that branches on one of its numbers, as RAdam's does.
    """

    def __init__(self, formula: Formula, by_chance: bool = False) -> None:
        if formula.guards:
            raise DeviceError(f"{formula.name} branches on its settings, which the host does")
        self.formula, first = formula, 1 + len(formula.numbers)
        self.count = first + len(OF_DRAW) * by_chance
        nodes = [node.args[0] for node in formula.numbers]
        self.settings: list[Node] = [
            n for n in in_order(nodes) if n.op == "setting" and n.value[0] not in OF_STEP
        ]
        places = {n.value: f"settings[{k}]" for k, n in enumerate(self.settings)}
        lines, names = host_statements(nodes, lambda place: places.get(place, place[0]))
        lines += [f"  control[{1 + k}] = (float){names[node]};" for k, node in enumerate(nodes)]
        if by_chance:
            n = len(self.settings)
            drawn = [text.format(n, n + 1) for text in OF_DRAW]
            lines += [
                f"  control[{first + k}] = __uint_as_float((unsigned){text});"
                for k, text in enumerate(drawn)
            ]
        self.module = module_of(filled(NUMBERS.read(), {"NUMBERS": "\n".join(lines)}))

    def values(self, settings: dict, key: tuple = ()) -> np.ndarray:
        """The settings as the kernel reads them: float64, one after the other, and the key of
        random numbers."""
        values = []
        for name, *places in (node.value for node in self.settings):
            value = settings[name]
            for place in places:
                value = value[place]
            values.append(float(value))
        return np.array([*values, *key] or [0.0])

    def launch(self, state, optimizer, settings, base, sign, control):
        """Compute `control` for the step that `state` says: see numbers.cu."""
        numbers = state, np.int32(optimizer), settings, np.float64(base), float(sign), control
        self.module.launch("numbers", 1, 1, *numbers)
