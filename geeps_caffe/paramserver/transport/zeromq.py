"""Agents of several hosts over ZeroMQ (TCP).

Each agent has one socket that all others' letters come to (ROUTER), and one or more
(DEALER) for its letters to each other host. What comes is believed only after a
greeting that fits; anything else is refused, and told of, without any harm.
"""

import contextlib
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from geeps_caffe.errors import ParameterServerError, UsageError
from geeps_caffe.paramserver.hosts.outbox import Letter, Outbox, nbytes
from geeps_caffe.paramserver.hosts.passport import Passport, compare, read_passport
from geeps_caffe.paramserver.hosts.peer_messages import Failed, Greeting, PeerMessage
from geeps_caffe.paramserver.hosts.peer_wire import (
    MOST_BYTES,
    pack,
    read_head,
    unpack,
    write_head,
)
from geeps_caffe.paramserver.hosts.places import Places
from geeps_caffe.paramserver.transport.addresses import Address
from geeps_caffe.paramserver.transport.doorman import Doorman, Watch
from geeps_caffe.paramserver.transport.keys import ClusterKey, zmq_module
from geeps_caffe.paramserver.transport.network import Arrived, Ended

_LOG = logging.getLogger(__name__)
SEND_AHEAD = 4  # messages handed to ZeroMQ: what follows may still be overtaken
RECEIVE_AHEAD = 64  # messages that wait here, per connection
LINGER_MS = 2000  # to deliver the last words
TOGETHER_BYTES = 1 << 13  # of a payload that goes in one part with its head
AT_ONCE = 32  # letters taken in one call
MOST_WARNINGS = 20  # about strangers; the rest is counted


@dataclass
class _Way:
    """A connection for letters to a host."""

    host: int
    socket: Any
    watch: Watch
    greeted: bool = False


class ZeroMqNetwork:
    """See `network.Network`.

    Args:
        places: all hosts.
        passport: what a greeting must agree with.
        addresses: of all hosts' agents; this host's is bound.
        key: demanded unless all addresses are loopback ones.
        channels: connections to each host.
        trusted: nobody else can reach the hosts, so that no key is demanded.

    Raises:
        UsageError: a key is needed, or the port is taken.
    """

    def __init__(
        self,
        places: Places,
        passport: Passport,
        addresses: Sequence[Address],
        key: ClusterKey | None = None,
        channels: int = 1,
        trusted: bool = False,
    ) -> None:
        self._zmq = zmq = zmq_module()
        # plain numbers: the flags of pyzmq are slow to combine
        self._events = int(zmq.EVENTS)
        self._in, self._out = int(zmq.POLLIN), int(zmq.POLLOUT)
        self._at_once, self._more = int(zmq.DONTWAIT), int(zmq.SNDMORE)
        self._places, self._passport = places, passport
        self._key, self._channels = key, channels
        local = all(address.loopback for address in addresses)
        if key is None and trusted and not local:
            _LOG.warning("no key: whoever reaches the ports may change the training")
        elif key is None and not local:
            raise UsageError(
                "hosts other than 127.0.0.1 take part, so a key is needed: make one "
                "with 'geeps-caffe keygen FILE', copy it to all hosts, and give -key "
                "FILE"
            )
        self._context = zmq.Context(io_threads=2)
        self._doorman = Doorman(self._context, key)
        self._inlet = self._bind(addresses[places.host], local)
        self._guard = Watch(self._inlet)
        self._hosts: dict[bytes, int] = {}  # connections that have greeted
        self._warnings = 0
        self._ended: list[Ended] = []
        self._refused: list[Ended] = []
        self._by_descriptor: dict[int, Any] = {}
        self._ways = {
            host: [self._connect(host, addresses[host]) for _ in range(channels)]
            for host in places.others
        }

    # Connections

    def _bind(self, address: Address, local: bool) -> Any:
        zmq = self._zmq
        inlet = self._context.socket(zmq.ROUTER)
        inlet.linger = LINGER_MS
        inlet.rcvhwm = RECEIVE_AHEAD
        inlet.maxmsgsize = MOST_BYTES
        inlet.ipv6 = True
        if self._key is not None:
            inlet.curve_server = True
            inlet.curve_publickey = self._key.public
            inlet.curve_secretkey = self._key.secret
        url = address.url if local else f"tcp://*:{address.port}"
        try:
            inlet.bind(url)
        except zmq.ZMQError as error:
            self._context.destroy(linger=0)
            raise UsageError(
                f"can't listen at {url}: {error.strerror}; does another run use the "
                "port? (give -port, or wait for it to end)"
            ) from error
        return inlet

    def _connect(self, host: int, address: Address) -> _Way:
        zmq = self._zmq
        way = self._context.socket(zmq.DEALER)
        way.linger = LINGER_MS
        way.sndhwm = SEND_AHEAD
        way.immediate = True  # letters wait in the outbox until there is a connection
        way.maxmsgsize = MOST_BYTES
        way.ipv6 = True
        way.reconnect_ivl, way.reconnect_ivl_max = 50, 1000
        if self._key is not None:
            way.curve_serverkey = self._key.public
            way.curve_publickey = self._key.public
            way.curve_secretkey = self._key.secret
        watch = Watch(way)
        way.connect(address.url)
        return _Way(host, way, watch)

    def descriptors(self) -> list[int]:
        """Of all sockets, and of what watches them."""
        sockets = [self._inlet, *self._doorman.sockets, *self._guard.sockets]
        for ways in self._ways.values():
            for way in ways:
                sockets += [way.socket, *way.watch.sockets]
        self._by_descriptor = {s.getsockopt(self._zmq.FD): s for s in sockets}
        return list(self._by_descriptor)

    def attend(self, descriptor: int) -> None:
        """Make a socket read its news: until then its descriptor stays readable."""
        self._by_descriptor[descriptor].getsockopt(self._events)

    # Sending

    def send(self, host: int, outbox: Outbox) -> bool:
        """On the channel of the first letter's lane; a greeting goes first on each.

        Small letters that follow each other go as one block.
        """
        letter = outbox.next(host)
        assert letter is not None
        way = self._way(host, letter)
        if not self._ready(way.socket, self._out):
            return False
        if not way.greeted:
            self._greet(way)
            return way.greeted
        letters = self._small(host, way, outbox) or [outbox.take(host)]
        try:
            self._put(way, letters)
        except self._zmq.Again:  # the connection broke just now
            for taken in letters:
                outbox.give_back(host, taken)
            return False
        return True

    def _put(self, way: _Way, letters: Sequence[Letter]) -> None:
        """A large letter in two parts, or small ones as a block, without greetings."""
        first = letters[0]
        if nbytes(first.payload) > TOGETHER_BYTES:
            way.socket.send(write_head(first.message), self._at_once | self._more)
            way.socket.send(first.payload, copy=False)
            return
        block = pack(
            (letter.message, bytes(letter.payload))
            for letter in letters
            if not isinstance(letter.message, Greeting)
        )
        if block:
            way.socket.send(block, self._at_once)

    def _way(self, host: int, letter: Letter) -> _Way:
        ways = self._ways[host]
        return ways[letter.lane % len(ways)]

    def _small(self, host: int, way: _Way, outbox: Outbox) -> list[Letter]:
        """Small letters for one way that follow each other, taken."""
        found: list[Letter] = []
        room = TOGETHER_BYTES
        while (letter := outbox.next(host)) is not None:
            room -= nbytes(letter.payload)
            if room < 0 or self._way(host, letter) is not way:
                break
            found.append(outbox.take(host))
        return found

    def _greet(self, way: _Way) -> None:
        greeting = Greeting(self._places.host)
        block = pack([(greeting, self._passport.as_json())])
        with contextlib.suppress(self._zmq.Again):
            way.socket.send(block, self._at_once)
            way.greeted = True

    def _ready(self, socket: Any, what: int) -> bool:
        return bool(int(socket.getsockopt(self._events)) & what)

    # Receiving

    def receive(self) -> list[Arrived]:
        """Letters of hosts that have greeted, and greetings that fit."""
        self._doorman.look()
        found: list[Arrived] = []
        inlet = self._inlet
        for _ in range(AT_ONCE):
            if not self._ready(inlet, self._in):
                break
            sender, *parts = inlet.recv_multipart(copy=False)
            found += self._read(sender.bytes, parts)
        return found

    def _read(self, sender: bytes, parts: list[Any]) -> list[Arrived]:
        found: list[Arrived] = []
        try:
            for message, payload in _letters(parts):
                data = np.frombuffer(payload, np.uint8)
                host = self._hosts.get(sender)
                if host is None:
                    host = self._admit(sender, message, data)
                found.append(Arrived(host, message, data))
        except ParameterServerError as error:
            if sender in self._hosts:
                self._ended.append(Ended(self._hosts[sender], str(error), True))
            else:
                self._refuse(sender, str(error))
        return found

    def _admit(self, sender: bytes, message: Any, data: Any) -> int:
        """The host that a new connection's first letter greets for."""
        if not isinstance(message, Greeting):
            raise ParameterServerError("a connection without a greeting")
        host = message.host
        if host not in self._ways:
            raise ParameterServerError(f"a greeting of host number {host}")
        known = sum(other == host for other in self._hosts.values())
        if known >= self._channels:
            raise ParameterServerError(f"a second host number {host}")
        lines = compare(self._passport, read_passport(data.tobytes()))
        if lines:
            mine = self._places.describe(self._places.host)
            reason = (
                f"{self._places.describe(host)} does not run the same job as {mine}; "
                "they have:\n" + "\n".join(lines)
            )
            self._refused.append(Ended(host, reason, True))
            raise ParameterServerError(reason)
        self._hosts[sender] = host
        return host

    def _refuse(self, sender: bytes, reason: str) -> None:
        """Tell a stranger, and the log; nothing else changes."""
        self._warnings += 1
        if self._warnings <= MOST_WARNINGS:
            _LOG.warning("refused a connection: %s", reason)
        if self._warnings == MOST_WARNINGS:
            _LOG.warning("more refused connections will not be told of")
        zmq = self._zmq
        answer = [sender, write_head(Failed(True)), reason.encode()]
        try:
            self._inlet.send_multipart(answer, zmq.DONTWAIT)
        except zmq.ZMQError:  # it is gone already, or reads nothing
            return

    # Ends

    def refused(self) -> list[Ended]:
        """Greetings that did not fit."""
        refused, self._refused = self._refused, []
        return refused

    def ended(self) -> list[Ended]:
        """Refusals of other hosts, and connections that broke."""
        self._look_at_strangers()
        for ways in self._ways.values():
            for way in ways:
                self._look(way)
        ended, self._ended = self._ended, []
        return ended

    def _look_at_strangers(self) -> None:
        for event in self._guard.events():
            if event.failed:
                self._warn(f"{event.what} from {event.address}")
        for text in self._doorman.refused():
            self._warn(text)

    def _warn(self, text: str) -> None:
        self._warnings += 1
        if self._warnings <= MOST_WARNINGS:
            _LOG.warning("refused a connection: %s", text)

    def _look(self, way: _Way) -> None:
        note: Callable[[Ended], None] = self._ended.append
        for event in way.watch.events():
            if event.failed:
                note(Ended(way.host, event.what, True))
            elif event.disconnected and way.greeted:
                note(Ended(way.host, "its connection was closed"))
        while self._ready(way.socket, self._in):
            parts = way.socket.recv_multipart()
            note(Ended(way.host, parts[-1].decode(errors="replace"), True))

    def close(self) -> None:
        """Close all sockets; the last letters have two seconds to leave."""
        self._doorman.close()
        self._guard.close()
        for ways in self._ways.values():
            for way in ways:
                way.watch.close()
                way.socket.close()
        self._inlet.close()
        self._context.term()


def _letters(parts: list[Any]) -> Iterable[tuple[PeerMessage, Any]]:
    """A block of small letters, or one large letter in two parts."""
    if len(parts) == 1:
        return unpack(parts[0].bytes)
    if len(parts) == 2:
        return [(read_head(parts[0].bytes), parts[1].buffer)]
    raise ParameterServerError(f"a letter of {len(parts)} parts")
