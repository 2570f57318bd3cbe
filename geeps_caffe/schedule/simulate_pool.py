"""GeePS's own run of a recording on paper: Algorithm 2's pool and its two threads.

The allocator walks the recording ahead of the program: for each opening call it takes
rows of the pool, as soon as enough are free, and fills them. The program computes when
all that a layer opens is filled. The reclaimer walks behind, writes back what is kept
and frees the rows. Each of the three does one thing after the other. No call depends on
a later one, so one walk over the recording finds all times.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from geeps_caffe.schedule.algorithm2 import (
    ROW_BYTES,
    Placement,
    local_rows,
    rows_of,
)
from geeps_caffe.schedule.costs import Device
from geeps_caffe.schedule.layer_schedule import COMPUTE
from geeps_caffe.schedule.recording import Access

CLOCKS = 4  # replayed; the last one counts


def simulate_pool(
    accesses: Sequence[Access],
    placement: Placement,
    seconds: Mapping[str, float],
    device: Device,
    tables_at: float | None = None,
) -> float:
    """Seconds of one clock.

    Args:
        seconds: by name, of the recording's compute marks.
        device: how fast copies and gathers are.
        tables_at: bytes per second of tables that are in host memory (GeePS had them
            in pageable memory behind one lock); None: as fast as other copies.
    """
    replay = _Replay(placement, seconds, device, local_rows(accesses), tables_at)
    ends = [0.0]
    for _ in range(CLOCKS):
        for access in accesses:
            replay.run(access)
        ends.append(replay.program)
    return ends[-1] - ends[-2]


@dataclass
class _Replay:
    placement: Placement
    seconds: Mapping[str, float]
    device: Device
    sizes: Mapping[str, int]  # rows of local arrays
    tables_at: float | None = None
    program: float = 0.0  # when each of the three is done with what it was given
    allocator: float = 0.0
    reclaimer: float = 0.0
    _filled: float = 0.0  # when all that was opened last is there
    _free: int = field(init=False)
    _freed: deque[tuple[float, int]] = field(default_factory=deque)
    _fresh: dict[str, float] = field(default_factory=dict)  # by table

    def __post_init__(self) -> None:
        self._free = self.placement.pool

    def run(self, access: Access) -> None:
        """Take the next access."""
        match access.call:
            case "read" | "pre_update" | "local_access":
                self._open(access)
            case "post_read" | "update" | "post_local_access":
                self._close(access)
            case _ if access.call == COMPUTE:
                start = max(self.program, self._filled)
                self.program = start + self.seconds[access.name]

    def _open(self, access: Access) -> None:
        if self._pinned(access):
            return
        self._take(self._rows(access))
        if access.call == "read":
            self.allocator = max(self.allocator, self._fresh.get(access.name, 0.0))
        self.allocator += self._fill(access)
        self._filled = max(self._filled, self.allocator)

    def _take(self, rows: int) -> None:
        """Wait until so many rows of the pool are free."""
        while self._free < rows:
            at, freed = self._freed.popleft()
            self.allocator = max(self.allocator, at)
            self._free += freed
        self._free -= rows

    def _fill(self, access: Access) -> float:
        nbytes = self._rows(access) * ROW_BYTES
        if access.call == "read" and access.name in self.placement.tables:
            return 2 * nbytes / self.device.memory  # a gather
        if access.call == "read":
            return nbytes / (self.tables_at or self.device.copy_in)
        return nbytes / self.device.copy_in if access.fetch else 0.0

    def _close(self, access: Access) -> None:
        if self._pinned(access):
            return
        self.reclaimer = max(self.reclaimer, self.program) + self._write_back(access)
        self._freed.append((self.reclaimer, self._rows(access)))
        if access.call == "update":
            nbytes = self._rows(access) * ROW_BYTES
            there = nbytes / self.device.copy_out if self._cached(access) else 0.0
            back = nbytes / self.device.copy_in if self._cached(access) else 0.0
            self._fresh[access.name] = self.reclaimer + there + back

    def _write_back(self, access: Access) -> float:
        nbytes = self._rows(access) * ROW_BYTES
        if access.call == "update" and self._cached(access):
            return 3 * nbytes / self.device.memory  # added to the table's updates
        if access.call == "update":
            return nbytes / (self.tables_at or self.device.copy_out)
        return nbytes / self.device.copy_out if access.keep else 0.0

    def _rows(self, access: Access) -> int:
        return self.sizes.get(access.name, 0) if _local(access) else rows_of(access)

    def _pinned(self, access: Access) -> bool:
        return _local(access) and access.name in self.placement.locals_

    def _cached(self, access: Access) -> bool:
        return access.name in self.placement.tables


def _local(access: Access) -> bool:
    return access.call in ("local_access", "post_local_access")
