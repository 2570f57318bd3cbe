"""All that one host's agent decides in a run of several hosts, without I/O.

It is for its workers what `host.Host` is on a single host. Besides, agents greet each
other, compare their workers' tables, give signs of life, and relay what is for all
workers (meetings, flags) to the first host, the *coordinator*, and its answers back.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from geeps_caffe.device.array import Array
from geeps_caffe.errors import ParameterServerError
from geeps_caffe.paramserver.hosts.coordination import COORDINATOR, Coordination
from geeps_caffe.paramserver.hosts.outbox import Outbox
from geeps_caffe.paramserver.hosts.passport import Passport, compare, read_passport
from geeps_caffe.paramserver.hosts.peer_messages import (
    Alive,
    Failed,
    Gone,
    Greeting,
    PeerMessage,
    Ready,
    Relay,
)
from geeps_caffe.paramserver.hosts.pieces import PIECE_BYTES
from geeps_caffe.paramserver.hosts.places import Places
from geeps_caffe.paramserver.hosts.shared_tables import SharedTables
from geeps_caffe.paramserver.hosts.wire_types import WireType
from geeps_caffe.paramserver.limits import Limits
from geeps_caffe.paramserver.membership import Membership
from geeps_caffe.paramserver.memory import Memory, nbytes
from geeps_caffe.paramserver.messages import (
    PROTOCOL,
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
    Waiting,
)
from geeps_caffe.paramserver.scheme import Scheme, difference, read_scheme
from geeps_caffe.paramserver.wire import read_frame

LONGEST_TEXT = 1 << 20  # bytes of a scheme's text that travels; the digest decides


@dataclass
class _Peer:
    """What is known of another host."""

    heard: float
    greeted: bool = False
    gone: bool = False
    ready: tuple[bytes, str] | None = None  # digest and text of its tables
    refused: tuple[float, str] | None = None  # since when, and why


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
    ) -> None:
        self.places, self.ranks = places, places.ranks
        self.local = places.local  # the ranks that this agent serves
        self.failure: str | None = None
        self.refused = False  # the failure is the program's fault, nobody died
        self.outbox = Outbox(places.hosts)
        self._passport, self._allocate = passport, allocate
        self._limits, self._wire, self._piece_bytes = limits, wire, piece_bytes
        names = [places.names[places.host_of(rank)] for rank in range(places.ranks)]
        self._members = Membership(names, limits, now, places.local)
        self._common = Coordination(places, self.outbox, self._members)
        self._peers = {host: _Peer(now) for host in places.others}
        self._proposals: dict[int, Scheme] = {}
        self._scheme: Scheme | None = None
        self._tables: SharedTables | None = None
        self._early: list[tuple[int, PeerMessage, Array]] = []
        self._said_gone = False
        self._beaten = now
        for host in places.others:
            self.outbox.put(host, Greeting(places.host), passport.as_json())

    # State

    @property
    def busy(self) -> bool:
        """Whether `work` has something to do."""
        return self._tables is not None and self._tables.busy

    @property
    def over(self) -> bool:
        """Whether all workers of all hosts have left, or the run has failed."""
        gone = self._said_gone and all(peer.gone for peer in self._peers.values())
        return self.failure is not None or gone

    def has_left(self, rank: int) -> bool:
        """Whether a local worker said goodbye."""
        return self._members.has_left(rank)

    def has_greeted(self, host: int) -> bool:
        """Whether a host's greeting has come."""
        return self._peers[host].greeted

    def has_gone(self, host: int) -> bool:
        """Whether a host's workers have all left in peace."""
        return self._peers[host].gone

    # Local workers

    def receive(self, rank: int, message: Message, now: float) -> Outgoing:
        """Take a message of a local worker; returns messages to local workers."""
        if self.failure is not None:
            return self._tell_late(rank, message)
        self._members.heard(rank, now)
        try:
            return self._take(rank, message, now)
        except ParameterServerError as error:
            return self._refuse(str(error))

    def _tell_late(self, rank: int, message: Message) -> Outgoing:
        """Who joins after the end hears why it is over."""
        if not isinstance(message, Hello):
            return []
        reason = str(self.failure)
        return [(rank, Refused(reason) if self.refused else Lost(reason))]

    def _take(self, rank: int, message: Message, now: float) -> Outgoing:
        match message:
            case Beat():
                return []
            case Hello():
                return self._greet(rank, message, now)
            case Propose():
                return self._propose(rank, message)
            case Push() | Pull() | Publish() | Gather():
                return self._to_tables(rank, message)
            case Close():
                self._members.closed(rank, message.clock)
                out = self._to_tables(rank, message)
                return out + self._common.send(rank, message, now)
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
        first = self.places.local[0]
        return [(first + worker, message) for worker, message in out]

    def _greet(self, rank: int, hello: Hello, now: float) -> Outgoing:
        if hello.protocol != PROTOCOL:
            raise ParameterServerError(
                f"rank {rank} speaks protocol {hello.protocol}, this agent {PROTOCOL}; "
                "install one version everywhere"
            )
        if hello.ranks != self.ranks:
            raise ParameterServerError(
                f"rank {rank} is one of {hello.ranks}, this agent serves {self.ranks}"
            )
        if self.places.host != COORDINATOR:
            self._members.joined(rank, hello.pid, now)
        return self._common.send(rank, hello, now)

    # Tables

    def _propose(self, rank: int, proposal: Propose) -> Outgoing:
        scheme = read_scheme(proposal.scheme)
        for other, known in self._proposals.items():
            if known.digest != scheme.digest:
                self._differ(known.text, scheme.text, f"rank {other}", f"rank {rank}")
        self._proposals[rank] = scheme
        if len(self._proposals) < len(self.places.local):
            return []
        self._scheme = scheme
        text = scheme.text.encode()[:LONGEST_TEXT]
        for host in self.places.others:
            self.outbox.put(host, Ready(bytes.fromhex(scheme.digest)), text)
        return self._grant()

    def _differ(self, mine: str, theirs: str, my_name: str, their_name: str) -> None:
        raise ParameterServerError(
            f"{my_name} and {their_name} do not share the same tables:\n"
            + difference(mine, theirs, my_name, their_name)
        )

    def _grant(self) -> Outgoing:
        """Make the tables once all hosts have proposed the same."""
        if self._scheme is None or any(p.ready is None for p in self._peers.values()):
            return []
        for host, peer in self._peers.items():
            assert peer.ready is not None
            digest, text = peer.ready
            if digest.hex() != self._scheme.digest:
                mine = self.places.describe(self.places.host)
                self._differ(self._scheme.text, text, mine, self.places.describe(host))
        workers = len(self.places.local)
        size = nbytes(self._scheme, workers)
        memory = Memory(self._scheme, workers, self._allocate(size))
        self._tables = SharedTables(
            self._scheme,
            memory,
            self.places,
            self.outbox,
            self._wire,
            self._piece_bytes,
        )
        out: Outgoing = [
            (rank, Granted(size, worker, workers, self.places.hosts))
            for worker, rank in enumerate(self.places.local)
        ]
        early, self._early = self._early, []
        for host, message, data in early:
            out += self._ranked(self._tables.hear(host, message, data))
        return out

    def work(self) -> Outgoing:
        """Do one piece of the arithmetic that is due."""
        assert self._tables is not None
        return self._ranked(self._tables.work())

    # Other hosts

    def hear(
        self, host: int, message: PeerMessage, data: Array, now: float
    ) -> Outgoing:
        """Take a letter of another host; returns messages to local workers."""
        if self.failure is not None:
            return []
        self._peers[host].heard = now
        try:
            return self._hear(host, message, data, now)
        except ParameterServerError as error:
            return self._refuse(f"{self.places.describe(host)}: {error}")

    def _hear(
        self, host: int, message: PeerMessage, data: Array, now: float
    ) -> Outgoing:
        peer = self._peers[host]
        match message:
            case Greeting():
                self._check_passport(host, read_passport(data.tobytes()))
                peer.greeted = True
            case Alive():
                pass
            case Ready(digest=digest):
                peer.ready = digest, data.tobytes().decode(errors="replace")
                return self._grant()
            case Relay(rank=rank):
                frame = read_frame(data.tobytes())
                return self._common.relayed(host, rank, frame, now)
            case Gone():
                peer.gone = True
            case Failed(refused=refused):
                self.refused = refused
                return self._fail(data.tobytes().decode(errors="replace"), tell=False)
            case _ if self._tables is None:
                self._early.append((host, message, np.array(data)))
            case _:
                return self._ranked(self._tables.hear(host, message, data))
        return []

    def _check_passport(self, host: int, other: Passport) -> None:
        lines = compare(self._passport, other)
        if lines:
            mine, theirs = (self.places.describe(h) for h in (self.places.host, host))
            raise ParameterServerError(
                f"it does not run the same job ({mine} has the first value, {theirs} "
                "the second):\n" + "\n".join(lines)
            )

    def refuse(self, host: int, reason: str, now: float) -> None:
        """Something that said to be a host was turned away; it may come yet."""
        peer = self._peers[host]
        if not peer.greeted and peer.refused is None:
            peer.refused = now, reason

    def unreachable(self, host: int, reason: str) -> Outgoing:
        """The connection to a host has ended, or could not be made."""
        if self.failure is not None or self._peers[host].gone:
            return []
        return self._fail(f"lost {self.places.describe(host)}: {reason}")

    def refused_by(self, host: int, reason: str) -> Outgoing:
        """A host does not let this one in."""
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
            text = reason.encode()[:LONGEST_TEXT]
            for host in self.places.others:
                self.outbox.put(host, Failed(self.refused), text)
        message = Refused(reason) if self.refused else Lost(reason)
        return [(rank, message) for rank in self.places.local]

    def tick(self, now: float) -> Outgoing:
        """Time passes: signs of life, reports about waits, and their limits."""
        if self.failure is not None:
            return []
        lost = self._members.lost(now) or self._silent_host(now)
        if lost is not None:
            return self._fail(lost)
        if now - self._beaten >= self._limits.beat / 2:
            self._beaten = now
            for host in self.places.others:
                self.outbox.put(host, Alive())
        out: Outgoing = [(rank, Beat()) for rank in self.places.local]
        waiting = self._members.waiting(now)
        if waiting and self.places.host == COORDINATOR:
            told: Outgoing = [(rank, Waiting(waiting)) for rank in range(self.ranks)]
            out += self._common.route(told)
        return out

    def _silent_host(self, now: float) -> str | None:
        for host, peer in self._peers.items():
            if peer.refused is not None and not peer.greeted:
                since, reason = peer.refused
                if now - since > self._limits.grace:
                    self.refused = True
                    return reason
            allowed = self._limits.silence if peer.greeted else self._limits.join
            if peer.gone or now - peer.heard <= allowed:
                continue
            what = "no sign of life" if peer.greeted else "no connection"
            return f"{what} for {now - peer.heard:.0f} s from " + (
                self.places.describe(host)
            )
        return None
