"""Another name of `minifp.data`."""

from minifp.data import *  # noqa: F403
from minifp.data import __all__  # noqa: F401
