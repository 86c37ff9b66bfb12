"""Another name of `minifp.data`."""

from typing import TYPE_CHECKING

from minifp.data import __all__  # noqa: F401
from minifp.runtime import late

if TYPE_CHECKING:  # imported when they are first asked for: see `late`
    from minifp.data import *  # noqa: F403
late.attach(__name__)
