"""How each precision is drawn in a comparison, and each kind of memory."""

from minifp.report.drawing import STYLES

FAMILIAR = {"mixed": 1, "float16": 2, "mixed,loss_scale=off": 3, "mixed,master_weights=off": 4}
KIND_COLORS = {
    "weights": "#0072b2",
    "masters": "#56b4e9",
    "optimizer_state": "#009e73",
    "activations": "#e69f00",
    "gradients": "#cc79a7",
}


def styles_of(precisions, baseline) -> dict:
    """A Style for each precision. The well-known ones look the same in every report."""
    chosen = {p: FAMILIAR[p] for p in precisions if p in FAMILIAR and p != baseline}
    free = [i for i in range(1, len(STYLES)) if i not in chosen.values()]
    for precision in precisions:
        if precision != baseline and precision not in chosen:
            chosen[precision] = free.pop(0) if free else 1 + len(chosen) % (len(STYLES) - 1)
    return {p: STYLES[0 if p == baseline else chosen[p]] for p in precisions}
