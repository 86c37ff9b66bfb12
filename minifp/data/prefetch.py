"""Preparing batches on a thread while others are used."""

import threading
from collections import deque
from contextvars import copy_context
from itertools import islice


def ahead(function, items, count: int):
    """Yield function(item) for each item in order, up to `count` of them computed beforehand.

    They are computed one at a time on one thread, in the context (active precision, np.errstate)
    that the consumer has when it asks; count 0 computes each when it is asked for, on the
    consumer's thread. An error is raised where its item would have come. The thread ends when this
    generator does: at its end, at an error or KeyboardInterrupt, when it is closed or dropped,
    each time after the item that it is computing.
    """
    if not count:
        yield from map(function, items)
        return
    from concurrent.futures import Future, ThreadPoolExecutor  # here, because it imports logging

    workers = []
    pool = ThreadPoolExecutor(1, "prefetch", lambda: workers.append(threading.current_thread()))
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
    finally:
        # A generator in a cycle may be collected on the worker, which cannot wait for itself.
        pool.shutdown(wait=threading.current_thread() not in workers, cancel_futures=True)
