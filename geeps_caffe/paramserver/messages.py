"""What workers and the owner of the tables say to each other.

Arrays are never in a message: they lie in memory that both sides see. Tables are
named by their place in the scheme; who speaks is known from the connection.
Named tuples are made faster than anything else with names.
"""

from typing import NamedTuple, TypeAlias

PROTOCOL = 6  # changes whenever a message does


class Hello(NamedTuple):
    """A worker's first words."""

    protocol: int
    rank: int
    ranks: int
    pid: int


class Propose(NamedTuple):
    """The tables that a worker wants to share; a scheme as JSON."""

    scheme: str


class Granted(NamedTuple):
    """All workers proposed the same; their tables lie in a block of `nbytes`.

    The receiver is number `worker` of the `workers` on its host, one of `hosts`.
    """

    nbytes: int
    worker: int
    workers: int
    hosts: int


class Refused(NamedTuple):
    """The proposals differ, or a message broke the rules; says how."""

    reason: str


class Push(NamedTuple):
    """The worker's update of a table and clock is in its slot."""

    table: int
    clock: int
    iteration: int
    rate: float
    weight: float


class Close(NamedTuple):
    """The clock is over for the worker; tables it did not push are as they were."""

    clock: int
    flags: int


class Fresh(NamedTuple):
    """A table holds all updates up to the clock `age`, and its slots are free."""

    table: int
    age: int


class Pull(NamedTuple):
    """The worker wants its copy of a table with slack renewed, at least to `age`.

    Its own updates of later clocks, up to `own`, are to be in the copy too.
    """

    table: int
    age: int
    own: int = -1


class Copied(NamedTuple):
    """The answer to Pull; `age` is of the new copy."""

    table: int
    age: int


class Flags(NamedTuple):
    """What all workers' Close messages of a clock said, or-ed."""

    clock: int
    flags: int


class Clipped(NamedTuple):
    """The norm of all gradients of a clock, where clip_gradients asks for it."""

    clock: int
    norm: float


class Meet(NamedTuple):
    """The worker waits for all others; with numbers to add up and wishes to assign."""

    clock: int
    values: tuple[float, ...]
    assigned: tuple[int, ...]


class Met(NamedTuple):
    """All have come: sums in rank order; pairs (what is assigned, by which rank)."""

    values: tuple[float, ...]
    owners: tuple[tuple[int, int], ...]


class Publish(NamedTuple):
    """The worker has written assigned values; other hosts must have them too."""

    targets: tuple[int, ...]  # as in `assignments`


class Published(NamedTuple):
    """They have."""


class Gather(NamedTuple):
    """The worker wants to see all of a table's history, which the hosts share."""

    table: int


class Gathered(NamedTuple):
    """It is there."""


class Beat(NamedTuple):
    """A sign of life, in both directions."""


class Waiting(NamedTuple):
    """For whom the owner waits, since when; for the log."""

    text: str


class Missing(NamedTuple):
    """Some wait for a worker that has left in peace, so in vain; who, since when."""

    text: str


class Lost(NamedTuple):
    """A worker is gone and all must end; says who, where and at which clock."""

    reason: str


class Bye(NamedTuple):
    """The worker's last words: it leaves in peace."""


Message: TypeAlias = (
    Hello
    | Propose
    | Granted
    | Refused
    | Push
    | Close
    | Fresh
    | Pull
    | Copied
    | Flags
    | Clipped
    | Meet
    | Met
    | Publish
    | Published
    | Gather
    | Gathered
    | Beat
    | Waiting
    | Missing
    | Lost
    | Bye
)

Outgoing: TypeAlias = list[tuple[int, Message]]  # receiver's rank, message
