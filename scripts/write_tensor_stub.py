"""Write minifp/autograd/tape.pyi, which tells type checkers and editors what methods a Tensor has:
python scripts/write_tensor_stub.py

They are attached when minifp is imported, where no checker can see them; here they are read from
their signatures, as is all else in tape.py.
"""

import argparse
import inspect
import json
import types
import typing
from pathlib import Path

from minifp.autograd import tape
from minifp.compat.unknown_names import Missing
from minifp.ops.creation import Data
from minifp.ops.elementwise import Operand
from minifp.typing import DType, Ints

STUB = Path(__file__).resolve().parents[1] / "minifp" / "autograd" / "tape.pyi"
HEAD = """# Written by scripts/write_tensor_stub.py: do not edit.

import builtins
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from typing import Any, overload

import numpy as np

from minifp.autograd.hooks import HookHandle
from minifp.autograd.storage import Storage
from minifp.numerics.policy import Precision
from minifp.ops.creation import Data
from minifp.ops.elementwise import Operand
from minifp.ops.reductions.min_max import ValuesAndIndices
from minifp.runtime.device import device as Device
from minifp.runtime.shapes import Size
from minifp.typing import DType, Ints

PARTLY: int
"""
# Unions that have a name: an annotation that has all members of one has the name instead.
NAMED = {"Data": Data, "Operand": Operand, "DType": DType, "Ints": Ints}
# Where the kind of the result depends on what is given, which one signature cannot say.
EXTREME = (
    "(self, dim: None = None) -> Tensor",
    "(self, dim: builtins.int, keepdim: builtins.bool = False) -> ValuesAndIndices",
    "(self, dim: Tensor | np.ndarray) -> Tensor",
    "(self, *, other: Tensor | np.ndarray) -> Tensor",
)
SIZE = ("(self) -> Size", "(self, dim: builtins.int) -> builtins.int")
OVERLOADS = {"max": EXTREME, "min": EXTREME, "size": SIZE}
# object's give a boolean; these give a tensor of booleans, as NumPy's do.
UNLIKE_OBJECT = {"__eq__", "__ne__"}


# Properties that are read by a function in C, which has no annotations, and one whose class has a
# name that is another property's.
IN_C = {"grad": "Tensor | None", "ndim": "builtins.int", "device": "Device"}


def text_of(annotation) -> str:
    """An annotation as source, the same whatever Python it was read by."""
    if isinstance(annotation, str):
        return annotation
    if isinstance(annotation, list):  # what a Callable takes
        return f"[{', '.join(map(text_of, annotation))}]"
    if annotation in (None, types.NoneType):
        return "None"
    if annotation is Ellipsis:
        return "..."
    if annotation is typing.Any:
        return "Any"
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (types.UnionType, typing.Union):
        return union_of(arguments)
    if arguments:
        return f"{text_of(origin)}[{', '.join(map(text_of, arguments))}]"
    name = annotation.__name__
    if annotation.__module__ == "numpy":
        return f"np.{name}"
    return f"builtins.{name}" if name in vars(tape.Tensor) else name  # `int` is a method there


def union_of(members) -> str:
    """A union as source, with the names of those that have one."""
    rest, written = list(members), []
    for name, union in NAMED.items():
        if all(m in rest for m in typing.get_args(union)):
            rest = [m for m in rest if m not in typing.get_args(union)]
            written.append(name)
    return " | ".join(written + [text_of(m) for m in rest])


def parameters_of(signature: inspect.Signature, is_method: bool) -> list[str]:
    """The parameters as source; the first one of a method is self."""
    written, by_name = [], False
    for p in signature.parameters.values():
        if p.kind is p.KEYWORD_ONLY and not by_name:
            written.append("*")
        by_name = by_name or p.kind in (p.KEYWORD_ONLY, p.VAR_POSITIONAL)
        stars = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        default = json.dumps(p.default) if isinstance(p.default, str) else repr(p.default)
        default = "" if p.default is p.empty else f" = {default}"
        written.append(f"{stars}{p.name}: {text_of(p.annotation)}{default}")
    return ["self", *written[1:]] if is_method else written


def definition(name: str, function, indent: str = "") -> list[str]:
    """The lines of a function, in at most 100 columns."""
    signature = inspect.signature(function)
    written = parameters_of(signature, is_method=bool(indent))
    end = f" -> {text_of(signature.return_annotation)}: ..."
    end += "  # type: ignore[override]" if name in UNLIKE_OBJECT else ""
    whole = f"{indent}def {name}({', '.join(written)}){end}"
    if len(whole) <= 100:
        return [whole]
    inner = [f"{indent}    {', '.join(written)}"]
    if len(inner[0]) > 100:
        inner = [f"{indent}    {p}," for p in written]
    return [f"{indent}def {name}(", *inner, f"{indent}){end}"]


def member(name: str, value) -> list[str]:
    """The lines of a method or property; none for what is neither."""
    if isinstance(value, property):
        lines = ["    @property", f"    def {name}(self) -> {IN_C.get(name)}: ..."]
        if name not in IN_C:
            lines = ["    @property", *definition(name, value.fget, "    ")]
        if value.fset:
            lines += [f"    @{name}.setter", *definition(name, value.fset, "    ")]
        return lines
    if name in OVERLOADS:
        return [
            line for s in OVERLOADS[name] for line in ("    @overload", f"    def {name}{s}: ...")
        ]
    return definition(name, value, "    ") if inspect.isfunction(value) else []


def class_of(kind: type) -> list[str]:
    """The lines of a class: its attributes, then its methods by name."""
    lines = ["", f"class {kind.__name__}:"]
    lines += [
        f"    {n}: {text_of(a)}" for n, a in inspect.get_annotations(kind).items() if n[0] != "_"
    ]
    if kind.__eq__ is not object.__eq__:
        lines.append("    def __hash__(self) -> builtins.int: ...")
    names = sorted(n for n, v in vars(kind).items() if not isinstance(v, Missing))
    return lines + [line for name in names for line in member(name, vars(kind)[name])]


def stub() -> str:
    """The text of tape.pyi."""
    own = [v for v in vars(tape).values() if getattr(v, "__module__", "") == tape.__name__]
    lines = [f"{n}: {text_of(a)}" for n, a in inspect.get_annotations(tape).items() if n[0] != "_"]
    lines.append("")
    for function in filter(inspect.isfunction, own):
        lines += definition(function.__name__, function)
    for kind in filter(inspect.isclass, own):
        lines += class_of(kind)
    return HEAD + "\n".join(lines) + "\n"


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    STUB.write_text(stub(), encoding="utf-8", newline="\n")
