"""From when to when a storage is in the arena, given the gaps in which it is away."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from geeps_caffe.schedule.lifetimes import Lifetime


@dataclass(frozen=True)
class Gap:
    """The time between two touches, in which a storage may be away.

    `before` counts on into the next step where the gap is around the step's end.
    """

    storage: str
    nbytes: int
    after: int  # last touch before the gap
    before: int  # first touch after it


@dataclass(frozen=True)
class Residency:
    """A storage in the arena from instruction `start` to `end`, both included.

    An `end` beyond the last instruction is in the next step: what lies in the arena
    between two steps stays where it is.
    """

    storage: str
    nbytes: int
    start: int
    end: int
    fetch: bool = False  # its values come from host memory at the start
    save: bool = False  # its values go to host memory at the end
    lasts: bool = False  # it is there when the step is over
    lead: int = 0  # instructions between its fetch and its first touch
    linger: int = 0  # instructions between its last touch and the end of its save

    @property
    def first_touch(self) -> int:
        """The first instruction that uses it."""
        return self.start + self.lead

    @property
    def last_touch(self) -> int:
        """The last instruction that uses it."""
        return self.end - self.linger


def gaps(life: Lifetime, length: int) -> list[Gap]:
    """All times between two touches of a storage; some are empty.

    Where its value is asked for after the step, the time after the last touch is one;
    it reaches to the next step's first touch where the value is from before, too. A
    value from before that nothing touches may be away all the time, from -1 on.
    """
    if life.pinned:
        return []
    if life.from_before and not (life.touches or life.fixed):
        return [Gap(life.storage, life.nbytes, -1, length)]
    bounds = list(pairwise(life.touches))
    if life.to_after and life.touches:
        next_touch = life.touches[0] if life.from_before else 0
        bounds.append((life.touches[-1], length + next_touch))
    return [Gap(life.storage, life.nbytes, last, first) for last, first in bounds]


def stays(life: Lifetime, length: int, away: Iterable[Gap]) -> list[Residency]:
    """The stays of one storage, for those of its gaps in which it is away.

    It is copied out if it was written since it came in and is needed again, and in if
    the next touch needs what it held.
    """
    cuts = sorted(away, key=lambda gap: gap.after)
    if life.from_before:
        return _lasting(life, length, cuts)
    if not life.touches:
        return []
    last = length - 1 if life.to_after else life.touches[-1]
    starts = [life.touches[0], *(c.before for c in cuts if c.before < length)]
    ends = [*(c.after for c in cuts), last][: len(starts)]
    found = []
    for i, (start, end) in enumerate(zip(starts, ends, strict=True)):
        cut = cuts[i] if i < len(cuts) else None
        fetch = start in life.read if i > 0 else life.from_host
        changed = not fetch or _changed(life, start, end)
        save = changed and (life.to_host if cut is None else _needed(life, cut, length))
        lasts = life.to_after and cut is None
        found.append(
            Residency(life.storage, life.nbytes, start, end, fetch, save, lasts)
        )
    return found


def _lasting(life: Lifetime, length: int, cuts: list[Gap]) -> list[Residency]:
    """The stays of a storage that holds its values from step to step."""
    name, nbytes = life.storage, life.nbytes
    if not cuts:
        return [Residency(name, nbytes, 0, length - 1, lasts=True)]
    if not life.touches:
        return []
    found = []
    for i, cut in enumerate(cuts):
        following = cuts[(i + 1) % len(cuts)]
        start = cut.before % length
        end = following.after + (length if following.after < start else 0)
        # What is in the arena between steps may be written there by the user.
        changed = end >= length or _changed(life, start, end)
        save = changed and _needed(life, following, length)
        fetch = start in life.read
        found.append(Residency(name, nbytes, start, end, fetch, save, end >= length))
    return found


def _changed(life: Lifetime, start: int, end: int) -> bool:
    return any(start <= position <= end for position in life.written)


def _needed(life: Lifetime, gap: Gap, length: int) -> bool:
    """Whether what a storage holds before a gap is asked for after it."""
    return gap.before >= length or gap.before in life.read
