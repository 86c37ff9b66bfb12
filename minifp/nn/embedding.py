"""Tables of rows."""

import numpy as np

from minifp import ops
from minifp.autograd.tape import Tensor
from minifp.errors import DTypeError, ShapeError
from minifp.nn import initial
from minifp.nn.checks import positive
from minifp.nn.module import Module
from minifp.nn.parameter import Parameter
from minifp.numerics.formats import is_float
from minifp.ops.shaping.embedding import as_padding_idx
from minifp.runtime.device import is_array_like


class Embedding(Module):
    """The rows of weight (num_embeddings, embedding_dim), N(0, 1), that integers name.

    padding_idx: a row that begins as zeros and gets no gradient; from the end where negative.
    """

    multiplies = False

    def __init__(
        self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None
    ) -> None:
        positive(num_embeddings=num_embeddings, embedding_dim=embedding_dim)
        self.padding_idx = as_padding_idx(padding_idx, num_embeddings, "Embedding")
        rows = initial.normal((num_embeddings, embedding_dim))
        if self.padding_idx is not None:
            rows[self.padding_idx] = 0
        self._own(rows)

    def _own(self, rows):
        self.num_embeddings, self.embedding_dim = rows.shape
        self.weight = Parameter(rows)

    @classmethod
    def from_pretrained(
        cls, embeddings: Tensor | np.ndarray, freeze: bool = True, padding_idx: int | None = None
    ) -> "Embedding":
        """A layer of given rows (num_embeddings, embedding_dim), a tensor or array.

        freeze: whether they stay as they are. Raises DTypeError or ShapeError for what is no table.
        """
        if not is_array_like(embeddings) or not is_float(embeddings.dtype):
            what = getattr(embeddings, "dtype", type(embeddings).__name__)
            raise DTypeError(f"Embedding.from_pretrained: embeddings is {what}: expected floats")
        if embeddings.ndim != 2:
            raise ShapeError(
                f"Embedding.from_pretrained: embeddings of shape {embeddings.shape}: "
                "expected (num_embeddings, embedding_dim)"
            )
        layer = cls.__new__(cls)
        layer.padding_idx = as_padding_idx(padding_idx, embeddings.shape[0], "Embedding")
        layer._own(embeddings)
        layer.weight.requires_grad_(not freeze)
        return layer

    def forward(self, input: Tensor) -> Tensor:
        """input: integers of any shape; the result is (*input.shape, embedding_dim)."""
        return ops.embedding(input, self.weight, self.padding_idx)

    def extra_repr(self) -> str:
        padding = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{self.num_embeddings}, {self.embedding_dim}{padding}"
