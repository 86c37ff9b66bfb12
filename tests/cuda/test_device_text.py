"""Networks that read and write text, on a GPU."""

import numpy as np
import pytest

import minifp as fp
from minifp import models, optim
from minifp.nn import functional as F

LENGTHS = [5, 3]


@pytest.mark.parametrize("attention", ["luong", "bahdanau"])
def test_sentences_are_translated_as_on_the_cpu(attention):
    codes = np.random.default_rng(0).integers(3, 12, (2, 5))
    found = {}
    for device in ("cpu", "cuda"):
        with fp.precision("mixed,loss_scale=8"):
            fp.manual_seed(0)
            model = models.Seq2Seq(12, 12, 8, 1, attention=attention, dropout=0.0).to(device)
        source, target = (fp.tensor(codes, device=device) for _ in range(2))
        optimizer = fp.MixedOptimizer(optim.SGD(model.parameters(), lr=1e-3))
        scores = model(source, LENGTHS, target)
        loss = F.cross_entropy(scores.reshape(10, 12), target.reshape(10))
        assert (scores.device, loss.device) == (device, device)
        assert optimizer.minimize(loss).stepped
        written = model.translate(source, LENGTHS, width=2, longest=4)
        found[device] = loss.item(), [h.codes for h in written]
    # Some 8 layers, one after the other, are rounded anew by 2^-11 each.
    assert found["cuda"][0] == pytest.approx(found["cpu"][0], rel=8 * 2.0**-11)
    assert [len(c) for c in found["cuda"][1]] == [len(c) for c in found["cpu"][1]]
