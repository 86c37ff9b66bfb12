"""Preparing batches on a thread while others are used."""

from collections import deque
from contextvars import copy_context
from itertools import islice

from minifp.runtime.browser import IN_BROWSER


def ahead(function, items, count: int):
    """Yield function(item) for each item in order, up to `count` of them computed beforehand.

    They are computed one at a time on one thread, in the context (active precision, np.errstate)
    that the consumer has when it asks; count 0 computes each when it is asked for, on the
    consumer's thread, and so does a browser, which has no other. An error is raised where its item
    would have come. The thread ends when this generator does: at its end, at an error or
    KeyboardInterrupt, and when it is closed or dropped, which does not wait for the item that it is
    computing.
    """
    if not count or IN_BROWSER:
        yield from map(function, items)
        return
    from concurrent.futures import Future, ThreadPoolExecutor  # here, because it imports logging

    pool, waits = ThreadPoolExecutor(1, "prefetch"), True
    items = iter(items)
    pending: deque[Future] = deque()
    try:
        for item in islice(items, count):
            pending.append(pool.submit(copy_context().run, function, item))
        while pending:
            result = pending.popleft().result()
            for item in islice(items, 1):
                pending.append(pool.submit(copy_context().run, function, item))
            yield result
    except GeneratorExit:
        # Perhaps by the garbage collector, which runs anywhere: on the worker, which cannot wait
        # for itself, or while some lock is held that the worker needs to end.
        waits = False
        raise
    finally:
        pool.shutdown(wait=waits, cancel_futures=True)
