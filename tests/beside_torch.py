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


def with_weights_of(theirs, ours):
    """Ours with PyTorch's weights, which must have the same names and shapes, in that order."""
    state = {n: t.detach().numpy() for n, t in theirs.state_dict().items()}
    mine = {n: (t.shape, t.dtype) for n, t in ours.state_dict().items()}
    assert list(mine.items()) == [(n, (a.shape, a.dtype)) for n, a in state.items()]
    ours.load_state_dict(state)
    return ours


def as_tuple(y):
    """Results as a tuple, also where there is one."""
    return tuple(y) if isinstance(y, tuple | list) else (y,)
