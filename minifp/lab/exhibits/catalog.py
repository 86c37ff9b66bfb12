"""Exhibits by their names: those of minifp.exhibits, and those of files and modules that are named.

"classification"                 a group of minifp's own
"vgg-d"                          one of them
"mine.py", "mine.py:spirals"     all in the EXHIBITS of a file, and the one of that name
"package.module:spirals"         that of a module that can be imported
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import import_module

from minifp.errors import ArgumentError
from minifp.lab.exhibits.exhibit import SCALES, Exhibit
from minifp.lab.named_code import Code, code_named, is_code
from minifp.lab.task import Task, found_by
from minifp.runtime.nearest import nearest

OWN = "minifp.exhibits"  # which is imported by its name, as a module of anybody else's
UNASKED = "evening"  # the scale where none is given


def groups() -> Mapping[str, Sequence[Exhibit]]:
    """minifp's own exhibits by the names of their groups."""
    return import_module(OWN).GROUPS


def known() -> dict[str, Exhibit]:
    """minifp's own exhibits by their names."""
    own = [exhibit for group in groups().values() for exhibit in group]
    return {exhibit.name: named(exhibit, exhibit.name) for exhibit in own}


def named(exhibit: Exhibit, name: str, digest: str = "") -> Exhibit:
    """The exhibit, which knows by what it is named, and the hash of its file."""
    object.__setattr__(exhibit, "origin", (name, digest))
    return exhibit


def exhibits_of(code: Code) -> dict[str, Exhibit]:
    """Those of a file or a module, by their names. Raises ArgumentError where it has none."""
    listed = getattr(code.module, "EXHIBITS", None)
    if isinstance(listed, Exhibit) or not isinstance(listed, Sequence) or not listed:
        raise ArgumentError(f"{code.place}: expected EXHIBITS, a list of minifp.lab.Exhibit")
    if wrong := [one for one in listed if not isinstance(one, Exhibit)]:
        raise ArgumentError(f"{code.place}: EXHIBITS has {wrong[0]!r}: expected an Exhibit")
    exhibits = {e.name: named(e, f"{code.place}:{e.name}", code.digest) for e in listed}
    if len(exhibits) < len(listed):
        raise ArgumentError(f"{code.place}: EXHIBITS has a name twice: expected each once")
    return exhibits


def meant_by(name: str) -> list[Exhibit]:
    """The exhibits of a group or a file, or the one of a name. Raises ArgumentError for what is not
    there."""
    own = known()
    if name in groups() or name in own:
        return [own[e.name] for e in groups()[name]] if name in groups() else [own[name]]
    if not is_code(name):
        return [one_of(own, name, "the gallery", [*groups(), *own])]
    code = code_named(name)
    exhibits = exhibits_of(code)
    return [one_of(exhibits, code.name, code.place)] if code.name else [*exhibits.values()]


def one_of(exhibits, name, place, names=None) -> Exhibit:
    """The exhibit of a name. Raises ArgumentError, saying which there are."""
    if name not in exhibits:
        names = names or [*exhibits]
        near = " or ".join(nearest(name, names)) or ", ".join(names)
        raise ArgumentError(f"nothing in {place} is called {name!r}: expected {near}")
    return exhibits[name]


# ---- their tasks --------------------------------------------------------------------------------


def task_at(exhibit: Exhibit, scale: str) -> Task:
    """The task of an exhibit at a scale, which knows by what it is found."""
    task, (name, digest) = exhibit.task(scale), exhibit.origin or ("", "")
    task = replace(task, source=digest) if digest else task
    return found_by(task, f"{name}:{scale}") if name else task


def own_task(spec: str) -> Task | None:
    """The task that "vgg-d:quick" means, that of minifp's own exhibit at a scale; None where it
    means none. Without a scale it is that of UNASKED."""
    name, _, scale = spec.partition(":")
    exhibit = known().get(name) if scale in ("", *SCALES) else None
    return None if exhibit is None else task_at(exhibit, scale or UNASKED)


def task_in(code: Code) -> Task:
    """The task of an exhibit in a file or a module, whose name stands there with its scale."""
    name, _, scale = code.name.partition(":")
    if scale not in SCALES:
        raise ArgumentError(f"{code.place}:{code.name}: expected {name}:{' or '.join(SCALES)}")
    return task_at(one_of(exhibits_of(code), name, code.place), scale)
