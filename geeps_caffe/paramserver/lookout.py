"""How a thread waits for news: it looks often where news has come soon, else it sleeps.

To wake a sleeping thread takes 5 to 200 us, on virtual processors most: more than all
the rest of a small table's way. To look without an end would take the core from those
who compute. So a wait begins with looks only if the wait before it was over soon, and
the core is offered to others between two looks.
"""

import os
import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

SOON_SECONDS = 0.0005  # waits in training take milliseconds: they are slept through
_offer: Callable[[], None] = getattr(os, "sched_yield", partial(time.sleep, 0))
T = TypeVar("T")


class Lookout:
    """Waits of one thread for one thing.

    Args:
        clock: gives seconds.
        offer: lets other threads have the core, if any want it.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.perf_counter,
        offer: Callable[[], None] = _offer,
    ) -> None:
        self._clock, self._offer = clock, offer
        self._soon = False  # whether the last wait was over soon

    def wait(self, look: Callable[[float], T], timeout: float) -> T:
        """What `look` found, if anything: it is told how many seconds it may sleep."""
        found = look(0.0)
        if found or timeout <= 0.0:
            return found
        end = self._clock() + min(SOON_SECONDS, timeout)
        while self._soon and not found and self._clock() < end:
            self._offer()
            found = look(0.0)
        if not found:
            found = look(timeout)
        self._soon = bool(found) and self._clock() < end
        return found
