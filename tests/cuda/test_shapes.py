"""Every kernel of a GPU at the shapes that its blocks are made for, within the bound of bounds.py.

One call of each row of shapes.py in `make test`, in a format and with settings that the commit
draws; all of them with --exhaustive.
"""

import os
import zlib
from math import prod
from unittest.mock import patch

import layer_shapes  # noqa: F401 (it registers what it has)
import numpy as np
import pytest
from checked import check, check_all
from kernel_calls import CALLS, NAMED, Draw
from kernel_calls.draw import LARGE
from kernel_calls.losses import LOSSES
from sampling import ENVIRONMENT, number_of, takes_all
from shapes import BOTH, CHANNELS, ROWS, SHAPES, Numbers


@pytest.mark.parametrize("name", SHAPES)
def test_a_kernel_at_the_shapes_that_its_blocks_are_made_for(name, request):
    function, kind = SHAPES[name]
    seed = None if takes_all(request.config) else f"{os.environ[ENVIRONMENT]} {name}"
    assert check_all(function(*kind, Numbers(seed)))


BOTH_WAYS = """
    softmax log_softmax softmin normalize cosine_similarity pairwise_distance layer_norm rms_norm
    group_norm batch_norm cumsum roi_align roi_pool interpolate max_pool avg_pool
""".split()
DRAWN = [f"{name}_{way}" for name in BOTH_WAYS for way in ("forward", "dx")]
DRAWN += """
    prod_forward prod_dx cumprod_forward cumprod_dx
    amax_forward amin_forward share_dx batch_norm_statistics instance_norm_statistics
    attention_scores attention_probabilities attention_dp pad_around_dx embedding_dw
    unfold_columns fold_forward index_select_dx index_add_forward gather_dx scatter_add_forward
""".split()
DRAWN += [f"{name}_{way}" for name in LOSSES if " " not in name for way in ("each", "total", "dx")]
DRAWN += [f"{name}_d{x}" for name in ("remainder", "floor_divide", "trunc_divide") for x in "xy"]
DRAWN += [row for row in CALLS if "cross_entropy_" in row and "binary" not in row]
DRAWN += [row for row in CALLS if row.startswith(("nll_loss", "cosine_embedding_loss"))]
FINITE = {"group_norm_dx", "cosine_embedding_loss_dx"}  # else Inf may be where NaN is expected
KINDS = [*({"dtype": dtype} for dtype in BOTH), {"special": True}]  # which are not all finite


@pytest.mark.parametrize("name", DRAWN)
def test_a_kernel_at_these_shapes_on_calls_that_are_drawn_as_for_the_cpu(name, request):
    every = takes_all(request.config)
    kinds = KINDS[:2] if name in FINITE else KINDS
    for i, shape in enumerate(ROWS):
        large = {"rows": [shape], "channels": [CHANNELS[i % len(CHANNELS)]]}
        one = number_of(os.environ[ENVIRONMENT], name, str(i)) % len(kinds)
        for kind in kinds if every else kinds[one : one + 1]:
            draw = Draw(zlib.crc32(f"{name} {i} {kind}".encode()), large=True, **kind)
            with patch.dict(LARGE, large):
                args, params, to = CALLS[name](draw)
            args = [np.array(a, order="C") if isinstance(a, np.ndarray) else a for a in args]
            to = to if isinstance(to, tuple) else (to or draw.dtype,)
            if name in ("max_pool_forward", "roi_pool_forward"):  # and places
                few = prod(axis.size for axis in params.get("axes", ())) <= 256
                to += ("uint8" if few and "axes" in params else "int32",)
            check(NAMED[name].name, *args, to=to, **params)
