"""Who holds which memory: an observer of the tape that follows arrays until they are freed."""

import weakref
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from minifp.autograd.tape import Node, Tensor, module_path
from minifp.lab.memory import (
    ACTIVATION_GRADIENTS,
    ACTIVATIONS,
    WEIGHT_GRADIENTS,
    Ledger,
    arrays_in,
    buffer,
    key_of,
)
from minifp.runtime.device import is_array
from minifp.scope.memory.rerun import Inside
from minifp.scope.memory.summary import KINDS, WORKSPACE, Event
from minifp.scope.memory.threads import ask_threads

FORWARD, BACKWARD, UPDATE = "forward", "backward", "update"


@dataclass
class Entry:
    """A buffer that is held: its kind, who holds it, bytes, and whether that is settled.

    owners: weak references to the arrays that own the memory, by id. On a GPU it may be several.
    """

    kind: str
    name: str
    nbytes: int
    settled: bool
    owners: dict[int, Any] = field(default_factory=dict)


class Account(Ledger):
    """A Ledger that follows arrays until they are freed, and writes down who held what and when.

    weights: (name, tensor) of what is held all the time. root: the model's name, which is left out
    of the paths of its layers.
    """

    def __init__(self, weights: Iterable[tuple[str, Tensor]], root: str = "") -> None:
        weights = list(weights)
        super().__init__([t for _, t in weights])
        self.names = {id(t): name for name, t in weights}
        self.root, self.phase = root, FORWARD
        self.entries: dict[Any, Entry] = {}
        self.log: list[tuple] = []  # (kind, name, bytes, negative where it is freed)
        self.events: list[Event] = []
        self.marks: list[tuple] = []  # for each event: (weak reference to its node, length of log)
        self.inside: Inside | None = None

    def on_record(self, node: Node, outputs: tuple) -> None:
        """An operation is done, forward."""
        if self.in_backward:
            self.gradients_have_met()
        inputs = [a for a in (node.call[1] if node.call else ()) if is_array(a) and a.ndim]
        self.phase = FORWARD
        self.hold(node, ACTIVATIONS, [t.array for t in outputs])
        self.hold(node, ACTIVATIONS, arrays_in(node.saved))
        self.hold(f"given to {self._label(node)}", ACTIVATIONS, inputs)
        self.happened(node)

    def on_gradient(self, node: Node | Tensor, gradient: Any) -> None:
        """A gradient is where it is used, or stays."""
        self.phase = BACKWARD
        super().on_gradient(node, gradient)
        if self.inside is not None:
            self.inside.begin()

    def on_release(self, node: Node) -> None:
        """An operation is done, backward; it still holds what it read."""
        self.phase = BACKWARD
        for key, entry in list(self.entries.items()):  # of which some may be freed meanwhile
            # Gradients on their way to their use.
            if entry.kind == WORKSPACE and key in self.entries:
                self._file(key, ACTIVATION_GRADIENTS, f"from {self._label(node)}")
        self.happened(node)

    def on_kernel(self, kernel: Any, args: tuple, results: tuple, formats: Any) -> None:
        """What a kernel returns is held from now on; whose it is will be seen."""
        arrays = [a for a in results if is_array(a) and a.ndim]
        self.hold(f"{self._layer(module_path.get())} {kernel.name}", WORKSPACE, arrays)

    def began(self, node: Any, copy: Tensor | None = None) -> None:
        """Of a step that is done again the next is: a leaf, a weight if the recorded one is, or an
        operation."""
        if copy is not None and id(node) in self.names:
            self.names[id(copy)] = self.names[id(node)]
            self.weights.add(key_of(buffer(copy.array)))
            self.trained.append(copy)
        if self.inside is not None:
            self.inside.begin()

    def take(self, node: Any, kind: str, key: Any, whole: Any) -> None:
        """Count a buffer until it is freed, under the first name that is settled."""
        if not is_array(whole):  # a NumPy scalar
            return
        name = node if isinstance(node, str) else self._label(node)
        entry = self.entries.get(key)
        if entry is None:
            entry = self.entries[key] = Entry(kind, name, whole.nbytes, kind != WORKSPACE)
            self._write(entry, 1)
        elif kind != WORKSPACE and (not entry.settled or kind == WEIGHT_GRADIENTS):
            self._file(key, kind, name)
            entry.settled = True
        if id(whole) not in entry.owners:
            on_freed = partial(_freed, weakref.ref(self), key, id(whole))
            entry.owners[id(whole)] = weakref.ref(whole, on_freed)

    def freed(self, key: Any, owner: int) -> None:
        """An array that owned a buffer is no more."""
        entry = self.entries.get(key)
        if entry is not None and entry.owners.pop(owner, None) and not entry.owners:
            self._write(self.entries.pop(key), -1)

    def happened(self, node: Node | None, operation: str = "") -> None:
        """Write down that something is done, and what is held."""
        ask_threads()  # so that they let go of what they do not need any more
        bytes_by_kind = dict.fromkeys(KINDS, 0) | dict(self.now)
        if self.inside is not None:
            bytes_by_kind[WORKSPACE] += self.inside.end()
        module = self._layer(node.module) if node is not None else ""
        self.marks.append((node and weakref.ref(node), len(self.log)))
        self.events.append(Event(self.phase, node.op if node else operation, module, bytes_by_kind))

    def add_workspaces(self, inside: Counter) -> None:
        """Add what operations hold inside (see rerun.workspaces), while their nodes are there: an
        event of one that is gone has none, as its id may be another's by now."""
        for event, (node, _) in zip(self.events, self.marks):
            event.bytes[WORKSPACE] += inside[event.phase, id(node and node())]

    def at(self, event: int) -> Counter:
        """Who held what when an event was over: (kind, name) -> bytes."""
        bytes_by_holder: Counter = Counter()
        for kind, name, nbytes in self.log[: self.marks[event][1]]:
            bytes_by_holder[kind, name] += nbytes
        return +bytes_by_holder

    def _file(self, key, kind, name):
        entry = self.entries[key]
        self._write(entry, -1)
        entry.kind, entry.name = kind, name
        self._write(entry, 1)

    def _write(self, entry, sign):
        self.now[entry.kind] += sign * entry.nbytes
        self.log.append((entry.kind, entry.name, sign * entry.nbytes))

    def _label(self, node):
        if isinstance(node, Tensor):
            return self.names.get(id(node), "a leaf")
        return f"{self._layer(node.module)} {node.op}".strip()

    def _layer(self, path):
        return "" if path == self.root else path.removeprefix(f"{self.root}.")


def _freed(account: Any, key: Any, owner: int, _: Any) -> None:
    """What a weak reference calls; it does not keep the account alive."""
    if (account := account()) is not None:
        account.freed(key, owner)
