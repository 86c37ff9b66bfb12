"""A character language model of GRUs: (B, T) character codes -> (B, characters, T) logits."""

from minifp import nn
from minifp.autograd.tape import Tensor


class CharGRU(nn.Module):
    """Embedding, GRU, linear head. The logits have the shape that `F.cross_entropy` takes."""

    def __init__(
        self,
        characters: int,
        hidden: int = 256,
        embedding: int = 64,
        layers: int = 1,
        dropout: float = 0.0,
    ) -> None:
        self.embedding = nn.Embedding(characters, embedding)
        self.gru = nn.GRU(embedding, hidden, num_layers=layers, dropout=dropout)
        self.head = nn.Linear(hidden, characters)

    def forward(self, codes: Tensor) -> Tensor:
        h, _ = self.gru(self.embedding(codes.transpose(0, 1)))
        return self.head(h).permute(1, 2, 0)
