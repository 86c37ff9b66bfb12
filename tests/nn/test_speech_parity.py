"""Deep Speech 2 beside the same network of PyTorch's layers, with its weights and names."""

import numpy as np
import pytest

import minifp as fp
from minifp.models import DeepSpeech2
from minifp.nn import functional as F

torch = pytest.importorskip("torch", reason="PyTorch is not installed (minifp[parity])")
pytestmark = pytest.mark.nightly
rnn = torch.nn.utils.rnn

SMALL = {
    "classes": 5, "features": 12, "hidden": 6, "layers": 2, "context": 2, "channels": (2, 3),
    "kernels": ((5, 5), (3, 3)), "strides": ((2, 2), (1, 2)),
}  # fmt: skip
WIDTH = 9  # numbers of a step behind the convolutions


def clipped(x):
    return torch.nn.functional.hardtanh(x, 0, 20)


def packed(x, lengths):
    return rnn.pack_padded_sequence(x, lengths, enforce_sorted=False)


class Conv(torch.nn.Module):
    def __init__(self, inputs, outputs, kernel, stride):
        super().__init__()
        padding = kernel[0] // 2, kernel[1] // 2
        self.conv = torch.nn.Conv2d(inputs, outputs, kernel, stride, padding, bias=False)
        self.bn = torch.nn.BatchNorm1d(outputs)

    def forward(self, x, lengths):
        p = packed(self.conv(x).permute(2, 0, 1, 3), lengths)
        return p._replace(data=clipped(self.bn(p.data)))


class GRU(torch.nn.Module):
    def __init__(self, inputs, hidden, bidirectional):
        super().__init__()
        self.bn = torch.nn.BatchNorm1d(inputs)
        self.gru = torch.nn.GRU(inputs, hidden, bidirectional=bidirectional)

    def forward(self, p):
        y, _ = self.gru(p._replace(data=self.bn(p.data)))
        parts = y.data.chunk(2, -1) if self.gru.bidirectional else [y.data]
        return y._replace(data=sum(parts))


class Row(torch.nn.Module):
    def __init__(self, hidden, context):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(hidden, context + 1))

    def forward(self, p):
        x, lengths = rnn.pad_packed_sequence(p)
        along = torch.nn.functional.pad(x.permute(1, 2, 0), (0, self.weight.shape[1] - 1))
        y = torch.nn.functional.conv1d(along, self.weight[:, None], groups=len(self.weight))
        return packed(y.permute(2, 0, 1), lengths)


class Theirs(torch.nn.Module):
    def __init__(self, bidirectional):
        super().__init__()
        hidden = SMALL["hidden"]
        convs = zip((1, 2), SMALL["channels"], SMALL["kernels"], SMALL["strides"])
        self.convs = torch.nn.ModuleList([Conv(*how) for how in convs])
        self.grus = torch.nn.ModuleList([GRU(n, hidden, bidirectional) for n in (WIDTH, hidden)])
        self.row_conv = None if bidirectional else Row(hidden, SMALL["context"])
        self.bn = torch.nn.BatchNorm1d(hidden)
        self.fc = torch.nn.Linear(hidden, hidden)
        self.head = torch.nn.Linear(hidden, SMALL["classes"])

    def forward(self, x, lengths):
        lengths = (lengths - 1) // 2 + 1
        y, _ = rnn.pad_packed_sequence(self.convs[0](x[:, None], lengths))
        p = self.convs[1](y.permute(1, 2, 0, 3), lengths)
        p = p._replace(data=p.data.flatten(1))
        for gru in self.grus:
            p = gru(p)
        if self.row_conv is not None:
            p = self.row_conv(p)
            p = p._replace(data=clipped(p.data))
        return rnn.pad_packed_sequence(
            p._replace(data=self.head(clipped(self.fc(self.bn(p.data)))))
        )


@pytest.mark.parametrize("bidirectional", [False, True])
def test_loss_gradients_and_statistics_are_pytorchs_on_the_same_weights(bidirectional):
    x, lengths = np.random.default_rng(0).normal(size=(3, 21, 12)), np.array([15, 21, 9])
    x[np.arange(21) >= lengths[:, None]] = 0  # theirs would read it
    targets, counts = np.array([[1, 2, 2], [4, 3, 1], [3, 0, 0]]), [3, 3, 1]
    with fp.precision("float64"):
        ours = DeepSpeech2(**SMALL, bidirectional=bidirectional)
        z, steps = ours(fp.tensor(x), lengths)
        theirs, state = Theirs(bidirectional).double(), ours.state_dict()
        held = {name: torch.tensor(np.array(t.array)) for name, t in state.items()}
        before = theirs.state_dict()
        held |= {name: before[name] for name in held if "running" in name or "num_" in name}
        theirs.load_state_dict(held, strict=True)
        loss = F.ctc_loss(F.log_softmax(z, -1), targets, steps, counts)
        loss.backward()
    y, ends = theirs(torch.tensor(x), torch.tensor(lengths))
    other = torch.nn.functional.ctc_loss(
        torch.log_softmax(y, -1), torch.tensor(targets), ends, torch.tensor(counts)
    )
    other.backward()
    np.testing.assert_array_equal(steps.array, ends.numpy())
    np.testing.assert_allclose(z.array, y.detach().numpy(), atol=1e-12)
    assert loss.item() == pytest.approx(other.item(), rel=1e-12)
    gradients = {name: p.grad.numpy() for name, p in theirs.named_parameters()}
    for name, p in ours.named_parameters():
        np.testing.assert_allclose(p.grad.array, gradients[name], atol=1e-10, err_msg=name)
    for name, buffer in theirs.named_buffers():
        mine = ours.state_dict()[name].array
        np.testing.assert_allclose(mine, buffer.numpy(), atol=1e-12, err_msg=name)
