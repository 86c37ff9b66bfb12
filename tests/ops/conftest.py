"""torchvision, beside which what belongs to boxes is tested."""

import pytest


@pytest.fixture(scope="module")
def torchvision(torchvision):
    """torchvision, with what it compiled; its threads are slower than one here."""
    import torch

    if not torchvision.extension._has_ops():
        pytest.skip("what torchvision compiled is not for this PyTorch")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield torchvision
    torch.set_num_threads(before)
