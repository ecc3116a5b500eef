"""Threads that begin at the same moment."""

import threading
from concurrent.futures import ThreadPoolExecutor


def together(count, work):
    """What ``work(k)`` returns in each of ``count`` threads; what fails in one is raised here."""
    barrier = threading.Barrier(count)

    def begin(k):
        barrier.wait()
        return work(k)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(begin, range(count)))
