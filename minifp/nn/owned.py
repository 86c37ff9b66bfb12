"""What a module owns, as lists and dictionaries."""

from collections.abc import Callable, Iterator, MutableMapping
from typing import Any, TypeVar

T = TypeVar("T")


class Listing(list[T]):
    """A list that `next` takes items of, too, as of the generators that PyTorch has in its place.
    Each `iter` begins at the first."""

    _rest: Iterator[T] | None = None

    def __next__(self) -> T:
        if self._rest is None:
            self._rest = iter(self)
        return next(self._rest)


class Owned(MutableMapping[str, Any]):
    """The attributes of one kind that a module has itself, by name and in their order: what is set
    or deleted here, is there. One that is None is found by name, and left out of the list.

    own: sets one, by name and value, and raises DTypeError for one of another kind. Raises KeyError
    for a name that is not there.
    """

    def __init__(self, module: Any, kind: type, own: Callable[[str, Any], None]) -> None:
        self.module, self.kind, self.own = module, kind, own

    def __getitem__(self, name: str) -> Any:
        value = vars(self.module)[name]
        if value is not None and not isinstance(value, self.kind):
            raise KeyError(name)
        return value

    def __setitem__(self, name: str, value: Any) -> None:
        self.own(name, value)

    def __delitem__(self, name: str) -> None:
        self[name]  # raises where there is none
        delattr(self.module, name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names())

    def __len__(self) -> int:
        return len(self._names())

    def _names(self):
        return [n for n, v in vars(self.module).items() if isinstance(v, self.kind)]

    def __repr__(self) -> str:
        return repr(dict(self))
