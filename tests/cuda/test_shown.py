"""A tensor on a device in a notebook, and one of its numbers explained: read on the host."""

import numpy as np

import minifp as fp


def test_a_tensor_on_a_device_is_counted_and_explained_as_it_is_stored():
    x = fp.tensor(np.array([0.0, 2.0**-20, 0.1, np.inf]), dtype="float16", device="cuda")
    html = x._repr_html_()
    for row in ("device</th><td>cuda", "zeros</th><td>1 (25%)", "subnormals</th><td>1 (25%)"):
        assert row in html
    assert "Inf</th><td>1 (25%)" in html and "headroom</th><td>19.3 bits" in html
    for element in (x[2], x.array[2:3]):
        assert fp.explain(element)["float64"].value == float(np.float16(0.1))
