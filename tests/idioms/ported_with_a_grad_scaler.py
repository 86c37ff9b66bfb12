"""The first lines of a PyTorch script, with the names changed and nothing else."""

# raises: ImportError: instead: fp.MixedOptimizer, which has the loss scale

import minifp as fp

device = "cpu"
try:
    device = fp.device("cuda" if fp.cuda.is_available() else "cpu")
except AttributeError as error:
    assert "minifp doctor" in str(error)

from minifp import GradScaler  # noqa: E402, F401
