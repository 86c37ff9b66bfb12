"""Another name of `minifp.data`."""

from minifp.data import *  # noqa: F403
