"""A character language model: (B, T) character codes -> (B, characters, T) logits."""

from minifp import nn


class CharLSTM(nn.Module):
    """Embedding, LSTM, linear head. The logits have the shape that `F.cross_entropy` takes."""

    def __init__(self, characters, hidden=256, embedding=64, layers=1, dropout=0.0):
        self.embedding = nn.Embedding(characters, embedding)
        self.lstm = nn.LSTM(embedding, hidden, num_layers=layers, dropout=dropout)
        self.head = nn.Linear(hidden, characters)

    def forward(self, codes):
        h, _ = self.lstm(self.embedding(codes.transpose(0, 1)))
        return self.head(h).permute(1, 2, 0)
