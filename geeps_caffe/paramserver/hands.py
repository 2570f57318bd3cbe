"""Threads that do the arithmetic of a large table together.

NumPy lets go of Python's lock while it computes, and one thread can't move memory as
fast as the memory goes. Each takes a chunk as soon as it has done with one, so none
waits long for the others.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait


class Hands:
    """The calling thread and others, which begin with the first call.

    Args:
        count: of all of them; 1: there are no others.
    """

    def __init__(self, count: int = 1) -> None:
        self.count = count
        self._others = ThreadPoolExecutor(max(1, count - 1), "arithmetic")

    def share(self, do: Callable[[int], None]) -> None:
        """Call `do` with each number below `count`, all at once; wait for all.

        Raises:
            Exception: what one of them has raised.
        """
        if self.count == 1:
            do(0)
            return
        others = [self._others.submit(do, n) for n in range(1, self.count)]
        try:
            do(0)
        finally:
            wait(others)
        for other in others:
            other.result()

    def close(self) -> None:
        """End the other threads."""
        self._others.shutdown()
