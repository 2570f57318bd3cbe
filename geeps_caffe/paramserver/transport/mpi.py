"""Agents of several hosts over MPI (mpi4py): rank i of the world is host i's agent.

Each letter is two messages: its head with the payload's size, and the payload, which
MPI takes from where it lies. For fabrics that MPI knows how to use.
"""

import atexit
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from struct import Struct
from typing import Any

import numpy as np

from geeps_caffe.device.array import Array
from geeps_caffe.errors import (
    EXIT_FAILURE,
    EXIT_INPUT,
    EXIT_PEER_LOST,
    GeepsCaffeError,
    ParameterServerError,
    UsageError,
)
from geeps_caffe.paramserver.hosts.outbox import Outbox
from geeps_caffe.paramserver.hosts.passport import Passport
from geeps_caffe.paramserver.hosts.peer_messages import Greeting
from geeps_caffe.paramserver.hosts.peer_wire import MOST_BYTES, read_head, write_head
from geeps_caffe.paramserver.hosts.places import Places
from geeps_caffe.paramserver.limits import Limits
from geeps_caffe.paramserver.transport.network import Arrived, Ended
from geeps_caffe.paramserver.workers import EXIT_SECONDS
from prototxt.errors import PrototxtError

HEAD, BODY = 1, 2  # tags
_SIZE = Struct("<q")
_HEAD_BYTES = 128  # more than any head
SEND_AHEAD = 4  # letters handed to MPI, per host
LOOK_SECONDS = 0.001  # between two looks while closing
#: For the last letters to leave, and all hosts to be at the end: none is ended before
#: it has ended its own workers, the hard way at last.
CLOSE_SECONDS = Limits.grace + 3 * EXIT_SECONDS
AT_ONCE = 32  # letters taken in one call


def world() -> Any:
    """MPI's communicator of all agents.

    Raises:
        UsageError: mpi4py is not installed.
    """
    try:
        from mpi4py import MPI  # noqa: PLC0415  only few clusters need it
    except ImportError as error:
        raise UsageError(
            "MPI between hosts needs mpi4py and an MPI: "
            "pip install 'geeps-caffe[mpi]' mpich"
        ) from error
    return MPI.COMM_WORLD.Dup()


@contextmanager
def ending_together() -> Iterator[None]:
    """After an error within, MPI ends all processes when this one ends.

    They would wait for this one, and this one, at MPI's own end, for them.
    """
    try:
        yield
    except GeepsCaffeError as error:
        end_all(error.exit_code)
        raise
    except Exception as error:
        end_all(EXIT_INPUT if isinstance(error, PrototxtError) else EXIT_FAILURE)
        raise


def end_all(code: int) -> None:
    """Have MPI end all processes, with this exit code, when this one has said why."""
    if "mpi4py.MPI" not in sys.modules:
        return
    everyone = sys.modules["mpi4py.MPI"].COMM_WORLD
    if everyone.Get_size() > 1:
        atexit.register(everyone.Abort, code)


@dataclass
class _Coming:
    """A payload on its way, of a letter whose head is there."""

    request: Any
    letter: Arrived


@dataclass
class _Sent:
    """Messages on their way, with what they are made of."""

    requests: list[Any]
    parts: tuple[bytes, Array]


class MpiNetwork:
    """See `network.Network`; `close_seconds` are granted to `close`.

    Raises:
        UsageError: there are more or fewer processes than hosts.
    """

    def __init__(
        self,
        places: Places,
        passport: Passport,
        communicator: Any = None,
        close_seconds: float = CLOSE_SECONDS,
    ) -> None:
        self._world = communicator or world()
        self._close_seconds = close_seconds
        self._passport = passport
        if self._world.Get_size() != places.hosts:
            raise UsageError(
                f"MPI has started {self._world.Get_size()} processes, but there are "
                f"{places.hosts} hosts; start one process a host"
            )
        from mpi4py import MPI  # noqa: PLC0415

        self._any, self._status = MPI.ANY_SOURCE, MPI.Status()
        self._sent: dict[int, list[_Sent]] = {host: [] for host in places.others}
        self._coming: dict[int, _Coming] = {}
        self.more = False

    def send(self, host: int, outbox: Outbox) -> bool:
        """At most a few letters are on their way to a host."""
        if not self._has_left(host) and len(self._sent[host]) >= SEND_AHEAD:
            return False
        letter = outbox.take(host)
        payload: Any = letter.payload
        if isinstance(letter.message, Greeting):
            payload = self._passport.as_json()
        data = np.frombuffer(memoryview(payload).cast("B"), np.uint8)
        head = _SIZE.pack(data.nbytes) + write_head(letter.message)
        requests = [self._world.Isend(head, host, HEAD)]
        if data.nbytes:
            requests.append(self._world.Isend(data, host, BODY))
        self._sent[host].append(_Sent(requests, (head, data)))
        return True

    def receive(self) -> list[Arrived]:
        """Letters that are here as a whole; a host's come one after the other."""
        found: list[Arrived] = []
        for host, coming in list(self._coming.items()):
            if coming.request.Test():
                del self._coming[host]
                found.append(coming.letter)
        while len(found) < AT_ONCE and (source := self._next_source()) is not None:
            found += self._take(source)
        self.more = bool(found or self._coming)
        return found

    def _next_source(self) -> int | None:
        """A host whose next head is there."""
        if not self._coming:
            return self._probe(self._any)
        sources = (self._probe(h) for h in self._sent if h not in self._coming)
        return next((source for source in sources if source is not None), None)

    def _probe(self, source: int) -> int | None:
        if not self._world.Iprobe(source, HEAD, self._status):
            return None
        return int(self._status.Get_source())

    def _take(self, host: int) -> list[Arrived]:
        """A letter, or none while its payload is on the way."""
        head = bytearray(_HEAD_BYTES)
        self._world.Recv(head, host, HEAD, self._status)
        (size,) = _SIZE.unpack_from(head)
        if not 0 <= size <= MOST_BYTES:
            raise ParameterServerError(f"host {host} announced {size} bytes")
        message = read_head(bytes(head[_SIZE.size : self._status.Get_count()]))
        data = np.empty(size, np.uint8)
        letter = Arrived(host, message, data)
        if size:
            request = self._world.Irecv(data, host, BODY)
            if not request.Test():
                self._coming[host] = _Coming(request, letter)
                return []
        return [letter]

    def ended(self) -> list[Ended]:
        """MPI itself ends all processes when one dies."""
        return []

    def refused(self) -> list[Ended]:
        """MPI lets nobody in from outside."""
        return []

    def descriptors(self) -> Sequence[int]:
        """None: MPI must be asked."""
        return ()

    def attend(self, descriptor: int) -> None:
        """There is none."""

    def close(self) -> None:
        """Wait until all hosts' letters have left; what still comes is dropped.

        With a host that stands still, this would have no end: MPI then ends all.
        """
        end = time.monotonic() + self._close_seconds
        while not all(self._has_left(host) for host in self._sent):
            if not self._drop(end):
                return
        closed = self._world.Ibarrier()
        while not closed.Test():
            if not self._drop(end):
                return

    def _has_left(self, host: int) -> bool:
        """Whether MPI has taken all letters to a host."""
        waiting = self._sent[host]
        waiting[:] = [s for s in waiting if not all(r.Test() for r in s.requests)]
        return not waiting

    def _drop(self, end: float) -> bool:
        """Receive what nobody reads any more: its sender waits for that.

        False if it is too late.
        """
        if time.monotonic() > end:
            end_all(EXIT_PEER_LOST)
            return False
        if not self.receive():
            time.sleep(LOOK_SECONDS)
        return True
