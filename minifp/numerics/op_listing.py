"""What `fp.op_list` prints: autocast's table, and what parts and products have of their own."""

from minifp.errors import PrecisionError
from minifp.numerics.autocast import CHOICES, KIND_OF, UNLISTED, Table, operations
from minifp.numerics.policy import Precision, as_precision, get_precision
from minifp.numerics.products import EXAMPLE, lines_of, rows_of


class OpList:
    """The table in use: `print` shows it, grouped; `op_list["softmax"]` is one Row.

    table: a Table, None for none. products: rows of what parts and products have of their own,
    which are shown below it (see products.py).
    """

    def __init__(self, table: Table | None, products=()) -> None:
        names = () if table is None else (*KIND_OF, *operations, *dict(table.edits))
        self.products = list(products)
        self.rows = {name: (table or Table()).row(name) for name in sorted({*names})}

    def __getitem__(self, operation):
        if operation not in self.rows:
            known = ", ".join(self.rows) or "none, without autocast"
            raise PrecisionError(f"no operation {operation!r}: expected {known}")
        return self.rows[operation]

    def __iter__(self):
        return iter(self.rows.values())

    def __len__(self):
        return len(self.rows)

    def __repr__(self):
        below = lines_of(self.products) if self.products else []
        return "\n".join([*(self._lines() if self.rows else ()), *below])

    def _lines(self):
        width, order = max(map(len, self.rows)), {choice: i for i, choice in enumerate(CHOICES)}
        rows = sorted(self, key=lambda row: (order[row.format], row.reason == UNLISTED))
        lines = [f"{row.operation:{width}}  {row.format:8}  {row.reason}" for row in rows]
        return [f"{'operation':{width}}  {'format':8}  reason", *lines]


def op_list(precision: Precision | str | None = None) -> OpList:
    """Which operation works in which format under autocast, and why; and what parts and products
    of a model have of their own.

    precision: a Precision or its text, such as "autocast,softmax=float16" or
    "mixed;*.wgrad:accumulate=float16"; by default the active one if it has something to list, or
    else "autocast". Raises PrecisionError for one that has nothing.
    """
    p = get_precision() if precision is None else as_precision(precision)
    of_parts = rows_of(p)
    if p.operations is None and not of_parts and precision is not None:
        raise PrecisionError(
            f'precision "{p}" has no table of operations: expected "autocast", with or without '
            "changes, or a precision with settings for modules or products, such as "
            f'"mixed,{EXAMPLE}"'
        )
    return OpList(p.operations if of_parts else p.operations or Table(), of_parts)
