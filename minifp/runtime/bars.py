"""tqdm's progress bars, as all of minifp shows them.

Whoever shows one imports this then, and not before: tqdm looks for a notebook's widgets when it is
imported.
"""

from tqdm.auto import tqdm

from minifp.runtime.browser import IN_BROWSER

if IN_BROWSER:
    tqdm.monitor_interval = 0  # its monitor is a thread

__all__ = ["tqdm"]
