"""Names of a package that are imported when they are first asked for, and where modules lie.

Their imports stand in the package's `__init__.py` under `if TYPE_CHECKING:`, where type checkers
and editors read them. After them, `attach(__name__)` lets the package do each when its name is
first asked for, and keep what it brings: asked again, it is a name like others.
"""

import ast
import sys
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any


class Late:
    """The `__getattr__` of a package. `name in late`: whether it is one that is imported late."""

    def __init__(self, package: str) -> None:
        self.module: Any = sys.modules[package]

    @cached_property
    def homes(self) -> dict[str, tuple[str, str]]:
        """{name: (the module that has it, its name there)}, read from the package's source."""
        blocks = filter(is_late, ast.parse(source(self.module)).body)
        imports = [n for block in blocks for n in ast.walk(block) if isinstance(n, ast.ImportFrom)]
        names = {a.asname or a.name: (f"{n.module}", a.name) for n in imports for a in n.names}
        if "*" in names:  # all that another package names
            home, _ = names.pop("*")
            names |= {name: (home, name) for name in import_module(home).__all__}
        return names

    def __contains__(self, name: str) -> bool:
        return name in self.homes

    def __call__(self, name: str) -> Any:
        """Import a name into the package. Raises AttributeError for one that is not late."""
        if name not in self:
            text = f"module {self.module.__name__!r} has no attribute {name!r}"
            raise AttributeError(text, name=name, obj=self.module)
        home, own = self.homes[name]
        if home == self.module.__name__:  # a module of its own
            value = import_module(f"{home}.{own}")
        else:
            value = getattr(import_module(home), own)
        setattr(self.module, name, value)
        return value

    def names(self) -> list[str]:
        """The `__dir__` of the package: what is there, and what is there when it is asked for."""
        return sorted({*vars(self.module), *self.homes})


def source(module: Any) -> str:
    """The text of a module. (`inspect` asks modules for names that they may not have.)"""
    if (text := module.__spec__.loader.get_source(module.__name__)) is None:
        raise ImportError(f"{module.__name__} was installed without its source: install it with it")
    return text


def is_late(statement: ast.stmt) -> bool:
    """Whether it is an `if TYPE_CHECKING:`."""
    return isinstance(statement, ast.If) and ast.unparse(statement.test) == "TYPE_CHECKING"


def from_checkout(package: str) -> None:
    """Let a package have the modules in a checkout's folder of its name, beside that of minifp.
    Once it is installed they are its own, and a folder there may be anybody's."""
    module = sys.modules[package]
    own = Path(f"{module.__file__}").parent
    if len([*own.glob("*.py")]) == 1:  # __init__.py alone: a checkout
        module.__path__.append(str(own.parents[1] / own.name))


def attach(package: str) -> None:
    """Let a package import what stands under its `if TYPE_CHECKING:` when it is asked for."""
    late = Late(package)
    late.module.__getattr__, late.module.__dir__ = late, late.names
