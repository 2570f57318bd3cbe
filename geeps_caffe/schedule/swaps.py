"""Which storages leave the arena for a while, so that a byte budget is kept.

Start with everything resident from its first to its last touch. While some step
holds more than the budget, one storage that the step does not touch leaves in the
gap between two of its touches: the largest, and of equal ones that with the
longest gap (each swapped byte then frees most bytes for longest). A storage moves
out only if it was written since it came in.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from geeps_caffe.errors import PlanError
from geeps_caffe.schedule.lifetimes import Lifetime


@dataclass(frozen=True)
class Residency:
    """A storage in the arena from instruction `start` to `end`, both included."""

    storage: str
    nbytes: int
    start: int
    end: int
    fetch: bool = False  # its values come from host memory at the start
    save: bool = False  # its values go to host memory at the end


@dataclass(frozen=True)
class Gap:
    """The time between two touches in which a storage may be away."""

    storage: str
    nbytes: int
    after: int  # last touch before
    before: int  # first touch after; beyond the last instruction: the next step's


def resident(lifetime: Lifetime, length: int, away: Iterable[Gap]) -> list[Residency]:
    """The stays of one storage in the arena, given the gaps in which it is away."""
    if not lifetime.touches:
        return [] if not lifetime.to_after else _whole(lifetime, length)
    gaps = sorted(away, key=lambda gap: gap.after)
    wrap = [gap for gap in gaps if gap.before >= length]
    gaps = [gap for gap in gaps if gap.before < length]
    start = lifetime.touches[0] if wrap or not lifetime.from_before else 0
    bounds = [start]
    for gap in gaps:
        bounds += [gap.after, gap.before]
    last = lifetime.touches[-1] if wrap or not lifetime.to_after else length - 1
    bounds.append(last)
    stays = []
    fetched = bool(wrap) and lifetime.from_before
    for i in range(0, len(bounds), 2):
        first, final = bounds[i], bounds[i + 1]
        leaves = i + 2 < len(bounds) or bool(wrap)
        changed = any(first <= w <= final for w in lifetime.written)
        fetch = i > 0 or fetched
        stays.append(
            Residency(
                lifetime.storage,
                lifetime.nbytes,
                first,
                final,
                fetch=fetch,
                save=leaves and (changed or not fetch),
            )
        )
    return stays


def plan_swaps(
    lives: Mapping[str, Lifetime], length: int, budget: int | None
) -> list[Residency]:
    """The stays of all storages, within `budget` bytes at every instruction.

    Raises:
        PlanError: a single instruction touches more than the budget.
    """
    away: dict[str, list[Gap]] = {name: [] for name in lives}
    stays = {name: resident(life, length, ()) for name, life in lives.items()}
    if budget is None:
        return [stay for found in stays.values() for stay in found]
    load = _load(stays, length)
    while load and max(load) > budget:
        peak = max(range(length), key=load.__getitem__)
        gap = _best_gap(lives, stays, peak, length)
        if gap is None:
            raise PlanError(_too_small(lives, length, budget))
        name = gap.storage
        away[name].append(gap)
        _add(load, stays[name], -1)
        stays[name] = resident(lives[name], length, away[name])
        _add(load, stays[name], 1)
    return [stay for found in stays.values() for stay in found]


def least_memory(lives: Mapping[str, Lifetime], length: int) -> int:
    """Bytes that the largest instruction touches: no budget below can do."""
    return max(_touched_bytes(lives, length), default=0)


def _best_gap(
    lives: Mapping[str, Lifetime],
    stays: Mapping[str, list[Residency]],
    peak: int,
    length: int,
) -> Gap | None:
    best: tuple[int, int] | None = None
    found: Gap | None = None
    for name, life in lives.items():
        if not any(s.start <= peak <= s.end for s in stays[name]):
            continue
        gap = _gap_at(life, peak, length)
        if gap is None:
            continue
        rank = (gap.nbytes, gap.before - gap.after)
        if best is None or rank > best:
            best, found = rank, gap
    return found


def _gap_at(life: Lifetime, position: int, length: int) -> Gap | None:
    """The gap of a storage around a position; None if it is touched there."""
    if position in life.touches:
        return None
    before = [t for t in life.touches if t < position]
    after = [t for t in life.touches if t > position]
    if before and after:
        return Gap(life.storage, life.nbytes, before[-1], after[0])
    if not life.to_after or not life.touches:
        return None
    return Gap(life.storage, life.nbytes, life.touches[-1], life.touches[0] + length)


def _load(stays: Mapping[str, list[Residency]], length: int) -> list[int]:
    load = [0] * length
    for found in stays.values():
        _add(load, found, 1)
    return load


def _add(load: list[int], stays: Iterable[Residency], sign: int) -> None:
    for stay in stays:
        for position in range(stay.start, stay.end + 1):
            load[position] += sign * stay.nbytes


def _whole(lifetime: Lifetime, length: int) -> list[Residency]:
    return [Residency(lifetime.storage, lifetime.nbytes, 0, length - 1)]


def _touched_bytes(lives: Mapping[str, Lifetime], length: int) -> list[int]:
    total = [0] * length
    for life in lives.values():
        for position in life.touches:
            total[position] += life.nbytes
    return total


def _too_small(lives: Mapping[str, Lifetime], length: int, budget: int) -> str:
    total = _touched_bytes(lives, length)
    worst = sorted(range(length), key=total.__getitem__, reverse=True)[:3]
    lines = []
    for position in worst:
        parts = sorted(
            (life for life in lives.values() if position in life.touches),
            key=lambda life: -life.nbytes,
        )
        names = ", ".join(f"{p.storage} {p.nbytes:,}" for p in parts[:4])
        lines.append(f"instruction {position} needs {total[position]:,} ({names})")
    return (
        f"a budget of {budget:,} bytes is too small: " + "; ".join(lines) + ". Give at "
        f"least {max(total):,} bytes, or make the batch smaller"
    )
