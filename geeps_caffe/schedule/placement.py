"""What stays resident, by time: gaps are taken that cost least for what they relieve.

As `swaps.py`, but a gap costs seconds instead of bytes: those of its copies that the
computing between its touches does not hide, and a share of all, since copies wait for
each other. And a gap relieves only the time when neither of its copies runs: the memory
that a prefetch needs is planned for from the start.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from geeps_caffe.device.array import Array
from geeps_caffe.schedule.choice import Candidates, Choice, by_storage, load_of
from geeps_caffe.schedule.lifetimes import Lifetime
from geeps_caffe.schedule.reach import Problem, reaching
from geeps_caffe.schedule.stays import Gap, Residency, gaps, stays
from geeps_caffe.schedule.timeline import Timeline


@dataclass(frozen=True)
class Aim:
    """What a placement tries: one of several, of which the best is kept."""

    reach: float  # share of a copy's time that the arena keeps room for
    hidden: float  # what a hidden second of copying costs, in seconds of stall


def place_by_time(
    problem: Problem, limit: Array, aim: Aim, dear: Mapping[str, float]
) -> list[Residency]:
    """The stays of all storages, within `limit` bytes where gaps allow it.

    Args:
        dear: by storage, by how much more its copies cost than they seem to.
    """
    lives, length = problem.lives, problem.length
    whole = [s for life in lives.values() for s in stays(life, length, ())]
    whole = reaching(whole, problem, aim.reach)
    choice = Choice(_candidates(problem, aim, dear), length, load_of(whole, length))
    choice.leave(limit)
    choice.stay(limit)
    away = by_storage(choice.taken(), lives)
    chosen = [s for n, life in lives.items() for s in stays(life, length, away[n])]
    return reaching(chosen, problem, aim.reach)


def _candidates(problem: Problem, aim: Aim, dear: Mapping[str, float]) -> Candidates:
    lives, length, time = problem.lives, problem.length, problem.time
    found = [gap for life in lives.values() for gap in gaps(life, length)]
    first, end, price = [], [], []
    for gap in found:
        out, back = _copies(lives[gap.storage], gap, length, time)
        first.append(min(time.done_by(gap.after, out * aim.reach), gap.before))
        end.append(max(time.begun_by(gap.before, back * aim.reach), first[-1]))
        stall = max(0.0, out + back - time.window(gap))
        factor = dear.get(gap.storage, 1.0)
        price.append(factor * (stall + aim.hidden * (out + back)) + 1e-9)
    return Candidates(
        found, np.array(first, np.int64), np.array(end, np.int64), np.array(price)
    )


def _copies(
    life: Lifetime, gap: Gap, length: int, time: Timeline
) -> tuple[float, float]:
    """Seconds out and in, for a gap of its own; nothing where no value is needed."""
    if gap.after < 0:
        return 0.0, 0.0  # always away
    needed = gap.before >= length or gap.before in life.read
    written = any(p <= gap.after for p in life.written) or life.from_before
    out = time.costs.out_seconds(gap.nbytes) if needed and written else 0.0
    back = time.costs.in_seconds(gap.nbytes) if needed else 0.0
    return out, back
