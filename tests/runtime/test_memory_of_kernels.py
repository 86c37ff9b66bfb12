"""Claims about the memory that compiled kernels take."""

from pathlib import Path

import pytest

from minifp.runtime import cpu

STATM = Path("/proc/self/statm")
TEXT = """
target triple = "{triple}"
define void @scaled(float* %x) {{
  %y = load float, float* %x
  %z = fmul float %y, 2.0
  store float %z, float* %x
  ret void
}}
"""


@pytest.mark.skipif(not cpu.can_compile(), reason="nothing is compiled")
@pytest.mark.skipif(not STATM.exists(), reason="no /proc to read the memory of a process from")
def test_what_compiled_a_kernel_is_freed():
    """llvmlite would leave 100 KiB of each, on thousands of kernels gigabytes."""
    from minifp.runtime.cpu.compile import machine

    def pages():
        return int(STATM.read_text(encoding="utf-8").split()[1])

    def compiled(count):
        for _ in range(count):
            machine.object_code(TEXT.format(triple=machine.TRIPLE))

    compiled(10)
    before = pages()
    compiled(100)
    assert (pages() - before) * 4 < 100 * 25  # KiB
