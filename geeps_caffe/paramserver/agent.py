"""The agent of a host: one process that owns the tables and does the arithmetic.

It moves messages between the workers' sockets and the state machine in `host.py`.
"""

import contextlib
import logging
import math
import os
import selectors
import socket
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import ClassVar

from geeps_caffe.device.array import Array
from geeps_caffe.errors import ParameterServerError
from geeps_caffe.paramserver.awake import AwakeClock
from geeps_caffe.paramserver.host import Host
from geeps_caffe.paramserver.hosts.cluster_host import ClusterHost
from geeps_caffe.paramserver.limits import Limits
from geeps_caffe.paramserver.lookout import TAKEN_SECONDS, Lookout
from geeps_caffe.paramserver.messages import Hello, Message, Outgoing, Refused
from geeps_caffe.paramserver.strangers import Strangers
from geeps_caffe.paramserver.transport.shared import Peer, make_block, map_block

_LOG = logging.getLogger(__name__)
SEE_OFF_SECONDS = 0.05  # between two looks at processes that are about to end
WATCH_SECONDS = 0.5  # between two looks at processes that have not connected


class Agent:
    """Listens on a socket; `run` serves until all workers have left or one is lost.

    Args:
        path: of the Unix socket to make, in a folder that only the user can enter.
        make_host: makes the state machine, given what allocates the tables' memory.
        limits: how long a wait may last.
        explain: says how a rank's process ended, once its connection is closed.
        ended: the ranks whose processes have ended, each with True if in peace.
    """

    #: Between two looks at the sockets: small tables are told of together.
    work_seconds: ClassVar[float] = 0.0003
    taken_seconds: ClassVar[float] = TAKEN_SECONDS

    def __init__(
        self,
        path: Path,
        make_host: Callable[[Callable[[int], Array]], Host | ClusterHost],
        limits: Limits | None = None,
        explain: Callable[[int], str] | None = None,
        ended: Callable[[], Iterable[tuple[int, bool]]] = tuple,
    ) -> None:
        self.path = path
        self._limits = limits or Limits()
        self._explain = explain or (lambda rank: "its connection was closed")
        self._ended = ended
        self._now = AwakeClock(self._limits.beat)
        self.host = make_host(self._allocate)
        self._block: int | None = None
        self._peers: dict[int, Peer] = {}
        self._stopping = False
        self._busy = False  # the state machine has something to do
        self._strangers = Strangers()
        self._lookout = Lookout(taken=self.taken_seconds)
        self._selector = selectors.DefaultSelector()
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(path))
        self._listener.listen(len(self.host.local))
        self._listener.setblocking(False)
        self._selector.register(self._listener, selectors.EVENT_READ)

    def _allocate(self, nbytes: int) -> Array:
        self._block = make_block(nbytes)
        return map_block(self._block, nbytes)

    def run(self) -> None:
        """Serve. Afterwards `host.failure` says why it ended, None if in peace."""
        interval = min(self._limits.beat, self._limits.report, WATCH_SECONDS) / 2
        due = time.monotonic() + interval
        while not self.host.over and not self._stopping:
            self._flush()
            self._serve(max(0.0, due - time.monotonic()))
            self._work()
            if time.monotonic() >= due:
                self._look()
                due = time.monotonic() + interval
        self._flush()
        self._finish()
        if self.host.failure is not None:
            _LOG.error("%s", self.host.failure)

    def see_off(self) -> None:
        """Wait until all processes have ended; after a failure, so long as is granted.

        A worker that connects only now is told why the run is over.
        """
        failed = self.host.failure is not None
        end = time.monotonic() + (self._limits.grace if failed else math.inf)
        workers = len(self.host.local)
        while len(list(self._ended())) < workers and time.monotonic() < end:
            self._busy = False  # nobody needs what is left to be done
            self._serve(SEE_OFF_SECONDS)
            self._flush()
            self._finish()

    def stop(self) -> None:
        """Make `run` return soon; may be called by a signal handler."""
        self._stopping = True

    def close(self) -> None:
        """Close all sockets and the memory; workers keep what they have mapped."""
        for key in list(self._selector.get_map().values()):
            if isinstance(key.data, Peer):
                key.data.close()
        with contextlib.suppress(OSError):
            self._listener.close()
        self._selector.close()
        if self._block is not None:
            os.close(self._block)

    def _work(self) -> None:
        """Some of what is due: small tables together, so that one message wakes all."""
        host = self.host
        self._busy = host.busy
        if not self._busy:
            return
        end = time.monotonic() + self.work_seconds
        while self._busy:
            self._send(host.work())
            self._busy = host.busy
            if time.monotonic() >= end:
                return

    def _look(self) -> None:
        """At the time, and at processes that ended without ever connecting.

        What has come meanwhile is heard before anybody counts as silent.
        """
        self._hear_all()
        for rank, in_peace in self._ended():
            if rank not in self._peers:
                self._send(self.host.ended(rank, self._explain(rank), in_peace))
        self._send(self.host.tick(self._now()))

    def _hear_all(self) -> None:
        self._serve(0.0)

    def _serve(self, wait: float) -> None:
        wait = 0.0 if self._busy else wait
        for key, events in self._lookout.wait(self._selector.select, wait):
            if key.fileobj is self._listener:
                self._accept()
            elif isinstance(key.data, Peer):
                self._attend(key.data, events)
            else:
                self._attend_other(key.fd)

    def _attend_other(self, descriptor: int) -> None:
        """Something else than a worker's connection is readable."""

    def _attend(self, peer: Peer, events: int) -> None:
        if events & selectors.EVENT_WRITE:
            peer.flush()
            self._watch_backlog(peer)
        if events & selectors.EVENT_READ:
            self._read(peer)

    def _accept(self) -> None:
        connection, _ = self._listener.accept()
        peer = Peer(connection)
        self._selector.register(connection, selectors.EVENT_READ, peer)

    def _read(self, peer: Peer) -> None:
        try:
            messages = peer.receive()
        except ParameterServerError as error:
            if peer.rank is None:
                self._turn_away(peer, str(error))
            else:
                self._end(peer, str(error))
            return
        if messages is None:
            self._end(peer, None)
            return
        for message in messages:
            if peer.rank is None and (fault := self._admit(peer, message)):
                self._turn_away(peer, fault)
                return
            assert peer.rank is not None
            self._send(self.host.receive(peer.rank, message, self._now()))

    def _admit(self, peer: Peer, message: Message) -> str | None:
        """The first message must be the hello of a rank that is not yet here.

        Returns what is wrong, None if nothing is.
        """
        if not isinstance(message, Hello):
            return "a connection did not begin with a hello"
        if message.rank not in self.host.local or message.rank in self._peers:
            return f"a second or unknown rank {message.rank} wants to join"
        peer.rank = message.rank
        self._peers[message.rank] = peer
        return None

    def _turn_away(self, peer: Peer, reason: str) -> None:
        """Tell a stranger, and the log; nothing else changes."""
        self._strangers.warn(reason)
        peer.send(Refused(reason), None)
        peer.flush()
        self._end(peer, None)

    def _end(self, peer: Peer, reason: str | None) -> None:
        self._selector.unregister(peer.socket)
        peer.close()
        if peer.rank is not None:
            del self._peers[peer.rank]
            self._lose(peer.rank, reason)

    def _lose(self, rank: int, reason: str | None) -> None:
        if not self.host.has_left(rank):
            self._send(self.host.lost(rank, reason or self._explain(rank)))

    def _send(self, out: Outgoing) -> None:
        """Leave messages with the peers until `_flush`; what goes with memory goes."""
        for rank, message in out:
            peer = self._peers.get(rank)
            if peer is not None:
                peer.send(message, self._block)

    def _flush(self) -> None:
        for peer in self._peers.values():
            if not peer.backlog:
                continue
            left = peer.flush()
            if left or peer.watched:
                self._watch_backlog(peer)

    def _finish(self) -> None:
        """Whoever has been told why the run has failed hears no more."""
        if self.host.failure is None:
            return
        for peer in self._peers.values():
            if not peer.backlog:
                peer.finish()

    def _watch_backlog(self, peer: Peer) -> None:
        """Ask to be told when a worker that is slow to read has done so."""
        peer.watched = peer.backlog
        writing = selectors.EVENT_WRITE if peer.backlog else 0
        self._selector.modify(peer.socket, selectors.EVENT_READ | writing, peer)
