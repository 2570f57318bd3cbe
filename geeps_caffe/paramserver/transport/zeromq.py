"""Agents of several hosts over ZeroMQ (TCP).

Each agent has one socket that all others' letters come to (ROUTER), and one or more
(DEALER) for its letters to each other host. What comes is believed only after a
greeting that fits; anything else is refused, and told of, without any harm.
"""

import contextlib
import logging
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from geeps_caffe.device.array import Array
from geeps_caffe.errors import ParameterServerError, UsageError
from geeps_caffe.paramserver.hosts.outbox import Letter, Outbox, nbytes
from geeps_caffe.paramserver.hosts.passport import Passport
from geeps_caffe.paramserver.hosts.peer_messages import Failed, Greeting, PeerMessage
from geeps_caffe.paramserver.hosts.peer_wire import pack, read_head, unpack, write_head
from geeps_caffe.paramserver.hosts.places import Places
from geeps_caffe.paramserver.transport.addresses import Address
from geeps_caffe.paramserver.transport.doorman import Doorman, Watch
from geeps_caffe.paramserver.transport.guests import Guests
from geeps_caffe.paramserver.transport.keys import ClusterKey, zmq_module
from geeps_caffe.paramserver.transport.network import Arrived, Ended
from geeps_caffe.paramserver.transport.sockets import Way, make_inlet, make_way

_LOG = logging.getLogger(__name__)
TOGETHER_BYTES = 1 << 13  # of a payload that goes in one part with its head
AT_ONCE = 32  # letters taken in one call


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
        local = all(address.loopback for address in addresses)
        _check_key(key, local, trusted)
        self._context = zmq.Context(io_threads=2)
        self._doorman = Doorman(self._context, key)
        self._inlet = make_inlet(self._context, addresses[places.host], key, local)
        self._guard = Watch(self._inlet)
        self._guests = Guests(places, passport, channels, self._answer)
        self._ended: list[Ended] = []
        self._by_descriptor: dict[int, Any] = {}
        self.more = False  # the inlet may have something
        self._ways = {
            host: [
                make_way(self._context, host, addresses[host], key)
                for _ in range(channels)
            ]
            for host in places.others
        }
        self._by_socket = {way.socket: way for way in self._all_ways}

    @property
    def _all_ways(self) -> list[Way]:
        return [way for ways in self._ways.values() for way in ways]

    def descriptors(self) -> list[int]:
        """Of all sockets, and of what watches them."""
        sockets = [self._inlet, *self._doorman.sockets, *self._guard.sockets]
        for way in self._all_ways:
            sockets += [way.socket, *way.watch.sockets]
        self._by_descriptor = {s.getsockopt(self._zmq.FD): s for s in sockets}
        return list(self._by_descriptor)

    def attend(self, descriptor: int) -> None:
        """Make a socket read its news: until then its descriptor stays readable.

        To ask a socket costs system calls, so it is asked only now.
        """
        socket = self._by_descriptor[descriptor]
        if socket is self._inlet:
            self.more = True  # perhaps; `receive` asks
            return
        ready = socket.getsockopt(self._events)
        if socket in self._by_socket and ready & self._out:
            self._by_socket[socket].full = False

    # Sending

    def send(self, host: int, outbox: Outbox) -> bool:
        """On the channel of the first letter's lane; a greeting goes first on each.

        Small letters that follow each other go as one block.
        """
        letter = outbox.next(host)
        assert letter is not None
        way = self._way(host, letter)
        if way.full:
            return False
        if not way.greeted:
            self._greet(way)
            return way.greeted
        letters = self._small(host, way, outbox) or [outbox.take(host)]
        try:
            self._put(way, letters)
        except self._zmq.Again:  # full, or the connection broke just now
            way.full = True
            for taken in letters:
                outbox.give_back(host, taken)
            return False
        return True

    def _put(self, way: Way, letters: Sequence[Letter]) -> None:
        """A large letter in two parts, or small ones as a block, without greetings."""
        first = letters[0]
        if nbytes(first.payload) > TOGETHER_BYTES:
            way.socket.send(write_head(first.message), self._at_once | self._more)
            if isinstance(first.payload, bytes):
                way.socket.send(first.payload)
            else:
                way.steady.send(first.payload)
            return
        block = pack(
            [
                (letter.message, bytes(letter.payload))
                for letter in letters
                if not isinstance(letter.message, Greeting)
            ]
        )
        if block:
            way.socket.send(block, self._at_once)

    def _way(self, host: int, letter: Letter) -> Way:
        ways = self._ways[host]
        return ways[letter.lane % len(ways)] if len(ways) > 1 else ways[0]

    def _small(self, host: int, way: Way, outbox: Outbox) -> list[Letter]:
        """Small letters for one way that follow each other, taken."""
        found: list[Letter] = []
        room = TOGETHER_BYTES
        while (letter := outbox.next(host)) is not None:
            room -= nbytes(letter.payload)
            if room < 0 or self._way(host, letter) is not way:
                break
            found.append(outbox.take(host))
        return found

    def _greet(self, way: Way) -> None:
        greeting = Greeting(self._places.host, way.host)
        block = pack([(greeting, self._passport.as_json())])
        try:
            way.socket.send(block, self._at_once)
            way.greeted = True
        except self._zmq.Again:  # not connected yet
            way.full = True

    # Receiving

    def receive(self) -> list[Arrived]:
        """Letters of hosts that have greeted, and greetings that fit."""
        self._doorman.look()
        found: list[Arrived] = []
        for _ in range(AT_ONCE):
            if not self.more:
                break
            found += self._take()
            self._look_for_more()
        return found

    def _look_for_more(self) -> None:
        self.more = bool(self._inlet.getsockopt(self._events) & self._in)

    def _take(self) -> list[Arrived]:
        """What is in the next message, if one is there."""
        inlet = self._inlet
        try:
            sender = inlet.recv(self._at_once)
        except self._zmq.Again:
            return []
        frames = [inlet.recv(copy=False)]
        while frames[-1].more:
            frames.append(inlet.recv(copy=False))
        found: list[Arrived] = []
        try:
            for message, data in _letters(frames):
                host = self._guests.find(sender)
                if host is None:
                    host = self._guests.admit(sender, message, data)
                found.append(Arrived(host, message, data))
        except ParameterServerError as error:
            host = self._guests.find(sender)
            if host is None:
                self._guests.refuse(sender, str(error))
            else:
                self._ended.append(Ended(host, str(error), True))
        return found

    def _answer(self, stranger: bytes, reason: str) -> None:
        zmq = self._zmq
        answer = [stranger, write_head(Failed(True)), reason.encode()]
        with contextlib.suppress(zmq.ZMQError):  # it is gone already, or reads nothing
            self._inlet.send_multipart(answer, zmq.DONTWAIT)
        self._look_for_more()  # sending may have read what the descriptor would tell

    # Ends

    def refused(self) -> list[Ended]:
        """Greetings that did not fit."""
        return self._guests.refused()

    def ended(self) -> list[Ended]:
        """Refusals of other hosts, and connections that broke."""
        for event in self._guard.events():
            if event.failed:
                self._guests.warn(event.refusal)
        for text in self._doorman.refused():
            self._guests.warn(text)
        for way in self._all_ways:
            self._look(way)
        ended, self._ended = self._ended, []
        return ended

    def _look(self, way: Way) -> None:
        note: Callable[[Ended], None] = self._ended.append
        for event in way.watch.events():
            if event.failed:
                note(Ended(way.host, event.what, True))
            elif event.disconnected and way.greeted:
                note(Ended(way.host, "its connection was closed"))
        while (ready := way.socket.getsockopt(self._events)) & self._in:
            parts = way.socket.recv_multipart()
            note(Ended(way.host, parts[-1].decode(errors="replace"), True))
        way.full = not ready & self._out

    def close(self) -> None:
        """Close all sockets; the last letters have two seconds to leave."""
        self._doorman.close()
        self._guard.close()
        for way in self._all_ways:
            way.watch.close()
            way.socket.close()
        self._inlet.close()
        self._context.term()


def _check_key(key: ClusterKey | None, local: bool, trusted: bool) -> None:
    if key is not None or local:
        return
    if not trusted:
        raise UsageError(
            "hosts other than 127.0.0.1 take part, so a key is needed: make one with "
            "'geeps-caffe keygen FILE', copy it to all hosts, and give -key FILE"
        )
    _LOG.warning("no key: whoever reaches the ports may change the training")


def _letters(frames: list[Any]) -> list[tuple[PeerMessage, Array]]:
    """A block of small letters, or one large letter in two parts.

    Raises:
        ParameterServerError: it is something else.
    """
    if len(frames) == 1:
        small = unpack(frames[0].bytes)
        return [(message, np.frombuffer(data, np.uint8)) for message, data in small]
    if len(frames) == 2:
        return [(read_head(frames[0].bytes), np.frombuffer(frames[1].buffer, np.uint8))]
    raise ParameterServerError(f"a letter of {len(frames)} parts")
