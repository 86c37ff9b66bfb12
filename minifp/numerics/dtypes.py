"""The dtypes that have a name in `fp`, as tensors say them."""

from minifp.derive.dtypes import dtype, shown
from minifp.numerics import formats
from minifp.numerics.formats import bfloat16, float8_e4m3fn, float8_e5m2

float16, float32, float64 = map(shown, (formats.float16, formats.float32, formats.float64))
int32, int64, uint8 = map(shown, (formats.int32, formats.int64, formats.uint8))
bool_ = shown(formats.bool_)

__all__ = ["bfloat16", "bool_", "dtype", "float16", "float32", "float64", "float8_e4m3fn"]
__all__ += ["float8_e5m2", "int32", "int64", "uint8"]
