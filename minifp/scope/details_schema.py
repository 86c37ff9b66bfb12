"""What `details` of a microscope's file must be before it is shown, as a JSON schema: what
details.py and the check of the advice write (inspecting.py), as far as text and page read it."""

import math
from typing import Any

from minifp.scope.memory.summary import KINDS

TEXT, NUMBER, WHOLE = ({"type": name} for name in ("string", "number", "integer"))
COUNT = {"type": "integer", "minimum": 0}
LIMIT = {"type": "number", "exclusiveMinimum": 0}  # of a machine
KIND: dict = {"enum": [*KINDS]}


def rows(of: dict, least: int = 0) -> dict:
    """A list of these."""
    return {"type": "array", "items": of, "minItems": least}


def by_name(of: dict) -> dict:
    """These by names."""
    return {"type": "object", "additionalProperties": of}


def fields(names: str = "", **others: dict) -> dict:
    """An object that has all of these: texts by their names, and others."""
    properties = {**dict.fromkeys(names.split(), TEXT), **others}
    return {"type": "object", "properties": properties, "required": [*properties]}


KERNEL = fields(
    "phase operation module kernel role why computes_in sums_in dot_in", number=WHOLE,
    inputs=rows(TEXT), outputs=rows(TEXT), bytes_read=COUNT, bytes_written=COUNT,
    flops=NUMBER, seconds=NUMBER, intensity=NUMBER,
)  # fmt: skip
MACHINE = fields(
    rate=LIMIT, bandwidth=LIMIT, ridge=LIMIT, float16=NUMBER, float32=NUMBER,
    shares=by_name(NUMBER), bound=rows(TEXT),
)  # fmt: skip
SHAPE = fields("module operation dimension", size={"type": "integer", "minimum": 1}, share=NUMBER)
FACTORS = {"type": "object", "patternProperties": {r"^\d+(\.\d+)?$": NUMBER}}
HARDWARE = fields(
    machines={**by_name(MACHINE), "minProperties": 1}, shapes=rows(SHAPE), products=NUMBER,
    amdahl={**FACTORS, "additionalProperties": False},
)  # fmt: skip
TAPE = fields(
    boxes=rows(fields("label module format", number=WHOLE, x=NUMBER, y=NUMBER)),
    edges=rows(fields("label format", source=WHOLE, target=WHOLE)), height=COUNT,
)  # fmt: skip
VALUE = fields(
    "phase operation module value format", number=WHOLE, added=NUMBER, inherited=NUMBER,
    added_ulp=rows(NUMBER, 1), inherited_ulp=rows(NUMBER, 1),
)  # fmt: skip
EFFECTS = {"on gradients": NUMBER, "on loss": NUMBER}
REFERENCE = fields(
    "reference", loss=NUMBER, loss_reference=NUMBER, gradients=NUMBER, rows=rows(VALUE),
    contributions=rows(fields("operation module line", added=NUMBER, **EFFECTS)),
)  # fmt: skip
HOLDER = {"type": "array", "prefixItems": [KIND, TEXT, COUNT], "minItems": 3, "maxItems": 3}
HELD = fields(
    "at", now=by_name(COUNT), peak=COUNT, growth=WHOLE, holders=rows(HOLDER),
    timeline=rows(fields("phase operation module", bytes=by_name(COUNT))),
)  # fmt: skip
MEMORY = fields(kinds=rows(KIND), here=HELD)
MEMORY["properties"] |= {
    "float32": HELD, "batches": rows(fields(capacity=COUNT, mixed=COUNT, float32=COUNT)),
}  # fmt: skip
CHECK = fields(
    "status", scale={"type": ["integer", "string", "null"]}, advised={"type": "boolean"},
    loss={"type": ["number", "null"]}, skipped=COUNT, steps=COUNT,
)  # fmt: skip
DETAILS = {
    "type": "object",
    "properties": {
        "step": WHOLE, "refused": TEXT, "batch": {"type": ["integer", "null"]},
        "trace": fields(flops=NUMBER, bytes=COUNT, seconds=NUMBER, rows=rows(KERNEL)),
        "hardware": HARDWARE, "tape": TAPE, "reference": rows(REFERENCE), "memory": MEMORY,
        "check": rows(CHECK),
    },
    "additionalProperties": False,
    "dependentRequired": {"trace": ["step"], "reference": ["step"], "hardware": ["trace"]},
}  # fmt: skip


def not_together(details: dict[str, Any]) -> str:
    """How parts that are each as they must be do not fit together; "" where they do."""
    for name, machine in details.get("hardware", {}).get("machines", {}).items():
        if len(machine["bound"]) != len(details["trace"]["rows"]):
            return f", in details.hardware.machines.{name}: not a bound for each kernel"
        if not all(math.isfinite(machine[limit]) for limit in ("rate", "bandwidth", "ridge")):
            return f", in details.hardware.machines.{name}: limits that are not finite"
    tape = details.get("tape", {"boxes": (), "edges": ()})
    ends = {edge[end] for edge in tape["edges"] for end in ("source", "target")}
    known = {box["number"] for box in tape["boxes"]}
    return ", in details.tape: an edge to no box" if ends - known else ""
