"""Which way claims about sequences, GANs and FP8 come out, of networks that train in seconds."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import minifp as fp
from minifp import optim
from minifp.exhibits import gan
from minifp.lab.run import train
from minifp.lab.settings import check_data
from minifp.models import Seq2Seq
from minifp.nn import functional as F

pytestmark = [pytest.mark.nightly, pytest.mark.usefixtures("one_thread")]
UNSCALED, SCALED = "mixed,loss_scale=1", "mixed,loss_scale=128"


def learned(precision, seed, build, loss_of, steps, lr, dial=0):
    """A network after some steps of Adam, and its losses. loss_of: of the network and a generator
    of batches."""
    rng = np.random.default_rng(seed)
    with fp.precision(precision):
        fp.manual_seed(seed)
        model = build()
        optimizer, losses = fp.MixedOptimizer(optim.Adam(model.parameters(), lr=lr), dial=dial), []
        for _ in range(steps):
            loss = loss_of(model, rng)
            optimizer.minimize(loss)
            losses.append(loss.item())
    return model, losses


def reversed_codes(model, rng, n=16, T=5, words=12):
    """The loss of saying codes from the last to the first; 1 begins, 2 ends."""
    source = rng.integers(3, words, (n, T))
    target = np.pad(source[:, ::-1], ((0, 0), (1, 1)), constant_values=((0, 0), (1, 2)))
    scores = model(fp.tensor(source), np.full(n, T), fp.tensor(target[:, :-1]))
    return F.cross_entropy(scores.reshape(-1, words), fp.tensor(target[:, 1:].reshape(-1)))


def test_translation_ends_within_the_band_of_float32_runs_with_a_loss_scale_alone():
    """R24: three float32 runs differ by more than mixed precision does from the one it begins
    like."""

    def ends_at(precision, seed):
        build = lambda: Seq2Seq(12, 12, 32, 1)  # noqa: E731
        losses = learned(precision, seed, build, reversed_codes, 300, 5e-3, dial=12)[1]
        return np.mean(losses[-50:])

    band = [ends_at("float32", seed) for seed in range(3)]
    assert abs(ends_at(SCALED, 0) - band[0]) < max(band) - min(band) < 0.2
    assert ends_at(UNSCALED, 0) > 1 > max(band)


def test_a_gan_needs_no_loss_scale(monkeypatch):
    """R25: from the same beginning mixed precision comes as near to digits as float32 does, and as
    near to that run as another float32 run is, or nearer."""
    monkeypatch.setattr(gan, "WIDTH", 1 / 16)
    monkeypatch.setattr(gan, "LR", 4e-4)
    task = replace(gan.gan("quick"), batch_size=32)
    sets = check_data(task.data())

    def distance(precision, seed, steps=250):
        return train(replace(task, steps=steps), precision, seed, sets).metric

    single, other = (distance("float32", seed) for seed in (0, 1))
    mixed, untaught = distance(UNSCALED, 0), distance("float32", 0, steps=1)
    assert max(single, mixed) < 0.7 * untaught
    apart = abs(np.log([mixed / single, other / single]))
    assert apart[0] < max(apart[1], np.log1p(gan.MARGIN / 100))


def test_adams_moments_of_eight_bits_learn_with_a_scale_and_a_second_one_of_more_range():
    """With a scale E4M3 has the range of first moments, and not of second ones: where these are 0,
    updates explode. Those in E5M2 or float16 learn as float32 does, with a scale."""
    task = replace(fp.load_task("mlp", "digits"), steps=230)
    sets = check_data(task.data())

    def accuracy(state, scale="tensor"):
        scaled = f"optimizer_state={state},optimizer_state_scale={scale}"
        found = train(task, f"float32,{scaled}", 0, sets)
        return found.metric if found.finished else 0.0

    single = train(task, "float32", 0, sets).metric
    for state in ("float8_e4m3fn,second_moment=float16", "float8_e5m2"):
        assert accuracy(state) > single - task.margin
    for state in (("float8_e4m3fn", "tensor"), ("float16", "off")):
        assert accuracy(*state) < single - 50


def test_products_of_eight_bits_learn_with_a_scale_alone():
    """Where gradients are 2^12 times smaller E5M2 holds nothing of them, unless each tensor has a
    scale, of now or of earlier steps: then LeNet ends where float32 does."""
    task = replace(fp.load_task("lenet", "digits"), steps=230, dial=12)
    sets = check_data(task.data())

    def accuracy(precision, seeds=2):
        return np.mean([train(task, precision, seed, sets).metric for seed in range(seeds)])

    single, scaled = accuracy("float32"), accuracy("float8")
    assert abs(scaled - single) < task.margin
    assert abs(accuracy("float8,operand_scale=delayed") - single) < task.margin
    assert accuracy("float8,operand_scale=off", 1) < single - 50


def test_without_masters_bfloat16_is_worse_and_chance_or_compensation_mend_it():
    """R2 and R4: at a small rate updates are lost eight times as early in bfloat16 as in float16,
    and none where they are rounded by chance, or what was cut off is kept."""
    slow = partial(optim.Adam, lr=1e-4)
    task = replace(fp.load_task("mlp", "digits"), steps=300, optimizer=slow)
    sets = check_data(task.data())

    def accuracy(precision):
        return train(task, precision, 0, sets).metric

    single, half = accuracy("float32"), accuracy("mixed,master_weights=off")
    brain = "bfloat16,master_weights=off"
    assert accuracy(brain) < min(single, half) - 10
    for mended in ("update_rounding=stochastic", "compensated=on"):
        assert abs(accuracy(f"{brain},{mended}") - single) < 3
