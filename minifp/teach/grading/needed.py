"""Which statements of a student's file give a name its value, and what those need in turn.

So a notebook is not run whole: its trainings take minutes, and a cell that fails elsewhere does not
concern an exercise.
"""

import ast
import re
import symtable
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

MAGIC = re.compile(r"^(\s*)[%!].*$", re.M)  # lines of notebooks that are not Python
DEFINITIONS = ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef
IMPORTS = ast.Import, ast.ImportFrom


@dataclass(frozen=True)
class Piece:
    """A statement, and the name of the cell or file that it stands in."""

    node: ast.stmt
    place: str

    @cached_property
    def names(self) -> tuple[set[str], set[str]]:
        """(those that it binds or changes, those that it reads), of the whole file."""
        table = symtable.symtable(ast.unparse(self.node), self.place, "exec")
        own = {s.get_name(): s for s in table.get_symbols()}
        bound = {n for n, s in own.items() if s.is_assigned() or s.is_imported()}
        reads = {n for n, s in own.items() if s.is_referenced()} | globals_in(table)
        if isinstance(self.node, (*DEFINITIONS, *IMPORTS)):
            return bound, reads
        return bound | {*changed(self.node)}, reads

    @property
    def is_import(self) -> bool:
        """Whether it only imports."""
        return isinstance(self.node, IMPORTS)

    @property
    def is_open(self) -> bool:
        """Whether it binds names that it does not tell: from module import *."""
        return self.is_import and any(alias.name == "*" for alias in self.node.names)  # type: ignore[attr-defined]


def globals_in(table: symtable.SymbolTable) -> set[str]:
    """Names of the whole file that functions and classes inside read."""
    names: set[str] = set()
    for child in table.get_children():
        names |= {s.get_name() for s in child.get_symbols() if s.is_global()} | globals_in(child)
    return names


def changed(node: ast.stmt) -> Iterable[str]:
    """Names whose objects a statement may change: w[0] = 1, table.append(2)."""
    for part in ast.walk(node):
        inner = part
        if isinstance(part, ast.Expr) and isinstance(part.value, ast.Call):
            inner = part.value.func
        elif not isinstance(getattr(part, "ctx", None), (ast.Store, ast.Del)):
            continue
        while isinstance(inner, (ast.Attribute, ast.Subscript)):
            inner = inner.value
        if isinstance(inner, ast.Name) and inner is not part:
            yield inner.id


def pieces_of(cells: Sequence[tuple[str, str]]) -> tuple[list[Piece], list[str]]:
    """The statements of cells, (name, source), and what is wrong with those that are no Python."""
    pieces: list[Piece] = []
    broken = []
    for place, source in cells:
        try:
            pieces += [Piece(node, place) for node in parsed(source).body]
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            broken.append(f"{place} is no Python: {str(error) or type(error).__name__}")
    return pieces, broken


def parsed(source: str) -> ast.Module:
    """A cell, without its lines for IPython where it is not read with them."""
    try:
        return ast.parse(source)
    except SyntaxError:
        return ast.parse(MAGIC.sub(r"\1pass", source))


def needed_for(name: str, pieces: Sequence[Piece]) -> list[Piece]:
    """In their order, the statements that give a name its value; none where no one binds it."""
    modules = {n for piece in pieces if piece.is_import for n in piece.names[0]}
    names, chosen = {name}, set[int]()
    if not any(name in piece.names[0] for piece in pieces):
        return []
    while True:
        more = {
            i
            for i, piece in enumerate(pieces)
            if i not in chosen and (piece.is_open or concerns(piece, names, modules))
        }
        if not more:
            return [pieces[i] for i in sorted(chosen)]
        chosen |= more
        names |= {n for i in more for n in pieces[i].names[1]}


def concerns(piece: Piece, names: set[str], modules: set[str]) -> bool:
    """Whether a statement binds one of these, or changes one that is no module."""
    return bool(piece.names[0] & (names if piece.is_import else names - modules))
