"""What is for all workers of all hosts: through the first host, and back. No I/O."""

from geeps_caffe.errors import ParameterServerError
from geeps_caffe.paramserver.hosts.outbox import FIRST, LAST_TABLE, Order, Outbox
from geeps_caffe.paramserver.hosts.peer_messages import Relay
from geeps_caffe.paramserver.hosts.places import Places
from geeps_caffe.paramserver.membership import Membership
from geeps_caffe.paramserver.messages import (
    Bye,
    Close,
    Flags,
    Hello,
    Meet,
    Message,
    Outgoing,
)
from geeps_caffe.paramserver.rendezvous import Rendezvous
from geeps_caffe.paramserver.wire import write_frame

COORDINATOR = 0  # the host whose agent hears of all workers
_OF_CLOCKS = (Close, Flags)


class Coordination:
    """Meetings and flags, and who is how far: one host's part."""

    def __init__(self, places: Places, outbox: Outbox, members: Membership) -> None:
        self._places, self._outbox, self._members = places, outbox, members
        self._rendezvous = Rendezvous(places.ranks)

    def send(self, rank: int, message: Message, now: float) -> Outgoing:
        """A local worker's message; returns answers to local workers."""
        if self._places.host != COORDINATOR:
            order = _urgency(message)
            self._outbox.put(COORDINATOR, Relay(rank), write_frame(message), order)
            return []
        return self.route(self._collect(rank, message, now))

    def relayed(self, host: int, rank: int, message: Message, now: float) -> Outgoing:
        """A message that another host has passed on; returns those to local workers.

        Raises:
            ParameterServerError: it is not the host's business.
        """
        if self._places.host != COORDINATOR:
            if host != COORDINATOR or rank not in self._places.local:
                raise ParameterServerError(f"it relayed a message for rank {rank}")
            return [(rank, message)]
        if rank not in self._places.ranks_of(host):
            raise ParameterServerError(f"it relayed a message of rank {rank}")
        return self.route(self._collect(rank, message, now))

    def _collect(self, rank: int, message: Message, now: float) -> Outgoing:
        """At the coordinator: one worker's message."""
        match message:
            case Hello(pid=pid):
                self._members.joined(rank, pid, now)
            case Close(clock=clock):
                self._members.moved(rank, now, clock)
                return self._rendezvous.close(rank, message)
            case Meet():
                self._members.moved(rank, now)
                return self._rendezvous.meet(rank, message)
            case Bye():
                self._members.left(rank)
        return []

    def route(self, out: Outgoing) -> Outgoing:
        """Relay what is for other hosts' workers; returns the rest."""
        here: Outgoing = []
        for rank, message in out:
            if rank in self._places.local:
                here.append((rank, message))
                continue
            host, order = self._places.host_of(rank), _urgency(message)
            self._outbox.put(host, Relay(rank), write_frame(message), order)
        return here


def _urgency(message: Message) -> Order:
    """Ends of clocks come after the clock's numbers: nobody waits for them soon."""
    if isinstance(message, _OF_CLOCKS):
        return message.clock, LAST_TABLE
    return FIRST
