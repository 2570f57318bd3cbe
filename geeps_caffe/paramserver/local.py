"""The store of a single worker: no network, no threads, no copies.

A table's rule runs as soon as its update is handed in, on the very array that the
worker reads; with clip_gradients it has to wait for the end of the clock.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from geeps_caffe.device.array import Array, allocate
from geeps_caffe.errors import ParameterServerError
from geeps_caffe.paramserver.applier import Applier
from geeps_caffe.paramserver.fused import BindMomentum
from geeps_caffe.paramserver.memory import Memory, nbytes
from geeps_caffe.paramserver.on_device import DeviceApplier, DeviceTables
from geeps_caffe.paramserver.parts import ALONE, ApplyPart, Parts
from geeps_caffe.paramserver.scheme import Scheme
from geeps_caffe.paramserver.stats import Stats
from geeps_caffe.solvers import Clipping, Hyper, clip, normalization


class LocalStore:
    """See `store.Store`.

    Args:
        bind: an engine's way to do SGD, see `fused`.
        tables: where tables live and how they are updated; None: host memory.
    """

    rank = 0
    ranks = 1

    def __init__(
        self, bind: BindMomentum | None = None, tables: DeviceTables | None = None
    ) -> None:
        self._bind, self._tables = bind, tables
        self.stats = Stats(0, 1)
        self._flags = 0
        self._clipping: Clipping | None = None
        self._parts: dict[int, Parts] = {}  # of tables that are updated so
        self._waiting: list[int] = []  # tables whose clock needs the norm of all

    def create(self, scheme: Scheme) -> None:
        """Allocate the tables, zeroed."""
        self.stats = Stats(0, 1, (table.name for table in scheme.tables))
        fresh = tuple(replace(table, slack=0) for table in scheme.tables)
        scheme = replace(scheme, tables=fresh)  # alone, nothing is ever stale
        self._memory = Memory(scheme, 1, self._take(nbytes(scheme, 1)))
        self._appliers = [self._applier(scheme, t) for t in range(len(scheme.tables))]

    def _take(self, size: int) -> Array:
        """A block of so many bytes.

        Raises:
            ParameterServerError: there is not so much memory.
        """
        try:
            return (self._tables.allocate if self._tables else allocate)(size)
        except (MemoryError, ValueError, OverflowError) as error:
            raise ParameterServerError(
                f"the tables need {size} bytes of memory: {error}"
            ) from error

    def _applier(self, scheme: Scheme, table: int) -> Applier | DeviceApplier:
        weights, history = self._memory.weights[table], self._memory.history[table]
        if self._tables:
            return self._tables.applier(scheme, table, weights, history)
        return Applier(scheme, table, weights, history, bind=self._bind)

    def bind_part(self, table: int, start: int, update: Array) -> ApplyPart:
        """See `parts`."""
        if self._tables is not None:
            raise ParameterServerError("tables on a device are updated as a whole")
        if table not in self._parts:
            self._parts[table] = Parts(self._memory, table, self._bind)
        return self._parts[table].bind(start, update)

    def weights(self, table: int) -> Array:
        """The only copy there is, slack or not."""
        return self._memory.weights[table]

    def gradient(self, table: int) -> Array:
        """The one update slot; it is free again after `push` or `close`."""
        return self._memory.update(0, table, 0)

    def pull(self, table: int, clock: int, slack: int) -> None:
        """Nothing to wait for."""
        self.stats.tables[table].count_pull(self.weights(table).nbytes, 0.0, 0)

    def claim(self, table: int, clock: int) -> None:
        """Always free: `push` and `close` use it up."""

    def push(
        self, table: int, clock: int, hyper: Hyper, weight: float, last: bool = False
    ) -> None:
        """Apply the rule, now or at the end of the clock."""
        self.stats.tables[table].count_push(self.gradient(table).nbytes, 0.0)
        if hyper.clips and self._appliers[table].rule is not None:
            self._waiting.append(table)
            return
        self._apply(table, hyper, normalization(hyper, None))

    def close(self, clock: int, hyper: Hyper, flags: int) -> None:
        """Apply what waited for the norm."""
        self._flags |= flags
        self.stats.clocks += 1
        if not self._waiting:
            return
        self._waiting.sort()  # the order in which an owner of several workers adds
        squares = [
            self._appliers[t].squares([self.gradient(t)], ALONE) for t in self._waiting
        ]
        self._clipping = clip(hyper, squares)
        for table in self._waiting:
            self._apply(table, hyper, normalization(hyper, self._clipping))
        self._waiting.clear()

    def _apply(self, table: int, hyper: Hyper, scale: float) -> None:
        parts = self._parts.get(table)
        if parts is not None and parts.begun:
            parts.apply_rest(self.gradient(table), hyper, scale)
            return
        self._appliers[table].apply([self.gradient(table)], ALONE, hyper, scale)

    def settled(self, table: int, clock: int) -> Array:
        """The array itself."""
        return self._memory.weights[table]

    def history(self, table: int, clock: int) -> tuple[Array, ...]:
        """The arrays themselves."""
        return self._memory.history[table]

    def blocks(self) -> tuple[Array, ...]:
        """All tables; none if they are on a device."""
        return () if self._tables else (self._memory.block,)

    def write(self, array: Array, values: Array) -> None:
        """Nobody else looks."""
        if self._tables:
            self._tables.write(array, values)
        else:
            array[...] = values

    def publish(self, targets: Sequence[int]) -> None:
        """Nobody to tell."""

    def meet(
        self, clock: int, values: Sequence[float], assigned: Sequence[int]
    ) -> tuple[list[float], dict[int, int]]:
        """Nobody to wait for."""
        return [float(value) for value in values], dict.fromkeys(assigned, 0)

    def flags(self, clock: int) -> int:
        """Known at once."""
        flags, self._flags = self._flags, 0
        return flags

    def clipping(self) -> Clipping | None:
        """Of the last clock that clipped."""
        return self._clipping

    def when_over(self, call: Callable[[], object]) -> None:
        """Nobody else can end it."""

    def shutdown(self, *, failed: bool = False) -> None:
        """Nothing to leave."""
