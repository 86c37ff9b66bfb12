"""The autocast precision's table: which operation works in few bits, which in float32.

Weights stay in float32. At the door of each operation its floating inputs are cast as its row says
(the casts are recorded, so gradients are cast back); float64 is left alone. Few bits are float16's,
or bfloat16's; the rows are the same for both, but for the reasons. They are those of PyTorch's AMP
on a GPU (torch 2.13, AT_FORALL_... in aten/src/ATen/autocast_mode.h, which ask for no format), and
of Apex's O1, where they have the operation. On a CPU PyTorch has a list of its own, in which
softmax, norms and sums are missing: they work in what they are given. To change rows:
`fp.precision("autocast,softmax=float16")`, or `fp.Precision(operations={"softmax": "float16"})`;
`print(fp.op_list())` shows the table in use.
"""

from functools import cache
from typing import Any, NamedTuple

from minifp.errors import PrecisionError
from minifp.numerics.formats import bfloat16, float16, float32, name_of

LOW, WIDE = float16.name, float32.name
LOWS = (LOW, bfloat16.name)  # what a row of LOW may mean, as PyTorch's autocast may
GIVEN = "given"  # works in the formats of its inputs; where they differ, its own rule decides
WIDEST = "widest"  # all inputs in the widest format that one of them has
REFUSED = "refused"
CHOICES = (*LOWS, WIDE, WIDEST, GIVEN, REFUSED)

# What is alike about the operations of a kind: their format, LOW for that of few bits, and why it
# is that one.
KINDS = {
    "product": (
        LOW,
        "products of {low} are exact in float32, where they are summed: half the bytes",
    ),
    "recurrence": (
        LOW,
        "a product at every step; the state between steps is stored as a GPU would",
    ),
    "power": (
        WIDE,
        "grows or shrinks by powers of its argument: leaves float16's range at small ones",
    ),
    "steep": (WIDE, "steep near zero: an error of {low} in the argument would be magnified"),
    "sum": (WIDE, "sums many numbers: may exceed 65504, or need more digits than float16 has"),
    "deviation": (WIDE, "divides by a deviation that is a sum of squares"),
    "loss": (WIDE, "a loss: one number for many, and the start of backward"),
    "blend": (WIDE, "weighs neighbours by fractions that {low} would round"),
    "coordinates": (
        WIDE,
        "boxes in pixels: areas such as 300 * 300 exceed 65504, and float16 has no pixel 2049",
    ),
    "probability": (
        REFUSED,
        "log(p) of a float16 p is -Inf or 0 too often: use the one with_logits",
    ),
    "pointwise": (
        GIVEN,
        "one number from one or two, rounded once; formats that differ meet in the wider",
    ),
    "statistics": (GIVEN, "its parameters, statistics and sums are float32, whatever its input"),
    "meeting": (
        WIDEST,
        "adds numbers of one tensor to, or times, those of another: in the wider format",
    ),
    "wide_sum": (GIVEN, "sums in float32, whatever its input, and rounds once"),
    "exact": (GIVEN, "chooses or moves numbers: nothing is rounded"),
}
IN_BFLOAT16 = {  # the reason where float16's is its range, or its number of digits
    "product": "products of bfloat16 are exact in float32, where they are summed, within its "
    "range: half the bytes",
    "power": "grows or shrinks by powers of its argument: within bfloat16's range, but powers "
    "multiply errors, and bfloat16 has 8 bits",
    "sum": "sums many numbers: needs more digits than bfloat16 has",
    "coordinates": "boxes in pixels: bfloat16 has no pixel 257",
    "probability": "a bfloat16 p within 2^-9 of 1 is 1, and log(1 - p) -Inf: use with_logits",
}
# Which operations are of which kind: each declares its own, where it is defined.
# ---- written by scripts/write_listings.py: do not edit ----
OPERATIONS: dict[str, str] = {
    "product": "addmm bmm conv1d conv2d conv_transpose1d conv_transpose2d einsum linear matmul mm "
    "mv prelu scaled_dot_product_attention",
    "recurrence": "gru lstm rnn",
    "power": "cosh exp expm1 pow reciprocal rsqrt sinh softplus square tan",
    "steep": "acos asin log log10 log1p log2",
    "sum": "cosine_similarity cumprod cumsum log_softmax logsumexp mean norm normalize "
    "pairwise_distance prod softmax softmin sum",
    "deviation": "group_norm layer_norm rms_norm",
    "loss": "binary_cross_entropy_with_logits cosine_embedding_loss cross_entropy ctc_loss "
    "huber_loss kl_div l1_loss mse_loss nll_loss sigmoid_focal_loss smooth_l1_loss",
    "blend": "interpolate",
    "coordinates": "box_area box_convert box_iou clip_boxes_to_image decode_boxes encode_boxes "
    "generalized_box_iou generalized_box_iou_loss",
    "probability": "binary_cross_entropy",
    "pointwise": "abs add atan cast ceil celu clamp cos div dropout elu erf floor floor_divide "
    "gelu glu hardsigmoid hardswish hardtanh leaky_relu lerp logsigmoid maximum minimum mish mul "
    "neg outer relu relu6 remainder round selu sigmoid sign silu sin softsign sqrt sub tanh trunc "
    "trunc_divide where",
    "statistics": "batch_norm instance_norm",
    "meeting": "dot index_add scatter_add",
    "wide_sum": "adaptive_avg_pool1d adaptive_avg_pool2d avg_pool1d avg_pool2d fold "
    "local_response_norm roi_align std var",
    "exact": "adaptive_max_pool1d adaptive_max_pool2d amax amin cat contiguous diagonal embedding "
    "expand flip gather getitem index_select masked_fill max max_pool1d max_pool2d median min pack "
    "pad permute repeat reshape roi_pool roll scatter sort topk tril triu unfold unpack view",
}
# ---- written until here ----
UNLISTED = "not listed: works in the formats of its inputs"
KIND_OF = {name: kind for kind in KINDS for name in OPERATIONS.get(kind, "").split()}


class Row(NamedTuple):
    """What autocast does with one operation, and why."""

    operation: str
    format: str
    reason: str


class Table(NamedTuple):
    """What autocast does in a precision: each row as it comes for `low`, but for the edits.

    low: one of LOWS. edits: pairs (operation, format), sorted, as `checked` makes them.
    """

    low: str = LOW
    edits: Any = ()

    def row(self, operation: str) -> Row:
        """What it says of one operation."""
        format = dict(self.edits).get(operation)
        row = row_of(operation, self.low)
        return row if format is None else Row(operation, format, "changed by you")

    @property
    def narrow(self) -> set[str]:
        """The formats of few bits in which operations work."""
        return {self.low, *(format for _, format in self.edits)}.intersection(LOWS)


@cache
def row_of(name: str, low: str = LOW) -> Row:
    """The row of an operation in the table as it comes."""
    if name not in KIND_OF:
        return Row(name, GIVEN, UNLISTED)
    format, reason = KINDS[KIND_OF[name]]
    if low == bfloat16.name:
        reason = IN_BFLOAT16.get(KIND_OF[name], reason)
    return Row(name, low if format == LOW else format, reason.format(low=low))


operations: set[str] = set()  # the names of all operations, users' own included: `op` adds them


def checked(rows: Any) -> Table | None:
    """The table that a precision is given. None: no autocast.

    rows: None or False; True; one of LOWS; a dict of changes, or pairs; or (one of LOWS, changes).
    Formats may be dtypes. Raises PrecisionError for an operation or a format that does not exist.
    """
    if rows is None or rows is False:
        return None
    try:
        low, edits = _low_and_edits(LOW if rows is True else rows)
        edits = {name: _name(format) for name, format in dict(edits).items()}
    except (TypeError, ValueError):
        raise PrecisionError(
            f"operations={rows!r}: expected a dict such as "
            f'{{"softmax": "{LOW}"}}, {" or ".join(map(repr, LOWS))}, both, as in '
            f'("{LOWS[-1]}", {{"softmax": "{LOWS[-1]}"}}), or None'
        ) from None
    for name, format in edits.items():
        if name not in KIND_OF and name not in operations:
            raise PrecisionError(
                f"operations: no operation {name!r}; print(fp.op_list()) lists them all"
            )
        if name == "cast":
            raise PrecisionError("operations: cast: this operation casts the inputs of all others")
        if format not in CHOICES:
            raise PrecisionError(f"operations: {name}={format!r}: expected {', '.join(CHOICES)}")
    changed = (item for item in edits.items() if item[1] != row_of(item[0], low).format)
    return Table(low, tuple(sorted(changed)))


def _low_and_edits(rows):
    """The pair that one of them, or both, stand for."""
    if _name(rows) in LOWS:
        return _name(rows), {}
    is_pair = isinstance(rows, tuple) and len(rows) == 2 and _name(rows[0]) in LOWS
    return (_name(rows[0]), rows[1]) if is_pair else (LOW, rows)


def _name(format):
    """A format's name, of a dtype too."""
    return name_of(format) if hasattr(format, "kind") else format
