"""The GeePS client: the one way for a program to read and update shared parameters.

A program records one iteration without data, then runs it over and over:

    client = Client(LocalStore())                   # or open_client(), see `connect`
    client.create_tables([Table("w", 1000)], rule="SGD", hyper=Hyper(rate=0.1))
    client.begin_virtual_iteration()                # 1. record
    read = client.virtual_read("w")
    update = client.virtual_pre_update("w")
    send = client.virtual_update(update)
    done = client.virtual_post_read(read)
    client.virtual_clock()
    client.finish_virtual_iteration()
    client.assign("w", start)                       # 2. worker 0 seeds
    client.start_iterations()                       # waits for all workers
    for _ in range(100):                            # 3. run
        weights, grad = client.read(read), client.pre_update(update)
        grad[...] = gradient_of(weights)
        client.update(send)
        client.post_read(done)
        client.clock()
    client.shutdown()

Making tables
    create_tables(tables, rule="add", reduce="mean", hyper=...)   once, at first

Recording (each call returns a handle; a closing call takes the opening handle)
    begin_virtual_iteration(name="train")
    virtual_read(table, rows=None, slack=None)      virtual_post_read(handle)
    virtual_pre_update(table, rows=None)            virtual_update(handle)
    virtual_local_access(name, shape, dtype, fetch) virtual_post_local_access(h, keep)
    virtual_clock()                                 last call of a training recording
    finish_virtual_iteration() -> Recording

Running (each call takes the handle that its virtual twin returned; an opening call
returns an array, the lease, that belongs to the program until the closing call)
    start_iterations()
    read(handle) -> array                           post_read(handle)
    pre_update(handle) -> array                     update(handle)
    local_access(handle) -> array                   post_local_access(handle)
    clock()
    follow(name)        run a recording that ends no clock, such as a test's, once

Around it
    set_hyper(rate, iteration)      before a clock's first update
    set_normalizer(weight)          this worker's share in a weighted mean
    values(table), history(table)   settled arrays between two iterations
    refresh(table)                  the same in the memory that leases show
    assign(table, values), assign_history(table, slots)   visible after barrier()
    barrier()                       all workers meet; between two iterations
    total(values)                   sums over all workers; between two iterations
    exchange(values)                the same, at any time
    request(flags), requested()     bits or-ed over all workers, which all see alike
    memory(table), update_memory(table)     addresses of leases, to bind them once
    blocks()                        the host memory behind all of them
    bind_part(table, start, update) -> call     updates some elements before the rest
    when_over(call)                 a thread calls it when another worker is lost
    clipping(), stats(), shutdown()

A lease is the owner's memory, not a copy (but for rows that do not lie together, and
for tables with slack), and has the same address every time. What `pre_update` grants
holds no defined values. A whole table is leased as a flat array of `size` elements,
chosen rows as an array of shape (rows, row_width).
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from geeps_caffe.device.array import Array
from geeps_caffe.errors import ParameterServerError
from geeps_caffe.paramserver.follower import Follower
from geeps_caffe.paramserver.given import real, reals, whole
from geeps_caffe.paramserver.parts import TakesParts
from geeps_caffe.paramserver.running import RunningClient
from geeps_caffe.paramserver.stats import TableStats
from geeps_caffe.solvers import Clipping


class Client(RunningClient):
    """One worker's view of the tables; see the module for the order of calls.

    Without `overlap` all tables leave at the clock and are waited for at the first
    read: how much the overlap is worth can be measured so.
    """

    @property
    def rank(self) -> int:
        """This worker's number, from 0."""
        return self._store.rank

    @property
    def ranks(self) -> int:
        """How many workers share the tables."""
        return self._store.ranks

    # Running

    def start_iterations(self) -> None:
        """Wait for all workers; assignments made so far are visible after it."""
        self._between("start_iterations")
        if self._recorder is not None:
            raise ParameterServerError(
                f"start_iterations: finish recording {self._recorder.name!r} first"
            )
        clocked = [r for r in self._recordings.values() if r.clocked]
        if not clocked:
            raise ParameterServerError(
                "start_iterations: no recording ends with virtual_clock()"
            )
        self._home = Follower(clocked[0])
        self._return_home()
        self.barrier()

    # Around it

    def set_hyper(self, rate: float, iteration: int) -> None:
        """The learning rate and iteration of the updates that follow."""
        rate, iteration = real("rate", rate), whole("iteration", iteration)
        self._hyper = replace(self._hyper, rate=rate, iteration=iteration)

    def set_normalizer(self, weight: float) -> None:
        """This worker's share in the means that follow, such as its label count.

        Raises:
            ParameterServerError: it is negative or no number; or this host's workers
                gather their updates, so that no share of one can be told from the
                others'.
        """
        if not 0.0 <= real("the normalizer", weight) < math.inf:
            raise ParameterServerError(
                f"the normalizer is {weight!r}; expected 0 or a positive number"
            )
        if weight != 1.0 and self._scheme is not None and self._scheme.gathered:
            raise ParameterServerError(
                f"the workers of this host gather their updates; one has the share "
                f"{weight:g} in the mean, expected 1"
            )
        self._normalizer = weight

    def values(self, table: str) -> Array:
        """The table with the updates of all workers and clocks so far, `size` elements.

        A view that stays as it is until this worker's next update of the table. With
        one worker it may be written; otherwise use `assign`.
        """
        self._between("values")
        weights = self._store.settled(self._known.find(table), self._clock)
        return self._shown(table, weights)

    def refresh(self, table: str) -> None:
        """Make the leases' memory hold all updates so far; between two iterations."""
        self._between("refresh")
        self._store.pull(self._known.find(table), self._clock, 0)

    def history(self, table: str) -> list[Array]:
        """The rule's history arrays, as `values`."""
        self._between("history")
        slots = self._store.history(self._known.find(table), self._clock)
        return [self._shown(table, slot) for slot in slots]

    def memory(self, table: str) -> Array:
        """The memory that every lease of a read of the whole table will show.

        For programs that bind arrays once; between `read` and `post_read` only.
        """
        return self._store.weights(self._known.find(table))

    def update_memory(self, table: str) -> Array:
        """The same for what `pre_update` grants."""
        return self._store.gradient(self._known.find(table))

    def blocks(self) -> tuple[Array, ...]:
        """The host memory in which leases lie, for devices that copy from there."""
        if self._scheme is None:
            raise ParameterServerError("blocks: call create_tables first")
        return self._store.blocks()

    def bind_part(self, table: str, start: int, update: Array) -> Callable[[], None]:
        """A call that updates the elements from `start` on with what is in `update`.

        It is made while the program has the update of the table open, and no lease on
        a read of it. `update` hands in the rest. For a worker alone, without clipping.

        Raises:
            ParameterServerError: the table's owner takes whole updates only.
        """
        if not isinstance(self._store, TakesParts):
            raise ParameterServerError(
                f"table {table!r}: only a single process updates a part of a table"
            )
        shared = self._known.tables[self._known.find(table)]
        start = whole("the first element", start)
        if not isinstance(update, np.ndarray):
            raise ParameterServerError(f"an update is {update!r}; expected an array")
        fits = start >= 0 and start + update.size <= shared.size
        if not fits or update.dtype != shared.dtype:
            raise ParameterServerError(
                f"table {table!r} has {shared.size} elements of {shared.dtype}; "
                f"{update.size} of {update.dtype} from element {start} on are none "
                "of them"
            )
        apply = self._store.bind_part(self._known.find(table), start, update)
        return lambda: apply(self._hyper)

    def assign(self, table: str, values: Array) -> None:
        """Replace the table's values; all workers see it after the next `barrier`.

        If several workers assign, the lowest rank wins. A single worker's assignment
        counts at once.
        """
        self._between("assign")
        self._assignments.add_weights(self._known, table, values)
        if self.ranks == 1:
            self.barrier()

    def assign_history(self, table: str, slots: Sequence[Array]) -> None:
        """Replace the rule's history arrays, as `assign`."""
        self._between("assign_history")
        self._assignments.add_history(self._known, table, slots)
        if self.ranks == 1:
            self.barrier()

    def barrier(self) -> None:
        """Wait for all workers; assignments made before are visible after it."""
        self._between("barrier")
        _, owners = self._store.meet(self._clock, [], self._assignments.targets)
        if not owners:
            return
        self._assignments.write(self._known, self._store, self._clock, owners)
        self._store.meet(self._clock, [], [])

    def total(self, values: Sequence[float]) -> list[float]:
        """The sums over all workers, which all must ask for; added in rank order."""
        self._between("total")
        return self.exchange(values)

    def exchange(self, values: Sequence[float]) -> list[float]:
        """As `total`, but also within an iteration: at the same place on all workers.

        Who exchanges within iterations can't get ahead of the others by any slack.
        """
        self._here("exchange")
        sums, _ = self._store.meet(self._clock, reals("values", values), [])
        return sums

    def request(self, flags: int) -> None:
        """Send these bits, once, with the next clock."""
        if not 0 <= whole("a request", flags) < 1 << 63:
            raise ParameterServerError(f"a request is {flags}; expected up to 63 bits")
        self._flags |= flags

    def withdraw(self, flags: int) -> None:
        """Take back bits that were requested since the last clock."""
        self._flags &= ~whole("a request", flags)

    def requested(self) -> int:
        """The bits that any worker has requested, or-ed; each request is told once.

        Between two iterations all workers get the same answer, some clocks late.
        """
        return self._store.flags(self._clock)

    def clipping(self) -> Clipping | None:
        """What clip_gradients did in the last clock that this worker has heard of."""
        return self._store.clipping()

    def stats(self) -> str:
        """Waiting, bytes and staleness of each table, as JSON."""
        return self._store.stats.as_json()

    def stats_by_table(self) -> dict[str, TableStats]:
        """The same counters, by the tables' names."""
        counted = self._store.stats
        return dict(zip(counted.names, counted.tables, strict=True))

    def when_over(self, call: Callable[[], object]) -> None:
        """Have a thread call this once the run is over for another's fault.

        For programs that wait for other workers elsewhere than at this client: they
        would not hear of it. The program itself hears in its next call that waits.
        """
        self._store.when_over(call)

    def shutdown(self, *, failed: bool = False) -> None:
        """Leave. The others must not need this worker's updates any more.

        Where they do since this worker has `failed`, they are told that it is lost.
        """
        if self._left:
            return
        self._left, self._current = True, None
        self._store.shutdown(failed=failed)

    # Inside

    def _shown(self, table: str, array: Array) -> Array:
        view = array[: self._known.tables[self._known.find(table)].size]
        if self.ranks > 1:
            view.flags.writeable = False
        return view
