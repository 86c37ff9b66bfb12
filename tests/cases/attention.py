"""Attention."""

from dataclasses import replace

import numpy as np
from bounds import below_largest, magnitude
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import minifp as fp
import minifp.nn.functional as F
from cases.case import Case, drawn


def attention(*shapes, mask=None, **settings):
    """A fourth shape is that of a mask which is added to the scores; `mask` is booleans."""

    def arguments(m, q, k, v, bias=None):
        return q, k, v, bias if mask is None else m.tensor(mask)

    return Case(
        "scaled_dot_product_attention",
        lambda *a: F.scaled_dot_product_attention(*arguments(fp, *a), **settings),
        shapes,
        torch=lambda t, *a: t.nn.functional.scaled_dot_product_attention(
            *arguments(t, *a), **settings
        ),
    )


MASK = np.array([[True, False, True], [False, False, False]])

CASES = [
    attention((2, 3, 4), (2, 5, 4), (2, 5, 3)),
    attention((2, 2, 4, 3), (2, 2, 4, 3), (2, 2, 4, 3), is_causal=True),
    attention((1, 2, 3), (2, 3, 3), (2, 3, 2), scale=1.5),
    # In PyTorch a score of Inf, though masked, is Inf - Inf: such masks are compared where drawn.
    replace(attention((2, 2, 4), (2, 3, 4), (2, 3, 4), mask=MASK), torch=None),
    replace(attention((2, 3), (3, 3), (3, 1), mask=MASK), torch=None),
    attention((2, 2, 3, 4), (2, 2, 3, 4), (2, 2, 3, 4), (3, 3)),
    attention((2, 3, 4), (2, 5, 4), (2, 5, 4), (2, 1, 5)),
    *(attention((1, 1, 1), (1, 1, 1), (1, 1, 1)), attention((0, 2, 3), (0, 4, 3), (0, 4, 2))),
]

LAYERS = {
    "TransformerEncoderLayer": (lambda m: m.TransformerEncoderLayer(6, 2, 5, 0.0), (3, 2, 6)),
    "TransformerEncoder": (
        lambda m: m.TransformerEncoder(
            m.TransformerEncoderLayer(4, 2, 5, 0.0, "gelu", 0.1, True, True, False), 2,
            m.LayerNorm(4), enable_nested_tensor=False,
        ),
        (2, 3, 4),
    ),
}  # fmt: skip


@drawn("scaled_dot_product_attention")
def draw_attention(draw, name):
    lead = draw(st.sampled_from([(), (2,), (2, 3), (1, 2)]))
    L, S, E, V = (draw(st.integers(1, 5)) for _ in range(4))
    settings = {"scale": draw(st.sampled_from([None, 0.3, 2.0]))}
    shapes = [(*lead, L, E), (*lead, S, E), (*lead, S, V)]
    kind = draw(st.sampled_from(["none", "causal", "booleans", "numbers"]))
    masks = [(*lead, L, S), (L, S), (1, S), (L, 1)]
    if kind == "causal":
        settings["is_causal"] = True
    elif kind == "booleans":
        settings["mask"] = draw(hnp.arrays(bool, draw(st.sampled_from(masks))))
    elif kind == "numbers":
        shapes.append(draw(st.sampled_from(masks)))
    return attention(*shapes, **settings)


@magnitude
def attention_scores(q, k, mask, *, exact, scale, is_causal):
    s = np.abs(scale) * (np.abs(q) @ np.abs(k).swapaxes(-1, -2))
    added = 0 if mask is None or mask.dtype.kind == "b" else np.abs(mask)
    return s + np.where(np.isfinite(added), added, 0)


@magnitude
def attention_probabilities(s, *, exact):
    return exact[0] * (1 + 2 * below_largest(s, -1).max(-1, keepdims=True, initial=0))


@magnitude
def attention_dp(dy, v, dp, *, exact):
    return np.abs(dy) @ np.abs(v).swapaxes(-1, -2) + (0 if dp is None else np.abs(dp))
