"""Layers that are a function with settings: what they take, keep and show is said once."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar

from minifp.checks import check_flag
from minifp.nn.module import Module
from minifp.ops.binding import overwritten
from minifp.ops.public import by_numpys_names

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**how):
        """What tells type checkers that __init__ is made of the annotated settings."""
        return lambda cls: cls


@dataclass_transform(eq_default=False)
class FunctionLayer(Module):
    """A layer that calls the function `of`, with the settings that it was made with as keywords.

    A subclass, `class ELU(FunctionLayer, of=F.elu)`, annotates its settings as a dataclass does,
    under the names of the function's arguments: __init__ takes them. shown: those in its repr; None
    for all. inplace, where it is one of them: whether the input becomes the result, as by methods
    with a _ at the end.
    Raises ArgumentError for an inplace that is no flag.
    """

    function: ClassVar[Callable[..., Any]]
    inplace = False
    multiplies: ClassVar[bool] = False
    settings: ClassVar[tuple[str, ...]] = ()
    shown: ClassVar[tuple[str, ...] | None] = None

    def __init_subclass__(cls, of: Callable[..., Any] | None = None) -> None:
        if of is not None:
            made: Any = dataclass(eq=False, repr=False)(cls)
            made.__init__ = by_numpys_names(made.__init__)
            cls.function = staticmethod(of)
            cls.settings = tuple(f.name for f in fields(made) if f.name != "inplace")

    def __post_init__(self) -> None:
        check_flag(f"{type(self).__name__}: inplace", self.inplace)

    def forward(self, *inputs: Any, **named: Any) -> Any:
        """What the function gives: it says what is expected, and what is raised."""
        settings = {name: getattr(self, name) for name in self.settings}
        result = self.function(*inputs, **settings, **named)
        if not self.inplace:
            return result
        x = inputs[0] if inputs else named["input"]
        return overwritten(x, result, f"{type(self).__name__}(inplace=True)")

    def extra_repr(self) -> str:
        names = self.settings if self.shown is None else self.shown
        shown = [f"{name}={getattr(self, name)!r}" for name in names]
        return ", ".join([*shown, "inplace=True"] if self.inplace else shown)
