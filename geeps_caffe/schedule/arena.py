"""An offset in one block of memory for every stay of every storage."""

from collections.abc import Sequence
from dataclasses import dataclass

from geeps_caffe.device.array import aligned
from geeps_caffe.schedule.swaps import Residency


@dataclass(frozen=True)
class Place:
    """A stay and its offset in bytes from the start of the arena."""

    stay: Residency
    offset: int

    @property
    def end(self) -> int:
        """First byte after it."""
        return self.offset + aligned(self.stay.nbytes)


def place(stays: Sequence[Residency]) -> tuple[list[Place], int]:
    """Offsets such that no two stays that overlap in time overlap in memory.

    Large ones first, each at the lowest offset that is free for its whole time.

    Returns:
        the places, and the size of the arena in bytes.
    """
    placed: list[Place] = []
    for stay in sorted(stays, key=lambda s: (-s.nbytes, s.start, s.storage)):
        offset = _lowest(placed, stay)
        placed.append(Place(stay, offset))
    return placed, max((p.end for p in placed), default=0)


def _lowest(placed: Sequence[Place], stay: Residency) -> int:
    others = [
        p for p in placed if p.stay.start <= stay.end and stay.start <= p.stay.end
    ]
    offset = 0
    for other in sorted(others, key=lambda p: p.offset):
        if other.offset - offset >= aligned(stay.nbytes):
            break
        offset = max(offset, other.end)
    return offset
