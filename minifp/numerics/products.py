"""The three products of a layer, and the switches of a precision that each may have of its own.

    fprop    y  = x wT     the forward pass
    dgrad    dx = dy w     the gradient of an activation
    wgrad    dw = dyT x    the gradient of a weight

So they are called in cuDNN, CUTLASS and Transformer Engine. A weight is what an operation takes as
one: linear, convolutions, recurrent layers. matmul, einsum and attention multiply two operands that
are alike, and the gradients of both are dgrad.

They differ in how many products they add up: fprop as many as a layer has inputs, dgrad as it has
outputs, but wgrad as the batch has examples, times positions or steps. And they differ in what
enters, as no gradient does in fprop. So they differ in what they need:

    float16,wgrad:accumulate=float32

A kernel's rule says which product it is (`product_of`); `rules.resolve` asks for the switches of
that one (`of_product`).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from minifp.errors import PrecisionError
from minifp.numerics.operands import OPERAND_FIELDS, OPERANDS, Operand, steps_of
from minifp.numerics.precision_grammar import read_product, written, written_product
from minifp.numerics.switches import read_switch

PRODUCTS = FPROP, DGRAD, WGRAD = "fprop", "dgrad", "wgrad"
SWITCHES = ("accumulate", *OPERAND_FIELDS, "operand_scale")
MEANINGS = {  # for `minifp help precision`
    FPROP: "y = x wT, the forward pass",
    DGRAD: "dx = dy w, the gradient of an activation",
    WGRAD: "dw = dyT x, the gradient of a weight",
}
EXAMPLE = "wgrad:accumulate=float32"


def product_of(role: str, operands: Iterable[Operand]) -> str | None:
    """Which product a kernel is that names these operands, unless it is the gradient of a weight;
    None for one that is none, or names none."""
    if role != "dot" or not operands:
        return None
    return DGRAD if any(operand.is_gradient for operand in operands) else FPROP


# ---- the switches of one product ----------------------------------------------------------------


def read_key(key: Any, place: str) -> tuple[str, str]:
    """(product, switch) of "wgrad:accumulate". place: where it stands, for the PrecisionError."""
    pair = read_product(key) if isinstance(key, str) else ("", "")
    product, switch = pair or (key, "")
    if pair is None or product not in PRODUCTS:
        raise PrecisionError(
            f"{product or key!r} {place} is not a product: expected {', '.join(PRODUCTS)}, as in "
            f'"{EXAMPLE}"'
        )
    if switch not in SWITCHES:
        raise PrecisionError(
            f"{switch!r} of {product} {place} is not a switch of a product: expected "
            f"{', '.join(SWITCHES)}"
        )
    if product == FPROP and switch == "gradient_operands":
        raise PrecisionError(f"{key} {place}: no gradient enters fprop: expected dgrad or wgrad")
    return product, switch


def read(key: str, value: str, text: str) -> Any:
    """The value of the switch of a product in a precision's text. Raises PrecisionError."""
    product, switch = read_key(key, f"in precision {text!r}")
    return now(product, switch, read_switch(switch, value, text))


def now(product: str, switch: str, value: Any) -> Any:
    """The value, if it needs no history: those are of all products of a layer together."""
    if switch == "operand_scale" and steps_of(value) is not None:
        raise PrecisionError(
            f"{product}:{switch}={value}: maxima of earlier steps are recorded for all products "
            f"of a layer together: expected {switch}={value} for the whole precision; single "
            "products take another, such as current"
        )
    return value


def checked(table: Mapping[str, Any] | Iterable, precision: Any) -> tuple[tuple[str, Any], ...]:
    """What a Precision, which is else complete, has of its products: pairs of "wgrad:accumulate"
    and a value, in one order, without those that it has anyway. Raises PrecisionError."""
    try:
        changes = dict(table)
    except (TypeError, ValueError):
        raise PrecisionError(
            f'products={table!r}: expected a dict such as {{"wgrad:accumulate": "float32"}}'
        ) from None
    keys = {key: read_key(key, "in products") for key in changes}
    pairs = {keys[key]: now(*keys[key], value) for key, value in changes.items()}
    check_alike(precision, pairs)
    settings = []
    for product in PRODUCTS:
        own = {switch: value for (of, switch), value in pairs.items() if of == product}
        changed = _changed(precision, product, own)
        settings += [
            (written_product(product, switch), getattr(changed, switch))
            for switch in SWITCHES
            if switch in own and getattr(changed, switch) != getattr(precision, switch)
        ]
    return tuple(settings)


def check_alike(precision: Any, pairs: Mapping[tuple[str, str], Any]) -> None:
    """Raise PrecisionError where a product would round what was saved for it in another way."""
    for (product, switch), value in pairs.items():
        own = getattr(precision, switch)
        if precision.saved == OPERANDS and switch in ("operands", "operand_scale") and value != own:
            raise PrecisionError(
                f"{product}:{switch}={written(value)} with saved=operands: all products read the "
                "same saved operand: expected one setting for all, "
                f"{switch}={written(own)}, or saved=activations"
            )


def _changed(precision, product, own):
    try:
        return replace(precision, products=(), parts=(), **own) if own else precision
    except PrecisionError as error:
        raise PrecisionError(f"{product}: {error}") from None


def of_product(precision: Any, product: str | None) -> Any:
    """The precision of one product: a Precision with the switches that it has there; itself where
    these are no others."""
    return _changed(precision, product, dict(own_of(precision, product)))


def own_of(precision: Any, product: str | None) -> list[tuple[str, Any]]:
    """(switch, value) of the switches that a product has of its own."""
    pairs = [(read_product(key), value) for key, value in precision.products]
    return [(pair[1], value) for pair, value in pairs if pair and pair[0] == product]


# ---- what is shown ------------------------------------------------------------------------------


@dataclass(frozen=True)
class ProductRow:
    """What holds for products of some modules.

    modules: "all", or the pattern of a part; product: "all", or one of PRODUCTS; switches: those of
    the product, or the precision of the part, as text.
    """

    modules: str
    product: str
    switches: str


def rows_of(precision: Any) -> list[ProductRow]:
    """What a precision says of products: all of the model, and then its parts, of which later ones
    win. Nothing if all products, everywhere, are alike."""
    if not (precision.products or precision.parts):
        return []
    rows = []
    for product in PRODUCTS:
        own = of_product(precision, product)
        said = {name: getattr(own, name) for name in SWITCHES}
        if product == FPROP:
            del said["gradient_operands"]
        shown = [f"{n}={written(v)}" for n, v in said.items() if n == SWITCHES[0] or v is not None]
        rows.append(ProductRow("all", product, ",".join(shown)))
    of_parts = [(part, part.product or "all") for part in precision.read_parts]
    return rows + [ProductRow(part.pattern, product, part.told) for part, product in of_parts]


def lines_of(rows: list[ProductRow]) -> list[str]:
    """The lines of a table of such rows."""
    cells = [("modules", "product", "switches, of which later lines win")]
    cells += [(row.modules, row.product, row.switches) for row in rows]
    first, second = (max(len(cell[i]) for cell in cells) for i in (0, 1))
    return [f"{a:{first}}  {b:{second}}  {c}" for a, b, c in cells]
