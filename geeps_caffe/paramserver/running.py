"""The running half of the GeePS client: the calls of an iteration, in their order."""

from typing import NoReturn

from geeps_caffe.device.array import Array
from geeps_caffe.errors import ParameterServerError, unknown
from geeps_caffe.paramserver.assignments import Assignments
from geeps_caffe.paramserver.follower import Follower
from geeps_caffe.paramserver.given import text
from geeps_caffe.paramserver.leases import Lease
from geeps_caffe.paramserver.recording import Kind
from geeps_caffe.paramserver.store import Store
from geeps_caffe.paramserver.virtual import VirtualClient


class RunningClient(VirtualClient):
    """What a `Client` does within iterations."""

    def __init__(self, store: Store, overlap: bool = True) -> None:
        super().__init__(store)
        self._overlap = overlap
        self._late: list[int] = []  # tables to push at the clock, without overlap
        self._normalizer = 1.0
        self._clock = 0
        self._flags = 0
        self._home: Follower | None = None  # of the recording that ends clocks
        self._current: Follower | None = None
        self._bound: list[Lease] = []  # of the current recording
        self._assignments = Assignments()
        self._left = False

    def follow(self, name: str) -> None:
        """Run another recording once, from its first call, at the present clock."""
        if text("a recording's name", name) not in self._recordings:
            raise ParameterServerError(unknown("recording", name, self._recordings))
        if self._recordings[name].clocked:
            raise ParameterServerError(
                f"follow: recording {name!r} ends a clock; call what it recorded"
            )
        self._between("follow")
        if self._home is None:
            raise ParameterServerError("follow: call start_iterations first")
        self._current = Follower(self._recordings[name])
        self._bound = self._leases[name]

    def read(self, handle: int) -> Array:
        """Wait for values fresh enough; the array must not be written."""
        lease = self._step(Kind.READ, handle)
        if self._assignments:
            self._refuse_unsettled()
        self._pull(lease)
        lease.fill()
        return _granted(lease)

    def post_read(self, handle: int) -> None:
        """Give the lease of a read back."""
        self._finish(self._step(Kind.POST_READ, handle))

    def pre_update(self, handle: int) -> Array:
        """An array for the update; it holds no defined values."""
        lease = self._step(Kind.PRE_UPDATE, handle)
        self._store.claim(lease.table, self._clock)
        lease.clear()
        return _granted(lease)

    def update(self, handle: int) -> None:
        """Hand the update in."""
        lease = self._step(Kind.UPDATE, handle)
        lease.add()
        self._finish(lease)

    def local_access(self, handle: int) -> Array:
        """The worker's own array."""
        return _granted(self._step(Kind.LOCAL_ACCESS, handle))

    def post_local_access(self, handle: int) -> None:
        """Give the array back."""
        self._step(Kind.POST_LOCAL_ACCESS, handle)
        self._rest()

    def clock(self) -> None:
        """End the iteration; returns at once, the next read waits for the others."""
        self._step(Kind.CLOCK)
        for table in self._late:
            self._push(table)
        self._late.clear()
        self._store.close(self._clock, self._hyper, self._flags)
        self._flags = 0
        self._clock += 1
        self._rest()

    # Inside

    def _step(self, kind: Kind, handle: int | None = None) -> Lease:
        if self._current is None:
            self._here(kind.value)
            raise ParameterServerError(f"{kind.value}: call start_iterations first")
        access = self._current.step(kind, handle)
        return self._bound[access.handle]

    def _finish(self, lease: Lease) -> None:
        """After a table's closing call: its last one sends the update."""
        if lease.pushes and self._overlap:
            assert self._current is not None
            self._push(lease.table, self._current.expected.kind is Kind.CLOCK)
        elif lease.pushes:
            self._late.append(lease.table)
        self._rest()

    def _push(self, table: int, last: bool = False) -> None:
        self._store.push(table, self._clock, self._hyper, self._normalizer, last)

    def _pull(self, lease: Lease) -> None:
        if self._overlap:
            self._store.pull(lease.table, self._clock, lease.slack)
            return
        for other in self._bound:
            if other.access.kind is Kind.READ:
                self._store.pull(other.table, self._clock, other.slack)

    def _rest(self) -> None:
        """Another recording, run through, gives way to the training one."""
        if self._current is not self._home and not self._started:
            self._return_home()

    def _return_home(self) -> None:
        assert self._home is not None
        self._current = self._home
        self._bound = self._leases[self._home.recording.name]

    @property
    def _started(self) -> bool:
        return self._current is not None and self._current.started

    def _here(self, call: str) -> None:
        if self._left:
            raise ParameterServerError(f"{call}: this worker has left, by shutdown()")

    def _between(self, call: str) -> None:
        self._here(call)
        if self._current is not None and self._current.started:
            raise ParameterServerError(
                f"recording {self._current.recording.name!r}: expected "
                f"{self._current.expected}, got {call}, which belongs between two "
                "iterations"
            )

    def _refuse_unsettled(self) -> NoReturn:
        raise ParameterServerError(
            "read: an assignment is not settled; every worker must call barrier() first"
        )


def _granted(lease: Lease) -> Array:
    assert lease.array is not None
    return lease.array
