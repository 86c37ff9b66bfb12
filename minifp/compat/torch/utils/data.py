"""torch.utils.data: minifp's loader, with the batches that PyTorch's has."""

from typing import Any

from minifp import data
from minifp.compat.torch.nothing import say_once
from minifp.errors import DataError

__all__ = ["DataLoader"]


def as_lists(batch: Any) -> Any:
    """A batch with lists where it has plain tuples."""
    return [as_lists(part) for part in batch] if type(batch) is tuple else batch


class DataLoader(data.DataLoader[Any]):
    """minifp's. What no collate_fn of a script's own has made has lists where items have tuples;
    and a data set that is empty has no batches, which is said once."""

    def placed(self, batch: Any) -> Any:
        """The batch as tensors."""
        placed = super().placed(batch)
        return as_lists(placed) if self.collate_fn in (None, data.default_collate) else placed

    def _check_not_empty(self) -> None:
        try:
            super()._check_not_empty()
        except DataError as error:
            say_once("utils.data.DataLoader", f"{error}")
