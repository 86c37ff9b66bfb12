"""Another name of `minifp.nn.functional`."""

from minifp.nn.functional import *  # noqa: F403
