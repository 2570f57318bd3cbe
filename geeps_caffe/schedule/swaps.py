"""Which storages leave the arena for a while, so that a byte budget is kept.

Start with everything resident from its first to its last touch. While some step
holds more than it may, that storage leaves in a gap between two of its touches
which relieves most for each byte that it moves: bytes over the limit times
instructions. In the end what left in vain (others that left later made room for it)
stays. A storage moves out only if it was written since it came in.
"""

from collections.abc import Collection, Mapping

import numpy as np

from geeps_caffe.device.array import Array
from geeps_caffe.schedule.choice import Candidates, Choice, by_storage, load_of
from geeps_caffe.schedule.lifetimes import Lifetime
from geeps_caffe.schedule.stays import Gap, Residency, gaps, stays


def plan_swaps(
    lives: Mapping[str, Lifetime],
    length: int,
    limit: Array | None = None,
    cuts: Collection[Gap] = (),
) -> list[Residency]:
    """The stays of all storages, within `limit` bytes where any limit can be kept.

    Args:
        length: number of instructions.
        limit: for each instruction the bytes that may be resident, not below
            `touched_bytes`; None: all stay.
        cuts: gaps in which their storages are away in any case.
    """
    whole = [s for life in lives.values() for s in stays(life, length, ())]
    if limit is None:
        return whole
    candidates = _candidates(lives, length)
    choice = Choice(candidates, length, load_of(whole, length), cuts)
    choice.leave(limit)
    choice.stay(limit)
    away = by_storage(choice.taken(), lives)
    return [s for n, life in lives.items() for s in stays(life, length, away[n])]


def _candidates(lives: Mapping[str, Lifetime], length: int) -> Candidates:
    found = [gap for life in lives.values() for gap in gaps(life, length)]
    return Candidates(
        found,
        np.array([g.after + 1 for g in found], np.int64),
        np.array([g.before for g in found], np.int64),
        np.array([g.nbytes * (g.after >= 0) for g in found], np.float64),
    )


def touched_bytes(lives: Mapping[str, Lifetime], length: int) -> Array:
    """Bytes that each instruction touches, with what is never away."""
    total = np.zeros(length, np.int64)
    for life in lives.values():
        if life.touches and life.pinned:
            total[life.touches[0] : life.touches[-1] + 1] += life.nbytes
        elif life.touches:
            total[list(life.touches)] += life.nbytes
        elif life.fixed:
            total += life.nbytes
    return total


def least_memory(lives: Mapping[str, Lifetime], length: int) -> int:
    """Bytes that the largest instruction touches: no budget below can do."""
    return int(touched_bytes(lives, length).max(initial=0))
