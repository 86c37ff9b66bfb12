"""What tests of layers and networks share."""

import sys
from types import ModuleType

import pytest


@pytest.fixture(scope="session")
def torchvision():
    """torchvision's sources, also where what it compiled does not fit to the PyTorch there is."""
    pytest.importorskip("torch", reason="PyTorch is not installed (pip install minifp[parity])")
    sys.modules.setdefault("torchvision._meta_registrations", ModuleType("unused"))
    return pytest.importorskip("torchvision", reason="parity is with torchvision")
