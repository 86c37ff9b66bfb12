"""Networks on a GPU: of detectors boxes are matched and chosen on the host, all else there."""

import numpy as np
import pytest

import minifp as fp
from minifp import models, optim
from minifp.nn import functional as F

MAKE = {
    "SSD300": {"size": 32, "stem": "smaller", "width": 1 / 16},
    "FasterRCNN": {"stem": "smaller", "width": 1 / 16, "anchor_sizes": (8, 16), "dropout": 0.0},
}


@pytest.mark.parametrize("name", MAKE)
def test_a_detector_is_trained_and_asked_as_on_the_cpu(name):
    images = np.random.default_rng(0).random((2, 3, 32, 32)).astype("f4")
    boxes = [np.array([[4, 6, 20, 22]], "f4"), np.array([[1, 1, 12, 12], [10, 9, 30, 30]], "f4")]
    found = {}
    for device in ("cpu", "cuda"):
        with fp.precision("mixed,loss_scale=8"):
            fp.manual_seed(0)
            model = getattr(models, name)(classes=3, score_thresh=0.0, **MAKE[name]).to(device)
        x = fp.tensor(images, dtype="float32", device=device)
        targets = [
            {"boxes": fp.tensor(b, dtype="float32", device=device), "labels": np.arange(len(b)) + 1}
            for b in boxes
        ]
        optimizer = fp.MixedOptimizer(optim.SGD(model.parameters(), lr=1e-3))
        losses = model(x, targets)
        assert {loss.device for loss in losses.values()} == {device}
        assert optimizer.minimize(sum(losses.values())).stepped
        with fp.no_grad():
            (detected, _) = model.eval()(x)
        assert {t.device for t in detected.values()} == {device}
        found[device] = [*(loss.item() for loss in losses.values())]
    # What is stored by some 16 layers, one after the other, is rounded anew by 2^-11 each.
    np.testing.assert_allclose(found["cuda"], found["cpu"], rtol=16 * 2.0**-11)


LENGTHS = [5, 3]


@pytest.mark.parametrize("attention", ["luong", "bahdanau"])
def test_sentences_are_translated_as_on_the_cpu(attention):
    codes, found = np.random.default_rng(0).integers(3, 12, (2, 5)), {}
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
