"""Row convolution, which in PyTorch is a convolution in as many groups as there are features."""

from hypothesis import strategies as st

import minifp.nn.functional as F
from cases.case import Case, drawn


def in_groups(t, x, w):
    C = w.shape[1]
    along = t.nn.functional.pad(x.reshape(len(x), -1, x.shape[-1]).permute(1, 2, 0), (0, C - 1))
    y = t.nn.functional.conv1d(along, w[:, None], groups=len(w))
    return y.permute(2, 0, 1).reshape(x.shape)


CASES = [
    Case("row_conv", F.row_conv, ((5, 2, 3), (3, 4)), torch=in_groups),
    Case("row_conv of one sequence", F.row_conv, ((6, 2), (2, 3)), torch=in_groups),
    Case("row_conv of itself alone", F.row_conv, ((2, 1, 1), (1, 1)), torch=in_groups),
    Case("row_conv farther than the end", F.row_conv, ((2, 2, 3), (3, 5)), torch=in_groups),
]


@drawn("row_conv")
def draw_row_conv(draw, name):
    steps, batch, features, ahead = (draw(st.integers(1, n)) for n in (6, 3, 4, 5))
    shape = draw(st.sampled_from([(steps, features), (steps, batch, features)]))
    return Case(name, F.row_conv, (shape, (features, ahead)), torch=in_groups)
