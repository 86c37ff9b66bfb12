"""torchvision, beside which what belongs to boxes is tested."""

import sys
from types import ModuleType

import pytest


@pytest.fixture(scope="module")
def torchvision():
    """torchvision, with what it compiled; its threads are slower than one here."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    sys.modules.setdefault("torchvision._meta_registrations", ModuleType("unused"))
    found = pytest.importorskip("torchvision", reason="parity is with torchvision")
    if not found.extension._has_ops():
        pytest.skip("what torchvision compiled is not for this PyTorch")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield found
    torch.set_num_threads(before)
