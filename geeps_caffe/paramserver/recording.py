"""A virtual iteration as a value: the accesses of one iteration, in order."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from geeps_caffe.errors import ParameterServerError
from geeps_caffe.paramserver.given import whole, wholes


class Kind(Enum):
    """The calls that a recording holds; values are the names of the client's calls."""

    READ = "read"
    POST_READ = "post_read"
    PRE_UPDATE = "pre_update"
    UPDATE = "update"
    LOCAL_ACCESS = "local_access"
    POST_LOCAL_ACCESS = "post_local_access"
    CLOCK = "clock"


CLOSES = {
    Kind.POST_READ: Kind.READ,
    Kind.UPDATE: Kind.PRE_UPDATE,
    Kind.POST_LOCAL_ACCESS: Kind.LOCAL_ACCESS,
}


@dataclass(frozen=True)
class Local:
    """An array private to the worker."""

    name: str
    shape: tuple[int, ...]
    dtype: str = "float32"


@dataclass(frozen=True)
class Access:
    """One call. `handle` is its place in the recording, from 0."""

    kind: Kind
    handle: int
    table: str | None = None
    rows: tuple[int, ...] | None = None  # None is the whole table
    slack: int | None = None  # clocks; None is the table's own
    local: Local | None = None
    fetch: bool = True  # the opened array must hold what was kept before
    keep: bool = True  # what the closed array holds must stay
    opening: int | None = None  # of a closing call: the handle of its opening call

    def __str__(self) -> str:
        """As a user would write the call, with what it is about."""
        what = self.table if self.table is not None else self.local and self.local.name
        return f"{self.kind.value}({self.handle})" + (f" of {what!r}" if what else "")


@dataclass(frozen=True)
class Recording:
    """Accesses of one iteration; the last one is the clock if it updates tables."""

    name: str
    accesses: tuple[Access, ...]

    @cached_property
    def clocked(self) -> bool:
        """Whether it ends a clock (training) or only reads (a test)."""
        return bool(self.accesses) and self.accesses[-1].kind is Kind.CLOCK

    @cached_property
    def updates(self) -> dict[str, tuple[int, ...]]:
        """The handles of the `update` calls of each table."""
        found: dict[str, list[int]] = {}
        for access in self.accesses:
            if access.kind is Kind.UPDATE:
                found.setdefault(str(access.table), []).append(access.handle)
        return {table: tuple(handles) for table, handles in found.items()}

    @cached_property
    def last_use(self) -> dict[str, int]:
        """The handle after which a table is not used any more in the iteration.

        There its update is sent: a table in use must not change.
        """
        return {a.table: a.handle for a in self.accesses if a.table is not None}


def check(recording: Recording) -> None:
    """Refuse a recording that no iteration could follow.

    Raises:
        ParameterServerError: an access stays open, an update belongs to no clock,
            something follows the clock, or one local has two shapes.
    """
    accesses = recording.accesses
    if not accesses:
        raise ParameterServerError(f"recording {recording.name!r} is empty")
    _check_closed(recording)
    _check_clock(recording)
    _check_locals(recording)


def _check_closed(recording: Recording) -> None:
    closed = {a.opening for a in recording.accesses if a.opening is not None}
    for access in recording.accesses:
        if access.kind in CLOSES.values() and access.handle not in closed:
            raise ParameterServerError(
                f"recording {recording.name!r}: {access} is never closed"
            )


def _check_clock(recording: Recording) -> None:
    early = [a for a in recording.accesses[:-1] if a.kind is Kind.CLOCK]
    if early:
        raise ParameterServerError(
            f"recording {recording.name!r}: {early[0]} is not the last call"
        )
    if recording.updates and not recording.clocked:
        table = next(iter(recording.updates))
        raise ParameterServerError(
            f"recording {recording.name!r} updates table {table!r} but ends no "
            "clock; call virtual_clock() last"
        )


def _check_locals(recording: Recording) -> None:
    seen: dict[str, Local] = {}
    for access in recording.accesses:
        local = access.local
        if local is not None and seen.setdefault(local.name, local) != local:
            raise ParameterServerError(
                f"recording {recording.name!r}: {access} as {local.shape} "
                f"{local.dtype}, before as {seen[local.name].shape} "
                f"{seen[local.name].dtype}"
            )


class Recorder:
    """Collects accesses; `finish` makes the recording."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._accesses: list[Access] = []
        self._closed: set[int] = set()

    def open(
        self,
        kind: Kind,
        table: str | None = None,
        rows: Sequence[int] | None = None,
        slack: int | None = None,
        local: Local | None = None,
        fetch: bool = True,
    ) -> int:
        """Append an opening call, or the clock; returns its handle."""
        handle = len(self._accesses)
        kept = None if rows is None else wholes(f"rows of {table!r}", rows)
        self._accesses.append(
            Access(kind, handle, table, kept, slack, local, fetch=fetch)
        )
        return handle

    def close(self, kind: Kind, opening: int, keep: bool = True) -> int:
        """Append the closing call of the access that `opening` opened."""
        if not 0 <= whole("the handle", opening) < len(self._accesses):
            raise ParameterServerError(
                f"virtual_{kind.value}({opening}): no such handle; "
                f"{len(self._accesses)} calls were recorded"
            )
        opened = self._accesses[opening]
        if opened.kind is not CLOSES[kind]:
            raise ParameterServerError(
                f"virtual_{kind.value}({opening}): the handle is of {opened}, not of "
                f"a {CLOSES[kind].value}"
            )
        if opening in self._closed:
            raise ParameterServerError(f"virtual_{kind.value}: {opened} is closed")
        self._closed.add(opening)
        handle = len(self._accesses)
        self._accesses.append(
            Access(
                kind,
                handle,
                opened.table,
                opened.rows,
                opened.slack,
                opened.local,
                opened.fetch,
                keep,
                opening,
            )
        )
        return handle

    def finish(self) -> Recording:
        """The recording, checked."""
        recording = Recording(self.name, tuple(self._accesses))
        check(recording)
        return recording
