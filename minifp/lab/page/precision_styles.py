"""How each arm is drawn in a comparison, and each kind of memory."""

from minifp.lab.arms import split
from minifp.lab.memory import KINDS
from minifp.report.drawing import STYLES, Style

# The same in every report, and in every panel of the demonstration.
WELL_KNOWN = (
    "mixed float16 mixed,loss_scale=off mixed,master_weights=off mixed,loss_scale=128 "
    "mixed,reduce=float16"
)
FAMILIAR = {precision: i for i, precision in enumerate(WELL_KNOWN.split(), 1)}
# Dashes and marker of a control, which has the colour of the precision that it disturbs.
CONTROLS = {
    "order": ((4, 2), "v"),
    "ulp": ((1, 1.6), "X"),
    "kernels": ((7, 2, 1, 2), "P"),
    "repeat": ((2, 4), "*"),
}
KIND_STYLES = dict(zip(KINDS, (STYLES[i] for i in (1, 6, 3, 5, 4))))


def styles_of(precisions, baseline) -> dict:
    """A Style for each arm. The well-known ones look the same in every report."""
    apart = [p for p in dict.fromkeys(split(arm)[0] for arm in precisions) if p != baseline]
    chosen = {p: FAMILIAR[p] for p in apart if p in FAMILIAR}
    free = [i for i in range(1, len(STYLES)) if i not in chosen.values()]
    for precision in apart:
        if precision not in chosen:
            chosen[precision] = free.pop(0) if free else 1 + len(chosen) % (len(STYLES) - 1)
    looks = {baseline: STYLES[0]} | {p: STYLES[i] for p, i in chosen.items()}
    return {arm: of_arm(arm, looks) for arm in precisions}


def of_arm(arm, looks) -> Style:
    """Its own, or thin and dashed in the colour of what it disturbs."""
    precision, control = split(arm)
    if not control or arm in looks:
        return looks[arm]
    return Style(looks[precision].color, *CONTROLS[control], 1.2)
