"""Arrays that another thread makes, somewhat in advance of their use."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

from geeps_caffe.device.array import Array

MOST = 64 << 20  # bytes


class Job(NamedTuple):
    """A call that makes an array of so many bytes."""

    nbytes: int
    make: Callable[[], Array]


def in_advance(jobs: Iterable[Job], most: int = MOST) -> Iterator[Array]:
    """What the jobs make, in their order; one after the other on another thread.

    Args:
        jobs: the calls.
        most: bytes that are made in advance. A job of more is made nevertheless.
    """
    row: deque[tuple[int, Future[Array]]] = deque()
    total = 0
    with ThreadPoolExecutor(1) as pool:
        for job in jobs:
            while row and total + job.nbytes > most:
                nbytes, made = row.popleft()
                total -= nbytes
                yield made.result()
            row.append((job.nbytes, pool.submit(job.make)))
            total += job.nbytes
        while row:
            yield row.popleft()[1].result()
