"""The first lines of a PyTorch script, with the names changed and nothing else."""

# raises: ImportError: instead: fp.MixedOptimizer, which has the loss scale

import minifp as fp

has_gpu, device = False, "cpu"
try:
    has_gpu = fp.cuda.is_available()
except AttributeError as error:
    assert "minifp doctor" in str(error)
try:
    device = fp.device("cuda" if has_gpu else "cpu")
except AttributeError as error:
    assert 'a text, "cpu" or "cuda"' in str(error)

from minifp import GradScaler  # noqa: E402, F401
