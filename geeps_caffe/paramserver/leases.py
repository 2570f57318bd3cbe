"""The arrays behind the accesses of a recording: made once, the same every clock."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from geeps_caffe.device.array import Array
from geeps_caffe.errors import ParameterServerError
from geeps_caffe.paramserver.given import whole
from geeps_caffe.paramserver.recording import Access, Kind, Local, Recording
from geeps_caffe.paramserver.scheme import ASYNC, Scheme
from geeps_caffe.paramserver.store import Store
from geeps_caffe.paramserver.table import Table


@dataclass(frozen=True)
class Lease:
    """What one access of a recording gives to the program, and what else it does.

    `array` is a view of the owner's memory, unless `gather` names rows that do not
    lie together, or the table has several updates in a clock: then it is a buffer,
    filled from `rows` on reading and added to `rows` on updating.
    """

    access: Access
    table: int = -1
    slack: int = 0
    array: Array | None = None
    rows: Array | None = None  # (rows, row_width) of the owner; None for a view
    gather: Array | None = None  # row numbers; None is all rows
    clears: Array | None = None  # to be zeroed before: the clock's first partial update
    pushes: bool = False  # the table's last use in the clock

    def fill(self) -> None:
        """Copy the rows to a buffer that is about to be read."""
        if self.rows is None or self.array is None:
            return
        if self.gather is None:
            np.copyto(self.array, self.rows)
        else:
            np.take(self.rows, self.gather, axis=0, out=self.array)

    def clear(self) -> None:
        """Zero what the clock's updates will be added to."""
        if self.clears is not None:
            self.clears.fill(0)

    def add(self) -> None:
        """Add a buffer's update to its rows."""
        if self.rows is None or self.array is None:
            return
        if self.gather is None:
            np.add(self.rows, self.array, out=self.rows)
        else:
            self.rows[self.gather] += self.array


def make_leases(
    recording: Recording, scheme: Scheme, store: Store, locals_: Mapping[str, Array]
) -> list[Lease]:
    """One lease an access, by handle.

    Raises:
        ParameterServerError: a row is not in its table, or twice in one access, or a
            slack is larger than the table's.
    """
    made: list[Lease] = []
    for access in recording.accesses:
        if access.opening is not None:
            made.append(_close(access, made[access.opening], recording))
        elif access.kind is Kind.READ:
            made.append(_read(access, scheme, store, recording))
        elif access.kind is Kind.PRE_UPDATE:
            made.append(_update(access, scheme, store, recording))
        elif access.local is not None:
            made.append(Lease(access, array=locals_[access.local.name]))
        else:
            made.append(Lease(access))
    return made


def make_local(local: Local) -> Array:
    """A zeroed array of the worker's own.

    Raises:
        ParameterServerError: there is no such array, or not so much memory.
    """
    try:
        return np.zeros(local.shape, local.dtype)
    except (MemoryError, ValueError, TypeError, OverflowError) as error:
        raise ParameterServerError(
            f"private array {local.name!r} of shape {local.shape}, {local.dtype}: "
            f"{error}"
        ) from error


def _close(access: Access, opened: Lease, recording: Recording) -> Lease:
    table = access.table
    pushes = (
        table in recording.updates and recording.last_use.get(table) == access.handle
    )
    return Lease(
        access,
        opened.table,
        opened.slack,
        opened.array,
        opened.rows,
        opened.gather,
        pushes=pushes,
    )


def _read(access: Access, scheme: Scheme, store: Store, recording: Recording) -> Lease:
    index = scheme.find(str(access.table))
    table = scheme.tables[index]
    allowed = _slack(access, table)
    slack = allowed if recording.clocked else 0  # a test reads one settled clock
    weights = _read_only(store.weights(index))
    if access.rows is None:
        return Lease(access, index, slack, weights[: table.size])
    rows, gather = _as_rows(weights, table), _row_numbers(access, table)
    block = _contiguous(gather)
    if block is not None:
        return Lease(access, index, slack, rows[block])
    buffer = np.zeros((len(gather), table.row_width), table.dtype)
    return Lease(access, index, slack, buffer, rows, gather)


def _read_only(array: Array) -> Array:
    """A view that nobody writes to by mistake, where the array's kind has such."""
    view = array.view()
    if isinstance(view, np.ndarray):
        view.flags.writeable = False
    return view


def _update(
    access: Access, scheme: Scheme, store: Store, recording: Recording
) -> Lease:
    index = scheme.find(str(access.table))
    table = scheme.tables[index]
    gradient, updates = store.gradient(index), recording.updates[table.name]
    if access.rows is None and len(updates) == 1:
        return Lease(access, index, array=gradient[: table.size])
    opened = recording.accesses[updates[0]].opening
    first = gradient if opened == access.handle else None
    if access.rows is None:
        buffer, target = np.zeros(table.size, table.dtype), gradient[: table.size]
        return Lease(access, index, 0, buffer, target, clears=first)
    rows, gather = _as_rows(gradient, table), _row_numbers(access, table)
    block = _contiguous(gather)
    if block is not None and len(updates) == 1:
        return Lease(access, index, array=rows[block], clears=first)
    buffer = np.zeros((len(gather), table.row_width), table.dtype)
    return Lease(access, index, 0, buffer, rows, gather, first)


def _slack(access: Access, table: Table) -> int:
    slack = table.slack if access.slack is None else access.slack
    whole(f"{access}: slack", slack)
    if table.slack != ASYNC and not 0 <= slack <= table.slack:
        raise ParameterServerError(
            f"{access}: slack {slack} is not within the table's, 0 to {table.slack}"
        )
    return slack


def _as_rows(array: Array, table: Table) -> Array:
    return array.reshape(table.rows, table.row_width)


def _row_numbers(access: Access, table: Table) -> Array:
    numbers = access.rows or ()
    if not numbers or min(numbers) < 0 or max(numbers) >= table.rows:
        raise ParameterServerError(
            f"{access}: rows must be some of 0 to {table.rows - 1}"
        )
    rows = np.asarray(numbers, np.intp)
    if np.unique(rows).size != rows.size:
        raise ParameterServerError(f"{access}: a row is named twice")
    return rows


def _contiguous(rows: Array) -> slice | None:
    """The rows as a slice, if they follow each other."""
    first = int(rows[0])
    if np.array_equal(rows, np.arange(first, first + rows.size)):
        return slice(first, first + rows.size)
    return None
