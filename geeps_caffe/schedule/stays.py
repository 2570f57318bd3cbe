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


def gaps(life: Lifetime, length: int) -> list[Gap]:
    """All times between two touches of a storage; some are empty.

    Where its value is asked for after the step, the time after the last touch is one;
    it reaches to the next step's first touch where the value is from before, too.
    """
    bounds = list(pairwise(life.touches))
    if life.to_after and life.touches:
        next_touch = life.touches[0] if life.from_before else 0
        bounds.append((life.touches[-1], length + next_touch))
    return [Gap(life.storage, life.nbytes, last, first) for last, first in bounds]


def stays(life: Lifetime, length: int, away: Iterable[Gap]) -> list[Residency]:
    """The stays of one storage, for those of its gaps in which it is away."""
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
        leaves = i < len(cuts)
        save = leaves and (i == 0 or _changed(life, start, end))
        lasts = life.to_after and not leaves
        found.append(
            Residency(life.storage, life.nbytes, start, end, i > 0, save, lasts)
        )
    return found


def _lasting(life: Lifetime, length: int, cuts: list[Gap]) -> list[Residency]:
    """The stays of a storage that holds its values from step to step."""
    name, nbytes = life.storage, life.nbytes
    if not cuts:
        return [Residency(name, nbytes, 0, length - 1, lasts=True)]
    ends = [c.after for c in cuts[1:]] + [cuts[0].after + length]
    found = []
    for start, end in zip([c.before for c in cuts], ends, strict=True):
        back = length if start >= length else 0
        start, end = start - back, end - back
        # What is in the arena between steps may be written there by the user.
        save = end >= length or _changed(life, start, end)
        found.append(Residency(name, nbytes, start, end, True, save, end >= length))
    return found


def _changed(life: Lifetime, start: int, end: int) -> bool:
    return any(start <= position <= end for position in life.written)
