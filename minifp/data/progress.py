"""A bar for what takes its time."""

import time

PATIENCE = 2.0  # seconds before a progress bar is shown


def with_bar(items, what: str, total: int | None = None):
    """Yield items, with a progress bar as soon as it has taken longer than two seconds.

    total: how many there are, for those that have no length.
    """
    bar, started = None, time.monotonic()
    try:
        for i, item in enumerate(items):
            if bar is None and time.monotonic() - started > PATIENCE:
                from minifp.runtime.bars import tqdm

                bar = tqdm(total=len(items) if total is None else total, initial=i, desc=what)
            yield item
            if bar is not None:
                bar.update()
    finally:
        if bar is not None:
            bar.close()
