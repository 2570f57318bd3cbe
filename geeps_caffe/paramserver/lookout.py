"""How a thread waits for news: it looks often where news has come soon, else it sleeps.

To wake a sleeping thread takes 5 to 200 us, on virtual processors most: more than all
the rest of a small table's way. To look without an end would take the core from those
who compute. So a wait begins with looks only if the wait before it was over soon, and
the core is offered to others between two looks. Who takes it to compute gives it back
only milliseconds later; a sleeping thread gets it at once. So then there are no more
looks for a while: a short one at first, as it may have been something short, and up to
a second where it happens again.
"""

import os
import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

SOON_SECONDS = 0.0005  # waits in training take milliseconds: they are slept through
TAKEN_SECONDS = 0.0001  # more than others of this kind need a core for
#: Where several hosts' agents share the cores, theirs and their networks' threads do.
CLUSTER_TAKEN_SECONDS = 0.0005
#: Without looks, where others compute; the core may also be taken by something short.
FIRST_PAUSE_SECONDS, LAST_PAUSE_SECONDS = 0.005, 1.0
_offer: Callable[[], None] = getattr(os, "sched_yield", partial(time.sleep, 0))
T = TypeVar("T")


class Lookout:
    """Waits of one thread for one thing.

    Args:
        clock: gives seconds.
        offer: lets other threads have the core, if any want it.
        soon: seconds of looks; 0: there are none.
        taken: seconds after which who took the core is held to compute.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.perf_counter,
        offer: Callable[[], None] = _offer,
        soon: float = SOON_SECONDS,
        taken: float = TAKEN_SECONDS,
    ) -> None:
        self._clock, self._offer = clock, offer
        self._looks, self._taken = soon, taken
        self._soon = False  # whether the last wait was over soon
        self._paused = 0.0  # until when there are no looks
        self._pause = FIRST_PAUSE_SECONDS  # how long the next one is

    def wait(self, look: Callable[[float], T], timeout: float) -> T:
        """What `look` found, if anything: it is told how many seconds it may sleep."""
        found = look(0.0)
        if found or timeout <= 0.0:
            return found
        now = self._clock()
        end = now + min(self._looks, timeout)
        while self._soon and not found and self._paused <= now < end:
            self._offer()
            found = look(0.0)
            before, now = now, self._clock()
            if now - before > self._taken:
                self._paused = now + self._pause
                self._pause = min(2 * self._pause, LAST_PAUSE_SECONDS)
        if found:
            self._pause = max(0.9 * self._pause, FIRST_PAUSE_SECONDS)
        else:
            found = look(timeout)
        self._soon = bool(found) and self._clock() < end
        return found
