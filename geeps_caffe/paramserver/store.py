"""What a client asks of the owner of the tables, in this process or another."""

from collections.abc import Callable, Sequence
from typing import Protocol

from geeps_caffe.device.array import Array
from geeps_caffe.paramserver.scheme import Scheme
from geeps_caffe.paramserver.stats import Stats
from geeps_caffe.solvers import Clipping, Hyper


class Store(Protocol):
    """Tables are named by their place in the scheme, clocks counted from 0.

    Arrays hold a table's `elements` and keep their address, so that a program may
    bind them once. Which worker may use them when is the client's business.
    """

    rank: int
    ranks: int
    stats: Stats

    def create(self, scheme: Scheme) -> None:
        """Make the tables, all zero, or join those that others made."""

    def weights(self, table: int) -> Array:
        """What this worker reads between `pull` and `push`."""

    def gradient(self, table: int) -> Array:
        """Where this worker leaves its update before `push`."""

    def pull(self, table: int, clock: int, slack: int) -> None:
        """Wait until `weights` holds all updates of clocks < clock - slack."""

    def claim(self, table: int, clock: int) -> None:
        """Wait until `gradient` is free for this clock; what it holds is undefined."""

    def push(
        self, table: int, clock: int, hyper: Hyper, weight: float, last: bool = False
    ) -> None:
        """Hand in the update; this worker won't use the table again in this clock.

        `last`: nothing but the end of the clock follows.
        """

    def close(self, clock: int, hyper: Hyper, flags: int) -> None:
        """The clock is over for this worker; tables not pushed have no update."""

    def settled(self, table: int, clock: int) -> Array:
        """Weights with all updates of clocks < clock.

        They do not change until this worker pushes the table in `clock`.
        """

    def history(self, table: int, clock: int) -> tuple[Array, ...]:
        """The same of the rule's history."""

    def blocks(self) -> tuple[Array, ...]:
        """The host memory in which all that is leased lies."""

    def write(self, array: Array, values: Array) -> None:
        """Overwrite a part of what `settled` or `history` showed."""

    def publish(self, targets: Sequence[int]) -> None:
        """What was written to settled arrays goes to all hosts; waits until it has.

        `targets` are numbers as in `assignments`.
        """

    def meet(
        self, clock: int, values: Sequence[float], assigned: Sequence[int]
    ) -> tuple[list[float], dict[int, int]]:
        """Wait for all workers.

        Returns:
            the sums of their `values`, and for each number in someone's `assigned`
            the lowest rank that named it.
        """

    def flags(self, clock: int) -> int:
        """The flags of all workers, or-ed, that have become known to all, each once.

        `clock` counts the clocks that this worker has closed.
        """

    def clipping(self) -> Clipping | None:
        """What clip_gradients last did, as far as this worker has heard."""

    def when_over(self, call: Callable[[], object]) -> None:
        """Have a thread call this once the run is over before this worker leaves."""

    def shutdown(self, *, failed: bool = False) -> None:
        """Leave, in peace if not `failed`; the tables are gone for this worker."""
