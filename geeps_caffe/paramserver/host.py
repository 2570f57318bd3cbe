"""All that one host's agent decides, without I/O: joining, sharing, waiting, ending.

Around it stands a loop that moves messages (`agent.py`, or `transport/inproc.py`).
"""

import socket
from collections.abc import Callable

from geeps_caffe.device.array import Array
from geeps_caffe.errors import ParameterServerError
from geeps_caffe.paramserver.greetings import answer_late, check_hello
from geeps_caffe.paramserver.hands import Hands
from geeps_caffe.paramserver.limits import Limits
from geeps_caffe.paramserver.membership import Membership
from geeps_caffe.paramserver.memory import Memory, nbytes
from geeps_caffe.paramserver.messages import (
    Beat,
    Bye,
    Close,
    Gather,
    Gathered,
    Granted,
    Hello,
    Lost,
    Meet,
    Message,
    Outgoing,
    Propose,
    Publish,
    Published,
    Pull,
    Push,
    Refused,
)
from geeps_caffe.paramserver.rendezvous import Rendezvous
from geeps_caffe.paramserver.scheme import Scheme, difference, read_scheme
from geeps_caffe.paramserver.shard import Shard


class Host:
    """The owner of the tables of all `ranks` workers.

    Args:
        allocate: gives a zeroed block of so many bytes, 64-byte aligned.
        now: seconds of a steady clock, as all later times.
        limits: how long a wait may last.
        hands: the threads that large tables' arithmetic is shared by.

    Once `failure` is set the run is over: it says why.
    """

    def __init__(
        self,
        ranks: int,
        allocate: Callable[[int], Array],
        now: float,
        limits: Limits | None = None,
        hands: Hands | None = None,
    ) -> None:
        self.ranks = ranks
        self.local = range(ranks)  # those that this agent serves
        self.failure: str | None = None
        self.refused = False  # the failure is the program's fault, nobody died
        self._allocate, self._hands = allocate, hands
        names = [socket.gethostname()] * ranks
        self._members = Membership(names, limits or Limits(), now)
        self._rendezvous = Rendezvous(ranks)
        self._proposals: dict[int, Scheme] = {}
        self._shard: Shard | None = None

    @property
    def busy(self) -> bool:
        """Whether `work` has something to do; after a failure it has not."""
        if self._shard is None or self.failure is not None:
            return False
        return self._shard.busy

    @property
    def over(self) -> bool:
        """Whether all workers have left, or the run has failed."""
        return self.failure is not None or self._members.all_left

    def receive(self, rank: int, message: Message, now: float) -> Outgoing:
        """Take one message of a worker and return what to send now."""
        if self.failure is not None:
            return answer_late(rank, message, self.failure, self.refused)
        self._members.heard(rank, now)
        try:
            return self._take(rank, message, now)
        except ParameterServerError as error:
            return self._refuse(str(error))

    def _take(self, rank: int, message: Message, now: float) -> Outgoing:
        match message:
            case Push() | Pull():
                return self._known_shard.receive(rank, message)
            case Close():
                self._members.moved(rank, now, message.clock)
                out = self._known_shard.receive(rank, message)
                return out + self._rendezvous.close(rank, message)
            case Beat():
                return []
            case Hello():
                return self._greet(rank, message, now)
            case Propose():
                return self._propose(rank, message)
            case Publish():  # no other host needs to be told
                return [(rank, Published())]
            case Gather():
                return [(rank, Gathered())]
            case Meet():
                self._members.moved(rank, now)
                return self._rendezvous.meet(rank, message)
            case Bye():
                self._members.left(rank)
                return []
        raise ParameterServerError(f"rank {rank} sent {message}, which no worker may")

    @property
    def _known_shard(self) -> Shard:
        if self._shard is None:
            raise ParameterServerError("there are no tables yet")
        return self._shard

    def _greet(self, rank: int, hello: Hello, now: float) -> Outgoing:
        check_hello(hello, rank, self.ranks)
        self._members.joined(rank, hello.pid, now)
        return []

    def _propose(self, rank: int, proposal: Propose) -> Outgoing:
        scheme = read_scheme(proposal.scheme)
        for other, known in self._proposals.items():
            if known.digest != scheme.digest:
                lines = difference(
                    known.text, scheme.text, f"rank {other}", f"rank {rank}"
                )
                raise ParameterServerError(
                    f"rank {other} and rank {rank} do not share the same tables:\n"
                    + lines
                )
        self._proposals[rank] = scheme
        if len(self._proposals) < self.ranks:
            return []
        size = nbytes(scheme, self.ranks)
        memory = Memory(scheme, self.ranks, self._allocate(size))
        self._shard = Shard(scheme, memory, self._hands)
        return [
            (rank, Granted(size, rank, self.ranks, 1)) for rank in range(self.ranks)
        ]

    def work(self) -> Outgoing:
        """Do one piece of the arithmetic that is due."""
        return self._known_shard.work()

    def has_left(self, rank: int) -> bool:
        """Whether a worker said goodbye."""
        return self._members.has_left(rank)

    def lost(self, rank: int, reason: str) -> Outgoing:
        """A worker's connection or process has ended; `reason` says how."""
        if self._members.has_left(rank) or self.failure is not None:
            return []
        self.failure = f"lost {self._members.describe(rank)}: {reason}"
        return self._all(Lost(self.failure))

    def ended(self, rank: int, reason: str, in_peace: bool) -> Outgoing:
        """A process ended without a connection: it had nothing to share, or failed."""
        if in_peace and not self._members.has_joined(rank):
            self._members.left(rank)
        return self.lost(rank, reason)

    def tick(self, now: float) -> Outgoing:
        """Time passes: signs of life, reports about waits, and their limits."""
        if self.failure is not None:
            return []
        lost = self._members.lost(now)
        if lost is not None:
            self.failure = lost
            return self._all(Lost(lost))
        out = self._all(Beat())
        for message in self._members.news(now):
            out += self._all(message)
        return out

    def _refuse(self, reason: str) -> Outgoing:
        self.failure, self.refused = reason, True
        return self._all(Refused(reason))

    def _all(self, message: Message) -> Outgoing:
        return [(rank, message) for rank in range(self.ranks)]
