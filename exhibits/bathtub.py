"""SSD on scenes of digits at constant loss scales: a cliff, a flat floor, a wall.

Below the floor gradients are flushed to zero, above it they overflow and all steps are skipped
(Micikevicius et al. 2018, arXiv:1710.03740, section 3.2).
"""

from functools import partial

from minifp.exhibits.detection import SEARCHED_DIGITS, ssd_on_digits

from minifp.lab import Exhibit

CONSTANT = {f"mixed,loss_scale={2**k}": 2.0**k for k in range(0, 41, 2)}

BATHTUB = Exhibit(
    name="bathtub",
    title="SSD on digits at all loss scales",
    claim="any loss scale will do that is large enough and lets nothing overflow",
    task=partial(ssd_on_digits, steps={"quick": 300, "evening": 600, "full": 1_500}),
    arms=tuple(CONSTANT),
    seeds={"quick": 1, "evening": 3, "full": 5},
    searched=SEARCHED_DIGITS,
    doses=CONSTANT,
    dose="loss scale",
    kind="bathtub",
)
EXHIBITS = (BATHTUB,)
