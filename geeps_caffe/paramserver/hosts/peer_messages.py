"""What the agents of several hosts say to each other.

Some come with numbers or a text, the *payload*, which travels beside them. Tables are
named by their place in the scheme. A `source` is what is summed: a host, or for tables
without bound on their slack a rank.
"""

from typing import NamedTuple, TypeAlias


class Greeting(NamedTuple):
    """An agent's first words: who it is, and as whom it knows the one it greets.

    The payload is a `Passport` as JSON.
    """

    host: int
    receiver: int


class Ready(NamedTuple):
    """All workers of the host propose the same tables; payload: the scheme's text."""

    digest: bytes  # 32, of the scheme


class Part(NamedTuple):
    """A piece of a source's update; payload: the numbers.

    The reduced update is sum(factor * part) / sum(weight), or the plain sum.
    """

    table: int
    clock: int
    source: int
    piece: int
    iteration: int
    rate: float
    factor: float
    weight: float


class Nothing(NamedTuple):
    """A source closed a clock without an update of the table."""

    table: int
    clock: int
    source: int
    weight: float


class Rows(NamedTuple):
    """A piece of the sender's block with a clock in it; payload: the numbers.

    `source` is -1 for all; payload is empty if nothing has changed.
    """

    table: int
    clock: int
    source: int
    piece: int


class NormPart(NamedTuple):
    """The sum of squares of the sender's block of a clock's gradient."""

    clock: int
    total: float


class Copy(NamedTuple):
    """Assigned values, or history that was wanted; payload: the numbers.

    Pieces are those of the table's `owner`; `pieces` is how many have this ticket.
    The receiver's table must have clock `age` in it before.
    """

    ticket: int
    answer: bool  # to Wanted; else assigned by the sender
    target: int  # as in `assignments`
    slot: int
    owner: int
    piece: int
    pieces: int
    age: int


class Taken(NamedTuple):
    """All pieces of an assignment have come."""

    ticket: int


class Wanted(NamedTuple):
    """The sender needs the history of the receiver's block, with a clock in it."""

    ticket: int
    table: int
    clock: int


class Relay(NamedTuple):
    """A frame from a worker to the first host, or from there to a worker; payload."""

    rank: int


class Alive(NamedTuple):
    """A sign of life."""


class Gone(NamedTuple):
    """All workers of the host have left in peace; its agent stays until `Released`."""


class Released(NamedTuple):
    """The receiver's `Gone` has come: its connections may end now."""


class Failed(NamedTuple):
    """The run is over; payload: why."""

    refused: bool


PeerMessage: TypeAlias = (
    Greeting
    | Ready
    | Part
    | Nothing
    | Rows
    | NormPart
    | Copy
    | Taken
    | Wanted
    | Relay
    | Alive
    | Gone
    | Released
    | Failed
)

NUMBERS = (Part, Rows, Nothing, NormPart)  # those on which arithmetic waits
