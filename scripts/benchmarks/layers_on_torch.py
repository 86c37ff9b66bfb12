"""Layers that minifp has and PyTorch lacks, of PyTorch's operations, as its users write them.

With minifp's names, arguments and keys: on_torch.py gives them to architectures of models/.
"""

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


class LSTM(nn.LSTM):
    """One that can be told how long the sequences of a padded batch are."""

    def forward(self, x, state=None, lengths=None):
        """Packed, where lengths are given."""
        if lengths is None:
            return super().forward(x, state)
        first = self.batch_first
        packed = pack_padded_sequence(x, torch.as_tensor(lengths), first, enforce_sorted=False)
        y, state = super().forward(packed, state)
        return pad_packed_sequence(y, first, total_length=x.shape[int(first)])[0], state


class SequenceBatchNorm(nn.BatchNorm1d):
    """Batch normalisation of a PackedSequence, whose padding is gone."""

    def forward(self, packed):
        """Of all steps of all sequences."""
        return packed._replace(data=super().forward(packed.data))


class RowConv(nn.Module):
    """Each feature's weighted sum over its own step and the next ones: a grouped convolution."""

    def __init__(self, features, context):
        super().__init__()
        self.features, self.context = features, context
        bound = (context + 1) ** -0.5
        self.weight = nn.Parameter(torch.empty(features, context + 1).uniform_(-bound, bound))

    def forward(self, packed):
        """Of a PackedSequence."""
        padded, lengths = pad_packed_sequence(packed)
        x = F.pad(padded.permute(1, 2, 0), (0, self.context))
        y = F.conv1d(x, self.weight.unsqueeze(1), groups=self.features)
        return pack_padded_sequence(y.permute(2, 0, 1), lengths, enforce_sorted=False)


class LuongAttention(nn.Module):
    """Scores are products, q (W k)."""

    def __init__(self, query_size, key_size):
        super().__init__()
        self.key_projection = nn.Linear(key_size, query_size, bias=False)

    def projected(self, keys):
        """W k."""
        return self.key_projection(keys)

    def forward(self, query, keys, mask, projected):
        """(context, weights) of one step, or of several."""
        one_step = query.ndim == 2
        query = query.unsqueeze(1) if one_step else query
        scores = torch.bmm(query, projected.transpose(1, 2))
        weights = F.softmax(scores.masked_fill(~mask[:, None], -torch.inf), -1)
        context = torch.bmm(weights, keys)
        return (context.squeeze(1), weights.squeeze(1)) if one_step else (context, weights)


class SampledSoftmaxLoss(nn.Module):
    """Cross entropy over the targets and a sample of classes, with the correction for how often
    each is drawn: see minifp/nn/sampled_softmax.py."""

    def __init__(self, in_features, n_classes, n_samples):
        super().__init__()
        self.n_classes, self.n_samples = n_classes, n_samples
        self.random = np.random.default_rng(0)
        bound = in_features**-0.5
        self.weight = nn.Parameter(torch.empty(n_classes, in_features).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.zeros(n_classes))

    def drawn(self):
        """Different classes, by falling frequency, and how many draws it took."""
        found, tries = np.empty(0, np.int64), 0
        while len(found) < self.n_samples:
            u = self.random.random(2 * self.n_samples)
            more = np.exp(u * np.log(self.n_classes + 1)).astype(np.int64) - 1
            found = np.concatenate([found, np.minimum(more, self.n_classes - 1)])
            tries += len(more)
            found = found[np.sort(np.unique(found, return_index=True)[1])]
        return torch.from_numpy(found[: self.n_samples]), tries

    def forward(self, x, target):
        """The mean loss; in evaluation mode it is over all classes."""
        if not self.training:
            return F.cross_entropy(F.linear(x, self.weight, self.bias), target)
        samples, tries = self.drawn()
        both = torch.cat([target, samples])
        p = torch.log1p(1 / (both + 1.0)) / np.log(self.n_classes + 1)
        w = F.embedding(both, self.weight)
        b = self.bias[both] - torch.log(-torch.expm1(tries * torch.log1p(-p)))
        n = len(target)
        own = (x * w[:n]).sum(1) + b[:n]
        others = F.linear(x, w[n:], b[n:])
        others = others.masked_fill(target[:, None] == samples, -torch.inf)
        scores = torch.cat([own[:, None], others], 1)
        return F.cross_entropy(scores, torch.zeros(n, dtype=torch.int64))
