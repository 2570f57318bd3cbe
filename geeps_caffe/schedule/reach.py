"""Room for copies: stays begin before they are used and end after it.

Each direction has one copy engine. Copies out are done as soon as they can be, one
after the other; copies in as late as they can be. From when one begins or until when it
runs its storage has a place, so that neither computing nor another copy waits for it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from geeps_caffe.schedule.lifetimes import Lifetime
from geeps_caffe.schedule.stays import Residency
from geeps_caffe.schedule.timeline import Timeline


@dataclass(frozen=True)
class Problem:
    """What all placements of a program have in common."""

    lives: Mapping[str, Lifetime]
    length: int
    time: Timeline


def reaching(
    found: Iterable[Residency], problem: Problem, share: float
) -> list[Residency]:
    """Stays with room for a share of the time that their copies take and wait."""
    found = list(found)
    if not share:
        return found
    return _led(_lingering(found, problem, share), problem, share)


def _lingering(
    found: list[Residency], problem: Problem, share: float
) -> list[Residency]:
    time, length, engine = problem.time, problem.length, 0.0
    changed = dict(enumerate(found))
    saved = [i for i, stay in changed.items() if stay.save and stay.end < length]
    for i in sorted(saved, key=lambda i: found[i].end):
        stay = found[i]
        begin = float(time.starts[stay.end + 1])
        engine = max(engine, begin) + time.costs.out_seconds(stay.nbytes)
        late = min(time.done_by(stay.end, share * (engine - begin)), length) - 1
        linger = max(0, late - stay.end)
        changed[i] = replace(stay, end=stay.end + linger, linger=linger)
    return list(changed.values())


def _led(found: list[Residency], problem: Problem, share: float) -> list[Residency]:
    time, engine = problem.time, float("inf")
    changed = dict(enumerate(found))
    fetched = [i for i, stay in changed.items() if stay.fetch]
    for i in sorted(fetched, key=lambda i: -found[i].start):
        stay = found[i]
        need = float(time.starts[stay.start])
        engine = min(engine, need) - time.costs.in_seconds(stay.nbytes)
        early = time.begun_by(stay.start, share * (need - engine))
        early = max(early, problem.lives[stay.storage].ready)
        lead = max(0, stay.start - early)
        changed[i] = replace(stay, start=stay.start - lead, lead=lead)
    return list(changed.values())
