"""torch.utils._pytree: structures of lists, tuples and dicts, leaf by leaf."""

from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["tree_flatten", "tree_leaves", "tree_map", "tree_unflatten"]


def with_leaves(tree: Any, new: Callable[[Any], Any]) -> Any:
    """A structure of the same kinds, each of whose leaves `new` has made of the old one."""
    if isinstance(tree, dict):
        return type(tree)((key, with_leaves(value, new)) for key, value in tree.items())
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return type(tree)(*(with_leaves(value, new) for value in tree))
    if type(tree) in (list, tuple):
        return type(tree)(with_leaves(value, new) for value in tree)
    return new(tree)


def tree_map(func: Callable[..., Any], tree: Any, *rests: Any) -> Any:
    """The structure with func of each leaf, and of those of others of the same structure."""
    others: list[Iterator[Any]] = [iter(tree_leaves(rest)) for rest in rests]
    return with_leaves(tree, lambda leaf: func(leaf, *map(next, others)))


def tree_leaves(tree: Any) -> list[Any]:
    """The leaves, in order."""
    leaves: list[Any] = []
    with_leaves(tree, leaves.append)
    return leaves


def tree_flatten(tree: Any) -> tuple[list[Any], Any]:
    """The leaves, and the structure without them."""
    return tree_leaves(tree), with_leaves(tree, lambda leaf: None)


def tree_unflatten(leaves: Any, treespec: Any) -> Any:
    """A structure of tree_flatten with these leaves."""
    each = iter(leaves)
    return with_leaves(treespec, lambda _: next(each))
