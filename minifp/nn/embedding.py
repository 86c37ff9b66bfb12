"""Tables of rows."""

from minifp.nn import functional as F
from minifp.nn import init
from minifp.nn.checks import positive
from minifp.nn.module import Module
from minifp.nn.parameter import Parameter


class Embedding(Module):
    """The rows of weight (num_embeddings, embedding_dim), N(0, 1), that integers name."""

    def __init__(self, num_embeddings, embedding_dim):
        positive(num_embeddings=num_embeddings, embedding_dim=embedding_dim)
        self.weight = Parameter(init.normal((num_embeddings, embedding_dim)))

    def forward(self, input):
        return F.embedding(input, self.weight)

    def extra_repr(self):
        return f"{self.weight.shape[0]}, {self.weight.shape[1]}"
