"""JSON that any reader takes."""

import json
import math
from typing import Any


def json_text(value: Any, indent: int | None = None) -> str:
    """A value as JSON, which has no numbers that are not finite: they become "nan", "inf" and
    "-inf"."""
    return json.dumps(_finite(value), indent=indent, allow_nan=False, ensure_ascii=False)


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {key: _finite(v) for key, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(v) for v in value]
    return value
