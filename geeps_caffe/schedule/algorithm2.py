"""GeePS's own placement (the paper's Algorithm 2, as its code has it), on a recording.

GPU memory has three parts: pinned local arrays, pinned parameter tables, and a pool of
access buffers that everything else passes through. The pool has twice the peak of
what is open at one time, so that the next buffers fill while the present ones are used.
Local arrays that are open at the peak are pinned first, since each lowers the peak,
then other local arrays, then tables. It works in rows of 512 bytes and knows neither
bandwidth nor computing time. Our own planner is `search.py`; this is its yardstick.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from geeps_caffe.errors import PlanError
from geeps_caffe.schedule.recording import Access

ROW_BYTES = 512
CLOSES = {
    "post_local_access": "local_access",
    "post_read": "read",
    "update": "pre_update",
}
_LOCAL = "local_access"
#: mm_warning_level -> what a plan of that level guarantees.
LEVELS = (
    "nothing",
    "double buffering",
    "all local arrays in GPU memory",
    "all parameters in GPU memory",
)


@dataclass(frozen=True)
class Placement:
    """What is pinned; sizes are in rows."""

    capacity: int
    peak: int  # most rows open at one time in the pool
    pool: int
    locals_: frozenset[str]  # pinned local arrays
    tables: frozenset[str]  # pinned tables

    @property
    def double_buffered(self) -> bool:
        """Whether the next buffers can always fill while the present ones are used."""
        return self.pool >= 2 * self.peak


@dataclass(frozen=True)
class Run:
    """Opens without a counted close in between, at which most rows are open."""

    rows: int
    second: int  # the next best
    start: int  # the first of its accesses
    end: int  # the close that ends it


def place_rows(
    accesses: Sequence[Access],
    capacity_bytes: int,
    level: int = 0,
    scratch: bool = False,
) -> Placement:
    """Algorithm 2.

    Args:
        accesses: one clock.
        capacity_bytes: GPU memory for everything here.
        level: GeePS's mm_warning_level: what must hold, see LEVELS.
        scratch: pin arrays that are never fetched or kept as well: so says the paper,
            while its code leaves them to the pool.

    Raises:
        PlanError: the capacity is below twice the peak with nothing pinned (the
            original asks for that much in any case), or the level can't be kept.
    """
    capacity = capacity_bytes // ROW_BYTES
    wanted = _pinnable(accesses, scratch)
    first = peak_run(accesses, frozenset())
    if capacity < 2 * first.rows:
        raise PlanError(_too_small(accesses, capacity, first))
    pinned = _pin_locals(accesses, wanted, capacity)
    if level >= 2 and len(pinned) < len(wanted):
        raise PlanError(_level(level, sorted(set(wanted) - pinned), capacity_bytes))
    peak = peak_run(accesses, pinned).rows
    used = sum(wanted[name] for name in pinned)
    tables = _pin_tables(accesses, capacity - used - 2 * peak)
    left = [name for name in table_rows(accesses) if name not in tables]
    if level >= 3 and left:
        raise PlanError(_level(level, left, capacity_bytes))
    used += sum(2 * table_rows(accesses)[name] for name in tables)
    return Placement(capacity, peak, capacity - used, pinned, tables)


def least_capacity(accesses: Sequence[Access]) -> int:
    """Bytes below which Algorithm 2 refuses: twice the peak with nothing pinned."""
    return 2 * peak_run(accesses, frozenset()).rows * ROW_BYTES


def whole_capacity(accesses: Sequence[Access], scratch: bool = True) -> int:
    """Bytes with which everything is pinned, and `scratch` as in `place_rows`."""
    wanted = _pinnable(accesses, scratch)
    peak = peak_run(accesses, frozenset(wanted)).rows
    tables = 2 * sum(table_rows(accesses).values())
    return (sum(wanted.values()) + 2 * peak + tables) * ROW_BYTES


def moved_bytes(accesses: Sequence[Access], placement: Placement) -> int:
    """Bytes that cross between host and GPU in one clock for want of memory.

    Tables that are not pinned come in at each read and leave at each update; the
    traffic of pinned ones with the parameter server is not counted.
    """
    moved, sizes = 0, local_rows(accesses)
    for access in accesses:
        pinned = access.name in placement.locals_
        if access.call in (_LOCAL, "post_local_access"):
            copied = not pinned and (access.fetch or access.keep)
            moved += sizes[access.name] * copied
        elif access.call in ("read", "update"):
            moved += rows_of(access) * (access.name not in placement.tables)
    return moved * ROW_BYTES


# -- what a recording holds ----------------------------------------------------


def rows_of(access: Access) -> int:
    """Rows that an access opens or closes."""
    return -(-access.nbytes // ROW_BYTES)


def table_rows(accesses: Sequence[Access]) -> dict[str, int]:
    """Rows of every table that is read or updated, in order of first use."""
    rows: dict[str, int] = {}
    for access in accesses:
        if access.call in ("read", "pre_update"):
            rows[access.name] = max(rows.get(access.name, 0), rows_of(access))
    return rows


def local_rows(accesses: Sequence[Access]) -> dict[str, int]:
    """Rows of every local array, in order of first use."""
    return {a.name: rows_of(a) for a in accesses if a.call == _LOCAL}


def open_rows(
    accesses: Sequence[Access], pinned: frozenset[str]
) -> Iterator[tuple[Access, int]]:
    """Each access, and the rows open in the pool after it."""
    now, sizes = 0, local_rows(accesses)
    for access in accesses:
        local = access.call in (_LOCAL, "post_local_access")
        if not (local and access.name in pinned):
            rows = sizes[access.name] if local else rows_of(access)
            now += rows if access.call in CLOSES.values() else 0
            now -= rows if access.call in CLOSES else 0
        yield access, now


def peak_run(accesses: Sequence[Access], pinned: frozenset[str]) -> Run:
    """Where most rows are open in the pool, when `pinned` is not counted."""
    best, second, at, end = 0, 0, 0, 0
    start, before = 0, 0
    rising = False
    for i, (_, now) in enumerate(open_rows(accesses, pinned)):
        if now > before and not rising:
            start, rising = i, True
        if now < before and rising:
            rising = False
            if before > best:
                best, second, at, end = before, best, start, i
            else:
                second = max(second, before)
        before = now
    return Run(best, second, at, end)


# -- steps ---------------------------------------------------------------------


def _pinnable(accesses: Sequence[Access], scratch: bool) -> dict[str, int]:
    """Rows of local arrays whose values outlive an access, or of all."""
    if scratch:
        return local_rows(accesses)
    names = {
        a.name
        for a in accesses
        if a.call in (_LOCAL, "post_local_access") and (a.fetch or a.keep)
    }
    return {n: rows for n, rows in local_rows(accesses).items() if n in names}


def _pin_locals(
    accesses: Sequence[Access], wanted: dict[str, int], capacity: int
) -> frozenset[str]:
    """Local arrays to pin: all if they fit, else those of the peak first."""
    if sum(wanted.values()) + 2 * peak_run(accesses, frozenset()).rows <= capacity:
        return frozenset(wanted)
    pinned: frozenset[str] = frozenset()
    while len(pinned) < len(wanted):
        run = peak_run(accesses, pinned)
        used = sum(wanted[name] for name in pinned)
        more = _lower_the_peak(accesses, wanted, pinned, run, capacity - used)
        if not more:
            more = _fill(wanted, pinned, run, capacity - used)
        if not more:
            break
        pinned |= more
    return pinned


def _lower_the_peak(
    accesses: Sequence[Access],
    wanted: dict[str, int],
    pinned: frozenset[str],
    run: Run,
    free: int,
) -> frozenset[str]:
    """The first array opened in the peak's run with whose pin the rest still fits."""
    for access in accesses[run.start : run.end]:
        size = wanted.get(access.name)
        if access.call != _LOCAL or size is None or access.name in pinned:
            continue
        if size + 2 * max(run.rows - size, run.second) <= free:
            return frozenset({access.name})
    return frozenset()


def _fill(
    wanted: dict[str, int], pinned: frozenset[str], run: Run, free: int
) -> frozenset[str]:
    """All further arrays that fit beside the pool, in order of first use."""
    more, used = set(), 2 * run.rows
    for name, size in wanted.items():
        if name not in pinned and used + size <= free:
            more.add(name)
            used += size
    return frozenset(more)


def _pin_tables(accesses: Sequence[Access], free: int) -> frozenset[str]:
    """Tables that fit, in order of first use; each takes a cache and update rows."""
    pinned, used = set(), 0
    for name, rows in table_rows(accesses).items():
        if used + 2 * rows <= free:
            pinned.add(name)
            used += 2 * rows
    return frozenset(pinned)


# -- words ---------------------------------------------------------------------


def _too_small(accesses: Sequence[Access], capacity: int, run: Run) -> str:
    opened = accesses[run.start : run.end]
    sizes = {a.name: rows_of(a) for a in opened if a.call in CLOSES.values()}
    largest = sorted(sizes.items(), key=lambda item: -item[1])[:3]
    names = ", ".join(f"{name} {rows * ROW_BYTES:,}" for name, rows in largest)
    return (
        f"GeePS's planner needs {2 * run.rows * ROW_BYTES:,} bytes, twice what is open "
        f"at the peak (most of it: {names}); {capacity * ROW_BYTES:,} are given. Give "
        "more, or use the cost-aware planner, which needs no double buffer"
    )


def _level(level: int, names: Sequence[str], capacity_bytes: int) -> str:
    shown = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
    return (
        f"mm_warning_level {level} asks for {LEVELS[level]}, but with "
        f"{capacity_bytes:,} bytes there is no room for {shown}; give more memory or "
        "a lower level"
    )
