"""What tests share that hold results against PyTorch's."""

import pytest


@pytest.fixture(autouse=True, scope="module")
def one_thread_of_torch():
    """PyTorch's threads are slower than one on arrays of these sizes."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def as_tuple(y):
    """Results as a tuple, also where there is one."""
    return tuple(y) if isinstance(y, tuple | list) else (y,)
