"""All that one host's agent decides in a run of several hosts, without I/O.

It is for its workers what `host.Host` is on a single host. Besides, agents greet each
other, compare their workers' tables, give signs of life, and relay what is for all
workers (meetings, flags) to the first host, the *coordinator*, and its answers back.
"""

from collections.abc import Callable

from geeps_caffe.device.array import Array
from geeps_caffe.errors import ParameterServerError
from geeps_caffe.paramserver.greetings import answer_late, check_hello
from geeps_caffe.paramserver.hosts.agreement import Agreement, ready_letter
from geeps_caffe.paramserver.hosts.coordination import COORDINATOR, Coordination
from geeps_caffe.paramserver.hosts.early import EarlyLetters
from geeps_caffe.paramserver.hosts.outbox import Outbox
from geeps_caffe.paramserver.hosts.passport import Passport, check, read_passport
from geeps_caffe.paramserver.hosts.peer_messages import (
    NUMBERS,
    Alive,
    Failed,
    Gone,
    Greeting,
    PeerMessage,
    Ready,
    Relay,
    Released,
)
from geeps_caffe.paramserver.hosts.peers import Peers
from geeps_caffe.paramserver.hosts.pieces import PIECE_BYTES, WHOLE_BYTES
from geeps_caffe.paramserver.hosts.places import Places
from geeps_caffe.paramserver.hosts.shared_tables import SharedTables
from geeps_caffe.paramserver.hosts.wire_types import WireType
from geeps_caffe.paramserver.limits import Limits
from geeps_caffe.paramserver.membership import Membership
from geeps_caffe.paramserver.memory import Memory, nbytes
from geeps_caffe.paramserver.messages import (
    Beat,
    Bye,
    Close,
    Gather,
    Granted,
    Hello,
    Lost,
    Meet,
    Message,
    Outgoing,
    Propose,
    Publish,
    Pull,
    Push,
    Refused,
)
from geeps_caffe.paramserver.wire import read_frame

LONGEST_REASON = 1 << 20  # bytes of why the run is over


class ClusterHost:
    """One host of several.

    Args:
        places: all hosts and ranks.
        passport: what all hosts must have in common.
        allocate: gives a zeroed block of so many bytes, 64-byte aligned.
        now: seconds of a steady clock, as all later times.
        limits: how long a wait may last.
        wire: how numbers travel.
        piece_bytes: what is moved at a time; the same on all hosts.
        whole_bytes: of the largest table that all hosts compute; also the same.

    Letters for other hosts are left in `outbox`. Once `failure` is set the run is
    over: it says why.
    """

    def __init__(
        self,
        places: Places,
        passport: Passport,
        allocate: Callable[[int], Array],
        now: float,
        limits: Limits,
        wire: WireType,
        piece_bytes: int = PIECE_BYTES,
        whole_bytes: int = WHOLE_BYTES,
    ) -> None:
        self.places, self.ranks = places, places.ranks
        self.local = places.local  # the ranks that this agent serves
        self.failure: str | None = None
        self.refused = False  # the failure is the program's fault, nobody died
        self.outbox = Outbox(places.hosts)
        self._passport, self._allocate = passport, allocate
        self._limits, self._wire = limits, wire
        self._piece_bytes, self._whole_bytes = piece_bytes, whole_bytes
        names = [places.names[places.host_of(rank)] for rank in range(places.ranks)]
        self._members = Membership(names, limits, now, places.local)
        self._common = Coordination(places, self.outbox, self._members)
        self._peers = Peers(places, limits, now)
        self._agreement = Agreement(places)
        self._tables: SharedTables | None = None
        self._early = EarlyLetters()
        self._said_gone = False
        self._beaten = now
        for host in places.others:
            self.outbox.put(host, Greeting(places.host, host), passport.as_json())

    # State

    @property
    def busy(self) -> bool:
        """Whether `work` has something to do; after a failure it has not."""
        if self._tables is None or self.failure is not None:
            return False
        return self._tables.busy

    @property
    def over(self) -> bool:
        """Whether all hosts know that all workers have left, or the run has failed.

        Who ends sooner might break its connections before its goodbye is heard.
        """
        if self.failure is not None:
            return True
        if not self._said_gone or not self._peers.all_done:
            return False
        return not any(self.outbox.is_first(host) for host in self.places.others)

    def has_left(self, rank: int) -> bool:
        """Whether a local worker said goodbye."""
        return self._members.has_left(rank)

    def has_greeted(self, host: int) -> bool:
        """Whether a host's greeting has come."""
        return self._peers.has_greeted(host)

    # Local workers

    def receive(self, rank: int, message: Message, now: float) -> Outgoing:
        """Take a message of a local worker; returns messages to local workers."""
        if self.failure is not None:
            return answer_late(rank, message, self.failure, self.refused)
        self._members.heard(rank, now)
        try:
            return self._take(rank, message, now)
        except ParameterServerError as error:
            return self._refuse(str(error))

    def _take(self, rank: int, message: Message, now: float) -> Outgoing:
        match message:
            case Push() | Pull() | Publish() | Gather():
                return self._to_tables(rank, message)
            case Close():
                self._members.closed(rank, message.clock)
                out = self._to_tables(rank, message)
                return out + self._common.send(rank, message, now)
            case Beat():
                return []
            case Hello():
                return self._greet(rank, message, now)
            case Propose():
                return self._propose(rank, message)
            case Meet():
                return self._common.send(rank, message, now)
            case Bye():
                self._members.left(rank)
                self._common.send(rank, message, now)
                self._look_for_end()
                return []
        raise ParameterServerError(f"rank {rank} sent {message}, which no worker may")

    def _to_tables(self, rank: int, message: Message) -> Outgoing:
        if self._tables is None:
            raise ParameterServerError("there are no tables yet")
        worker = rank - self.places.local[0]
        return self._ranked(self._tables.receive(worker, message))

    def _ranked(self, out: Outgoing) -> Outgoing:
        if not out:
            return out
        first = self.places.local[0]
        return [(first + worker, message) for worker, message in out]

    def _greet(self, rank: int, hello: Hello, now: float) -> Outgoing:
        check_hello(hello, rank, self.ranks)
        if self.places.host != COORDINATOR:
            self._members.came(rank, hello.pid, now)
        return self._common.send(rank, hello, now)

    # Tables

    def _propose(self, rank: int, proposal: Propose) -> Outgoing:
        scheme = self._agreement.propose(rank, proposal)
        if scheme is None:
            return []
        for host in self.places.others:
            self.outbox.put(host, *ready_letter(scheme))
        return self._grant()

    def _grant(self) -> Outgoing:
        """Make the tables once all hosts have proposed the same."""
        scheme = self._agreement.reached()
        if scheme is None:
            return []
        workers = len(self.places.local)
        size = nbytes(scheme, workers)
        memory = Memory(scheme, workers, self._allocate(size))
        self._tables = SharedTables(
            scheme,
            memory,
            self.places,
            self.outbox,
            self._wire,
            self._piece_bytes,
            self._whole_bytes,
        )
        out: Outgoing = [
            (rank, Granted(size, worker, workers, self.places.hosts))
            for worker, rank in enumerate(self.places.local)
        ]
        for host, message, data in self._early.take():
            out += self._ranked(self._tables.hear(host, message, data))
        return out

    def work(self) -> Outgoing:
        """Do one piece of the arithmetic that is due."""
        assert self._tables is not None
        try:
            return self._ranked(self._tables.work())
        except ParameterServerError as error:
            return self._refuse(str(error))

    # Other hosts

    def hear(
        self, host: int, message: PeerMessage, data: Array, now: float
    ) -> Outgoing:
        """Take a letter of another host; returns messages to local workers."""
        if self.failure is not None:
            return []
        self._peers.heard(host, now)
        try:
            return self._hear(host, message, data, now)
        except ParameterServerError as error:
            return self._refuse(f"{self.places.describe(host)}: {error}")

    def _hear(
        self, host: int, message: PeerMessage, data: Array, now: float
    ) -> Outgoing:
        if self._tables is not None and isinstance(message, NUMBERS):
            return self._ranked(self._tables.hear(host, message, data))
        match message:
            case Greeting():
                names = [self.places.describe(h) for h in (self.places.host, host)]
                check(self._passport, read_passport(data.tobytes()), *names)
                self._peers.greet(host)
            case Alive():
                pass
            case Ready(digest=digest):
                text = data.tobytes().decode(errors="replace")
                self._agreement.ready(host, digest, text)
                return self._grant()
            case Relay(rank=rank):
                frame = read_frame(data.tobytes())
                return self._common.relayed(host, rank, frame, now)
            case Gone():
                self._peers.leave(host)
                self.outbox.put(host, Released())
            case Released():
                if not self._said_gone:
                    raise ParameterServerError(
                        "it answers a goodbye before it was said"
                    )
                self._peers.release(host)
            case Failed(refused=refused):
                self.refused = refused
                return self._fail(data.tobytes().decode(errors="replace"), tell=False)
            case _ if self._tables is None:
                self._keep_early(host, message, data)
            case _:
                return self._ranked(self._tables.hear(host, message, data))
        return []

    def _keep_early(self, host: int, message: PeerMessage, data: Array) -> None:
        """A letter about tables of a host that has heard sooner that all agree.

        It can have heard so only if all workers here agree; and it gets no further
        than the tables' slack, nor assigns more than there is.
        """
        scheme = self._agreement.local
        if scheme is None:
            raise ParameterServerError(
                f"it sent {type(message).__name__} before there are tables"
            )
        most = self.places.hosts * nbytes(scheme, self.ranks)
        self._early.keep(host, message, data, most)

    def refuse(self, host: int, reason: str, now: float) -> None:
        """Something that said to be a host was turned away; it may come yet."""
        self._peers.refuse(host, reason, now)

    def unreachable(self, host: int, reason: str) -> Outgoing:
        """The connection to a host has ended, or could not be made."""
        if self.failure is not None or self._let_go(host):
            return []
        where = self.places.describe(host)
        return self._fail(f"lost {where}: {reason}{self._last_clock}")

    def _let_go(self, host: int) -> bool:
        """Wait no more for a host; False if something is still needed of it.

        That is its block of the tables, until all workers here have left, too.
        """
        if not self._said_gone or not self._peers.has_gone(host):
            return False
        self._peers.release(host)
        self.outbox.close(host)
        return True

    def refused_by(self, host: int, reason: str) -> Outgoing:
        """A host does not let this one in; after its end, whoever has its port."""
        if self.failure is not None or self._let_go(host):
            return []
        return self._refuse(f"{self.places.describe(host)} refuses: {reason}")

    # Ends

    def lost(self, rank: int, reason: str) -> Outgoing:
        """A local worker's connection or process has ended; `reason` says how."""
        if self._members.has_left(rank) or self.failure is not None:
            return []
        return self._fail(f"lost {self._members.describe(rank)}: {reason}")

    def ended(self, rank: int, reason: str, in_peace: bool) -> Outgoing:
        """A process ended without a connection: it had nothing to share, or failed."""
        if in_peace and not self._members.has_joined(rank):
            self._members.left(rank)
            self._look_for_end()
        return self.lost(rank, reason)

    def _look_for_end(self) -> None:
        if self._members.all_left and not self._said_gone:
            self._said_gone = True
            for host in self.places.others:
                self.outbox.put(host, Gone())

    def _refuse(self, reason: str) -> Outgoing:
        if self.failure is not None:
            return []
        self.refused = True
        return self._fail(reason)

    def _fail(self, reason: str, tell: bool = True) -> Outgoing:
        self.failure = reason
        if tell:
            text = reason.encode()[:LONGEST_REASON]
            for host in self.places.others:
                self.outbox.put(host, Failed(self.refused), text)
        message = Refused(reason) if self.refused else Lost(reason)
        return [(rank, message) for rank in self.places.local]

    def tick(self, now: float) -> Outgoing:
        """Time passes: signs of life, reports about waits, and their limits."""
        if self.failure is not None:
            return []
        lost = self._members.lost(now)
        if lost is not None:
            return self._fail(lost)
        missed = self._peers.missed(now)
        if missed is not None and not self._let_go(missed.host):
            self.refused = missed.refused
            return self._fail(missed.reason + self._last_clock)
        if now - self._beaten >= self._limits.beat / 2:
            self._beaten = now
            for host in self.places.others:
                if not self._peers.is_done(host):
                    self.outbox.put(host, Alive())
        out: Outgoing = [(rank, Beat()) for rank in self.places.local]
        if self.places.host == COORDINATOR:
            for message in self._members.news(now):
                told: Outgoing = [(rank, message) for rank in range(self.ranks)]
                out += self._common.route(told)
        return out

    @property
    def _last_clock(self) -> str:
        """How far this host is, to be told with another one's loss."""
        clock = max(self._members.clock(rank) for rank in self.places.local)
        if clock < 0:
            return ""
        here = self.places.describe(self.places.host)
        return f"; the last clock of {here} was {clock}"
