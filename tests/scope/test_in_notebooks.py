"""What a Tensor shows in a notebook: its numbers counted by kind, exactly, for every dtype."""

import math
import re
import tracemalloc

import numpy as np
import pytest

import minifp as fp
from minifp.scope.histogram import BLOCK, Histogram


def facts(tensor):
    html = tensor._repr_html_()
    return dict(re.findall(r'<tr><th scope="row">(.*?)</th><td>(.*?)</td></tr>', html))


def test_a_tensor_of_halves_tells_where_its_numbers_lie():
    x = fp.tensor([[0.0, 2.0**-20, 1.0], [-math.inf, math.nan, -16384.0]], dtype="float16")
    assert facts(x) == {
        "shape": "(2, 3)", "dtype": "float16", "device": "cpu", "zeros": "1 (16.7%)",
        "subnormals": "1 (16.7%)", "normals": "2 (33.3%)", "Inf": "1 (16.7%)", "NaN": "1 (16.7%)",
        "smallest magnitude": "9.53674e-07", "largest magnitude": "16384",
        "headroom": "2.0 bits to the largest float16",
    }  # fmt: skip


@pytest.mark.parametrize("tensor, expected", [
    (fp.zeros(0, 3), {"shape": "(0, 3)", "zeros": "0", "normals": "0"}),
    (fp.zeros(2), {"zeros": "2 (100%)", "NaN": "0"}),
    (fp.tensor([3, -1, 0]), {"dtype": "int64", "zeros": "1 (33.3%)", "range": "-1 to 3"}),
    (fp.tensor(np.zeros(0, np.uint8)), {"dtype": "uint8", "zeros": "0"}),
    (fp.tensor([True, False]), {"dtype": "bool", "True": "1 (50%)"}),
    (fp.tensor(2.5, requires_grad=True), {"shape": "()", "requires_grad": "True"}),
    (fp.tensor([2.0], requires_grad=True) * 2, {"made by": "mul", "normals": "1 (100%)"}),
])  # fmt: skip
def test_every_kind_of_tensor_has_its_table(tensor, expected):
    found = facts(tensor)
    assert {name: found.get(name) for name in expected} == expected
    assert "headroom" not in found or found["normals"] != "0"


def test_values_of_large_tensors_are_abbreviated_and_nothing_is_written_into_one():
    html = fp.zeros(300, 300)._repr_html_()
    assert "..., " in html and len(html) < 20_000
    assert html.count("<pre>") == 1 and "<script" not in html and "http" not in html
    x = fp.tensor([0.0, -1.0, math.nan], dtype="float32")
    before = x.array.tobytes()
    x._repr_html_()
    assert x.array.tobytes() == before and x.storage.version == 0


@pytest.mark.parametrize("step", [1, 2])
def test_a_large_tensor_is_counted_without_a_copy_of_it(step):
    x = np.full(10_000_000, 0.5, np.float16)[::step]
    Histogram.of(x[:9])  # so that what is imported for it is there
    tracemalloc.start()
    h = Histogram.of(x)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert h.nonzero == x.size and peak < 20 * BLOCK  # bytes; x has up to 20,000,000
