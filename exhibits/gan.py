"""A generative adversarial network: Micikevicius et al. 2018 (arXiv:1710.03740, section 4.6).

There a DCGAN of 128 pixels made faces, which "appear comparable" in float32 and in mixed precision,
without loss scaling. Here a small one makes digits of 16 pixels, and numbers say it in place of
eyes: how far its pictures are from real ones in the features of a fixed network, with an interval,
and how many of them that network is sure of. Both networks are updated at once, by two optimizers
on one loss scale.
"""

import numpy as np
from minifp.exhibits.digit_scorer import scored

from minifp import Metric, Task, data, full, optim, rand, tensor, zeros
from minifp.data import TensorDataset
from minifp.lab import Exhibit, Picture, ablation_exhibit, feature_distance, fixed_noise
from minifp.lab.schedules import cosine
from minifp.models import DCGAN
from minifp.nn import functional as F

SIZE, NOISE, WIDTH = 16, 32, 1 / 8
LR, BETAS = 2e-4, (0.5, 0.999)  # Radford's
REAL = 0.9  # what the discriminator is to say of real pictures (Salimans et al. 2016)
MADE, SHOWN = 1000, 32  # pictures that are scored, and that are kept to be looked at
SURE = 0.9  # a probability
# Percent of float32's distance, which is about 0.05; that of real digits is 0.01. None follows from
# the course of training: the distance does not fall over the second half (scripts/loss_margins.py).
MARGIN = 10.0
EPOCHS = {"quick": 20, "evening": 100, "full": 200}
CLAIM = "mixed precision makes pictures as float32 does, without loss scaling"
ARMS = ("mixed,loss_scale=1", "mixed")
SEARCHED = (
    "pictures of 8 and of 16 pixels, Adam's rate at 0.0002 and 0.001: five float32 runs of one "
    "seed, of 10 to 60 epochs"
)


def digits() -> tuple[TensorDataset, TensorDataset]:
    """The bundled digits, twice as large and with pixels from -1 to 1, as the generator makes
    them."""
    parts = []
    for part in data.digits():
        x, t = part[np.arange(len(part))]
        larger = F.interpolate(tensor(x, device="cpu"), scale_factor=2, mode="bilinear").numpy()
        parts.append(TensorDataset(2 * larger - 1, t, name=f"{part.name}, {SIZE} pixels"))
    return parts[0], parts[1]


def halved(pictures: np.ndarray) -> np.ndarray:
    """Pictures (N, 1, 16, 16) from -1 to 1 as the scorer takes them: (N, 1, 8, 8) from 0 to 1."""
    n, channels, height, width = pictures.shape
    blocks = pictures.astype(np.float32).reshape(n, channels, height // 2, 2, width // 2, 2)
    return blocks.mean((3, 5)) / 2 + 0.5


def optimizers(parameters_of) -> list:
    """One for each network of a DCGAN, on one loss scale."""
    return [
        optim.Adam(network.parameters(), lr=LR, betas=BETAS)
        for network in (parameters_of["gan"].generator, parameters_of["gan"].discriminator)
    ]


def schedules(made: dict, steps: int) -> dict:
    """Both rates fall to 0 along a cosine, so that the end is no accident of the last steps."""
    return {name: cosine(optimizer, steps) for name, optimizer in made.items()}


def step(state, batch) -> dict:
    """Both networks look at the same batch, and are updated together."""
    gan, optimizer, (real, _) = state.model["gan"], state.optimizer, batch
    n = len(real)
    made = gan.generator(noise(n, gan.noise))
    said = gan.discriminator(real), gan.discriminator(made.detach())
    loss_d = F.binary_cross_entropy_with_logits(said[0], full((n,), REAL))
    loss_d = loss_d + F.binary_cross_entropy_with_logits(said[1], zeros(n))
    optimizer.backward(loss_d)
    held = [p.requires_grad_(False) for p in gan.discriminator.parameters()]
    try:
        fooled = F.binary_cross_entropy_with_logits(gan.discriminator(made), full((n,), 1.0))
        optimizer.backward(fooled)
    finally:
        for p in held:
            p.requires_grad_(True)
    optimizer.step()
    optimizer.zero_grad()
    return {"loss": fooled, "discriminator": loss_d}


def noise(count: int, size: int):
    """Samples that pictures are made of, (count, size), uniform from -1 to 1."""
    return rand(count, size) * 2 - 1


def evaluate(state, test_set) -> dict:
    """How far MADE pictures are from the test set's, and a grid of those that always the same noise
    becomes, under the number of steps that were made."""
    generator = state.model["gan"].generator
    batches = np.split(fixed_noise((MADE, NOISE)), range(100, MADE, 100))
    parts = [generator(tensor(batch)).numpy() for batch in batches]
    pictures, real = np.concatenate(parts), test_set[np.arange(len(test_set))][0]
    (features, p), (of_real, _) = scored(halved(pictures)), scored(halved(real))
    distance = feature_distance(features, of_real)
    return {
        "kernel distance": distance.kernel,
        "low": distance.low,
        "high": distance.high,
        "Frechet distance": distance.frechet,
        "sure": 100 * float(np.mean(p.max(1) > SURE)),
        f"samples after {state.steps} steps": Picture(grid(pictures[:SHOWN] / 2 + 0.5)),
    }


def grid(pictures: np.ndarray, columns: int = 8, zoom: int = 4, gap: int = 1) -> np.ndarray:
    """Pictures (N, 1, H, W) as one, of pixels that are `zoom` wide and high."""
    n, _, height, width = pictures.shape
    rows = -(-n // columns)
    field = np.zeros((rows * (height + gap) - gap, columns * (width + gap) - gap), np.float32)
    for i, picture in enumerate(pictures[:, 0]):
        y, x = i // columns * (height + gap), i % columns * (width + gap)
        field[y : y + height, x : x + width] = picture
    return field.repeat(zoom, 0).repeat(zoom, 1)


def gan(scale: str, skip: str = "each") -> Task:
    """The networks on digits, for one of the scales."""
    return Task(
        name="gan-digits",
        description="a DCGAN that makes digits of 16 pixels, both networks on one loss scale",
        model=networks,
        data=digits,
        loss=None,
        optimizer=optimizers,
        schedule=schedules,
        metric=None,
        metric_name="kernel distance",
        metric_unit="",
        goal="min",
        margin=MARGIN,
        relative=True,
        metrics=[
            Metric("Frechet distance", goal="min", relative=True),
            Metric("sure", unit="%", margin=5.0),
        ],
        step=step,
        evaluate=evaluate,
        batch_size=64,
        epochs=EPOCHS[scale],
        skip=skip,
    )


def networks() -> dict:
    """Both networks, by the name that says it is trained by more than one optimizer."""
    return {"gan": DCGAN(SIZE, channels=1, noise=NOISE, width=WIDTH)}


DIGITS = Exhibit(
    name="gan-digits",
    title="DCGAN, digits",
    claim=CLAIM,
    task=gan,
    arms=ARMS,
    searched=SEARCHED,
)
EXHIBITS = (DIGITS, ablation_exhibit(DIGITS))
