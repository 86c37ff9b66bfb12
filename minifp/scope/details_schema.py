"""What `details` of a microscope's file must be before it is shown, as a JSON schema: what
details.py and the check of the advice write (inspecting.py), as far as text and page read it."""

import math
from typing import Any

from minifp.scope.memory.summary import KINDS

TEXT, NUMBER, WHOLE_NUMBER, FLAG = (
    {"type": name} for name in ("string", "number", "integer", "boolean")
)
COUNT = {"type": "integer", "minimum": 0}
LIMIT = {"type": "number", "exclusiveMinimum": 0}  # of a machine
KIND: dict = {"enum": [*KINDS]}


def rows(of: dict, least: int = 0) -> dict:
    """A list of these."""
    return {"type": "array", "items": of, "minItems": least}


def by_name(of: dict) -> dict:
    """These by names."""
    return {"type": "object", "additionalProperties": of}


def each(kind: dict, names: str) -> dict[str, Any]:
    """The same for each of some names."""
    return dict.fromkeys(names.split(), kind)


def fields(texts: str, numbers: str = "", counts: str = "", **others: dict) -> dict:
    """An object that has all of these: texts, numbers and counts by their names, and others."""
    properties = each(TEXT, texts) | each(NUMBER, numbers) | each(COUNT, counts) | others
    return {"type": "object", "properties": properties, "required": [*properties]}


NUMBERED: dict[str, Any] = {"number": WHOLE_NUMBER}
KERNEL = fields(
    "phase operation module kernel role why computes_in sums_in dot_in",
    "flops seconds intensity",
    "bytes_read bytes_written",
    **each(rows(TEXT), "inputs outputs"),
    **NUMBERED,
)
LIMITS = each(LIMIT, "rate bandwidth ridge")
MACHINE = fields("", "float16 float32", shares=by_name(NUMBER), bound=rows(TEXT), **LIMITS)
SHAPE = fields("module operation dimension", "share", size={"type": "integer", "minimum": 1})
FACTORS = {"type": "object", "patternProperties": {r"^\d+(\.\d+)?$": NUMBER}}
HARDWARE = fields(
    "",
    "products",
    machines={**by_name(MACHINE), "minProperties": 1},
    shapes=rows(SHAPE),
    amdahl={**FACTORS, "additionalProperties": False},
)
BOX = fields("label module format", "x y", **NUMBERED)
EDGE = fields("label format", **each(WHOLE_NUMBER, "source target"))
TAPE = fields("", "", "height", boxes=rows(BOX), edges=rows(EDGE))
ULPS = each(rows(NUMBER, 1), "added_ulp inherited_ulp")
VALUE = fields("phase operation module value format", "added inherited", **ULPS, **NUMBERED)
EFFECTS = each(NUMBER, "added") | {"on gradients": NUMBER, "on loss": NUMBER}
CAUSES = rows(fields("operation module line", **EFFECTS))
ERRORS = "loss loss_reference gradients"
REFERENCE = fields("reference", ERRORS, rows=rows(VALUE), contributions=CAUSES)
HOLDER = {"type": "array", "prefixItems": [KIND, TEXT, COUNT], "minItems": 3, "maxItems": 3}
EVENT = fields("phase operation module", bytes=by_name(COUNT))
BYTES = {"now": by_name(COUNT), "holders": rows(HOLDER), "timeline": rows(EVENT)}
PEAK = fields("at", "", "peak", growth=WHOLE_NUMBER, **BYTES)
MEMORY = fields("", kinds=rows(KIND), here=PEAK)
MEMORY["properties"] |= {"float32": PEAK, "batches": rows(fields("", "", "capacity mixed float32"))}
CHECK = fields(
    "status",
    "",
    "skipped steps",
    scale={"type": ["integer", "string", "null"]},
    advised=FLAG,
    loss={"type": ["number", "null"]},
)
PARTS = {"step": WHOLE_NUMBER, "refused": TEXT, "batch": {"type": ["integer", "null"]}}
PARTS["trace"] = fields("", "flops seconds", "bytes", rows=rows(KERNEL))
PARTS |= {"hardware": HARDWARE, "tape": TAPE, "reference": rows(REFERENCE)}
PARTS |= {"memory": MEMORY, "check": rows(CHECK)}
DETAILS = {
    "type": "object",
    "properties": PARTS,
    "additionalProperties": False,
    "dependentRequired": {"trace": ["step"], "reference": ["step"], "hardware": ["trace"]},
}


def not_together(details: dict[str, Any]) -> str:
    """How parts that are each as they must be do not fit together; "" where they do."""
    for name, machine in details.get("hardware", {}).get("machines", {}).items():
        if len(machine["bound"]) != len(details["trace"]["rows"]):
            return f", in details.hardware.machines.{name}: not a bound for each kernel"
        if not all(math.isfinite(machine[limit]) for limit in ("rate", "bandwidth", "ridge")):
            return f", in details.hardware.machines.{name}: limits that are not finite"
    tape = details.get("tape", {"boxes": (), "edges": ()})
    ends = {edge[end] for edge in tape["edges"] for end in ("source", "target")}
    numbers = {box["number"] for box in tape["boxes"]}
    return ", in details.tape: an edge to no box" if ends - numbers else ""
