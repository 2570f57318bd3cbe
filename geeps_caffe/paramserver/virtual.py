"""The recording half of the GeePS client: its tables, and its virtual iterations."""

from collections.abc import Sequence

import numpy as np

from geeps_caffe.device.array import Array
from geeps_caffe.errors import ParameterServerError
from geeps_caffe.paramserver.given import listed, text, wholes
from geeps_caffe.paramserver.leases import Lease, make_leases, make_local
from geeps_caffe.paramserver.recording import Access, Kind, Local, Recorder, Recording
from geeps_caffe.paramserver.scheme import Scheme
from geeps_caffe.paramserver.store import Store
from geeps_caffe.paramserver.table import Table
from geeps_caffe.solvers import Hyper


class VirtualClient:
    """What a `Client` can do before its first real call."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._scheme: Scheme | None = None
        self._hyper = Hyper(rate=0.0)
        self._recorder: Recorder | None = None
        self._recordings: dict[str, Recording] = {}
        self._leases: dict[str, list[Lease]] = {}
        self._locals: dict[str, Array] = {}

    def create_tables(
        self,
        tables: Sequence[Table],
        rule: str = "add",
        reduce: str = "mean",
        hyper: Hyper | None = None,
        gathered: bool = False,
    ) -> None:
        """Make the shared tables, all zero; every worker must ask for the same.

        Args:
            tables: in the order in which an iteration first reads them.
            rule: `add`, or a Caffe solver type that the owner runs on gradients.
            reduce: `mean` or `sum` of the workers' updates.
            hyper: the rule's numbers; `set_hyper` changes rate and iteration.
            gathered: the workers of this host add their updates up themselves, and
                the first of them, at the same place in its recording as the others,
                hands in the sum; what the others hand in is not looked at.

        Raises:
            ParameterServerError: the workers' tables differ (it says where).
        """
        if self._scheme is not None:
            raise ParameterServerError("create_tables was called before")
        if isinstance(tables, Table):
            raise ParameterServerError(f"create_tables: give a list, [{tables.name}]")
        given = listed("create_tables: what it is given", tables, "Tables")
        hyper = self._hyper if hyper is None else hyper
        scheme = Scheme(given, rule, reduce, hyper, gathered)
        self._hyper = hyper
        self._store.create(scheme)
        self._scheme = scheme

    def begin_virtual_iteration(self, name: str = "train") -> None:
        """Start to record an iteration of this name."""
        if self._recorder is not None:
            raise ParameterServerError(
                f"finish recording {self._recorder.name!r} before you begin {name!r}"
            )
        if text("a recording's name", name) in self._recordings:
            raise ParameterServerError(f"there is a recording {name!r}")
        self._recorder = Recorder(name)

    def virtual_read(
        self,
        table: str,
        rows: Sequence[int] | None = None,
        slack: int | None = None,
    ) -> int:
        """Record that rows (None: all) are read, at most `slack` clocks old."""
        self._known.find(table)
        return self._recording("virtual_read").open(Kind.READ, table, rows, slack)

    def virtual_post_read(self, handle: int) -> int:
        """Record that what `handle` opened is read no more."""
        return self._recording("virtual_post_read").close(Kind.POST_READ, handle)

    def virtual_pre_update(self, table: str, rows: Sequence[int] | None = None) -> int:
        """Record that a buffer for an update of rows (None: all) is asked for."""
        self._known.find(table)
        return self._recording("virtual_pre_update").open(Kind.PRE_UPDATE, table, rows)

    def virtual_update(self, handle: int) -> int:
        """Record that the update in what `handle` opened is complete."""
        return self._recording("virtual_update").close(Kind.UPDATE, handle)

    def virtual_local_access(
        self,
        name: str,
        shape: Sequence[int],
        dtype: str = "float32",
        fetch: bool = True,
    ) -> int:
        """Record the use of a private array; without `fetch` it holds nothing yet."""
        text("a private array's name", name)
        local = Local(name, wholes(f"the shape of {name!r}", shape), dtype)
        recorder = self._recording("virtual_local_access")
        return recorder.open(Kind.LOCAL_ACCESS, local=local, fetch=fetch)

    def virtual_post_local_access(self, handle: int, keep: bool = True) -> int:
        """Record the end of a use; without `keep` the values are not needed again."""
        recorder = self._recording("virtual_post_local_access")
        return recorder.close(Kind.POST_LOCAL_ACCESS, handle, keep)

    def virtual_clock(self) -> int:
        """Record the end of the iteration and of its clock."""
        return self._recording("virtual_clock").open(Kind.CLOCK)

    def finish_virtual_iteration(self) -> Recording:
        """Check and keep the recording; returns it."""
        recorder = self._recording("finish_virtual_iteration")
        self._recorder = None  # a recording that is refused is to be begun again
        recording = recorder.finish()
        for access in recording.accesses:
            if access.local is not None:
                self._keep_local(access)
        self._leases[recording.name] = make_leases(
            recording, self._known, self._store, self._locals
        )
        self._recordings[recording.name] = recording
        return recording

    def _keep_local(self, access: Access) -> None:
        """Make a private array, unless another recording has."""
        local = access.local
        assert local is not None
        if local.name not in self._locals:
            self._locals[local.name] = make_local(local)
        made = self._locals[local.name]
        if (made.shape, made.dtype) != (local.shape, np.dtype(local.dtype)):
            raise ParameterServerError(
                f"{access} as {local.shape} {local.dtype}, in another recording as "
                f"{made.shape} {made.dtype}"
            )

    @property
    def _known(self) -> Scheme:
        if self._scheme is None:
            raise ParameterServerError("call create_tables first")
        return self._scheme

    def _recording(self, call: str) -> Recorder:
        if self._recorder is None:
            raise ParameterServerError(f"{call}: call begin_virtual_iteration first")
        return self._recorder
