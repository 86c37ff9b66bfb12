"""The autocast precision's table: which operation works in float16, which in float32.

Weights stay in float32. At the door of each operation its floating inputs are cast as its row says
(the casts are recorded, so gradients are cast back); float64 is left alone. The rows are those of
PyTorch's AMP (torch 2.13, aten/src/ATen/autocast_mode.h) and of Apex's O1, where they have the
operation. To change rows: `fp.precision("autocast,softmax=float16")`, or
`fp.Precision(operations={"softmax": "float16"})`; `print(fp.op_list())` shows the table in use.
"""

from dataclasses import dataclass

from minifp.errors import PrecisionError
from minifp.numerics.formats import float16, float32

LOW, WIDE = float16.name, float32.name
GIVEN = "given"  # works in the formats it is given; where they differ, its own rule decides
WIDEST = "widest"  # all inputs in the widest format that one of them has
REFUSED = "refused"
CHOICES = (LOW, WIDE, WIDEST, GIVEN, REFUSED)

# What is alike about the operations of a kind: their format, and why it is that one.
KINDS = {
    "product": (
        LOW,
        "products of float16 are exact in float32, where they are summed: half the bytes",
    ),
    "recurrence": (
        LOW,
        "a product at every step; the state between steps is stored as a GPU would",
    ),
    "power": (
        WIDE,
        "grows or shrinks by powers of its argument: leaves float16's range at small ones",
    ),
    "steep": (WIDE, "steep near zero: an error of float16 in the argument would be magnified"),
    "sum": (WIDE, "sums many numbers: may exceed 65504, or need more digits than float16 has"),
    "deviation": (WIDE, "divides by a deviation that is a sum of squares"),
    "loss": (WIDE, "a loss: one number for many, and the seed of backward"),
    "blend": (WIDE, "weighs neighbours by fractions that float16 would round"),
    "coordinates": (
        WIDE,
        "boxes in pixels: areas such as 300 * 300 exceed 65504, and float16 has no pixel 2049",
    ),
    "probability": (
        REFUSED,
        "log(p) of a float16 p is -Inf or 0 too often: take the one with_logits",
    ),
    "pointwise": (
        GIVEN,
        "one number from one or two, rounded once; formats that differ meet in the wider",
    ),
    "statistics": (GIVEN, "its parameters, statistics and sums are float32 whatever its input is"),
    "meeting": (
        WIDEST,
        "adds numbers of one tensor to, or times, those of another: in the wider format",
    ),
    "wide_sum": (GIVEN, "sums in float32 whatever its input is, and rounds once"),
    "exact": (GIVEN, "chooses or moves numbers: nothing is rounded"),
}
# Which operations are of which kind: each declares its own, where it is defined.
# ---- written by scripts/write_listings.py: do not edit ----
OPERATIONS: dict[str, str] = {
    "product": """
        addmm bmm conv1d conv2d conv_transpose1d conv_transpose2d einsum linear matmul mm mv prelu
        scaled_dot_product_attention
    """,
    "recurrence": "gru lstm rnn",
    "power": "cosh exp expm1 pow reciprocal rsqrt sinh softplus square tan",
    "steep": "acos asin log log10 log1p log2",
    "sum": """
        cosine_similarity cumprod cumsum log_softmax logsumexp mean norm normalize pairwise_distance
        prod softmax softmin sum
    """,
    "deviation": "group_norm layer_norm rms_norm",
    "loss": """
        binary_cross_entropy_with_logits cosine_embedding_loss cross_entropy ctc_loss huber_loss
        kl_div l1_loss mse_loss nll_loss sigmoid_focal_loss smooth_l1_loss
    """,
    "blend": "interpolate",
    "coordinates": """
        box_area box_convert box_iou clip_boxes_to_image decode_boxes encode_boxes
        generalized_box_iou generalized_box_iou_loss
    """,
    "probability": "binary_cross_entropy",
    "pointwise": """
        abs add atan cast ceil celu clamp cos div dropout elu erf floor floor_divide gelu glu
        hardsigmoid hardswish hardtanh leaky_relu lerp logsigmoid maximum minimum mish mul neg outer
        relu relu6 remainder round selu sigmoid sign silu sin softsign sqrt sub tanh trunc
        trunc_divide where
    """,
    "statistics": "batch_norm instance_norm",
    "meeting": "dot index_add scatter_add",
    "wide_sum": """
        adaptive_avg_pool1d adaptive_avg_pool2d avg_pool1d avg_pool2d fold local_response_norm
        roi_align std var
    """,
    "exact": """
        adaptive_max_pool1d adaptive_max_pool2d amax amin cat contiguous diagonal embedding expand
        flip gather getitem index_select masked_fill max max_pool1d max_pool2d min pack pad permute
        repeat reshape roi_pool roll scatter sort topk tril triu unfold unpack view
    """,
}
# ---- written until here ----
UNLISTED = "not listed: works in the formats it is given"


@dataclass(frozen=True)
class Row:
    """What autocast does with one operation, and why."""

    operation: str
    format: str
    reason: str


TABLE = {
    name: Row(name, *KINDS[kind]) for kind in KINDS for name in OPERATIONS.get(kind, "").split()
}
operations: set[str] = set()  # the names of all operations, users' own included: `op` adds them


def checked_edits(edits):
    """Changes of the table as a sorted tuple of (operation, format). None: no autocast.

    edits: a dict, pairs, None; True for the table as it is, False for none. Raises PrecisionError
    for an operation or a format that does not exist.
    """
    if edits is None or edits is False:
        return None
    if edits is True:
        return ()
    try:
        edits = dict(edits)
    except (TypeError, ValueError):
        raise PrecisionError(
            f'operations={edits!r}: expected a dict such as {{"softmax": "float16"}}, or None'
        ) from None
    for name, format in edits.items():
        if name not in TABLE and name not in operations:
            raise PrecisionError(
                f"operations: no operation {name!r}; print(fp.op_list()) shows them all"
            )
        if name == "cast":
            raise PrecisionError("operations: cast: it is what casts the inputs of all others")
        if format not in CHOICES:
            raise PrecisionError(f"operations: {name}={format!r}: expected {', '.join(CHOICES)}")
    return tuple(sorted(item for item in edits.items() if item[1] != row_of(item[0]).format))


def row_of(name) -> Row:
    """The row of an operation in the table as it comes."""
    return TABLE.get(name) or Row(name, GIVEN, UNLISTED)


class OpList:
    """The table in use: `print` shows it, grouped; `op_list["softmax"]` is one Row."""

    def __init__(self, edits):
        changed = dict(edits or ())
        self.rows = {
            name: Row(name, changed[name], "changed by you") if name in changed else row_of(name)
            for name in sorted({*TABLE, *operations, *changed})
        }

    def __getitem__(self, operation):
        if operation not in self.rows:
            raise PrecisionError(f"no operation {operation!r}: expected {', '.join(self.rows)}")
        return self.rows[operation]

    def __iter__(self):
        return iter(self.rows.values())

    def __len__(self):
        return len(self.rows)

    def __repr__(self):
        width, order = max(map(len, self.rows)), {choice: i for i, choice in enumerate(CHOICES)}
        rows = sorted(self, key=lambda row: (order[row.format], row.reason == UNLISTED))
        lines = [f"{row.operation:{width}}  {row.format:8}  {row.reason}" for row in rows]
        return "\n".join([f"{'operation':{width}}  {'format':8}  reason", *lines])
