"""Agents of several hosts over MPI (mpi4py): rank i of the world is host i's agent.

Each letter is two messages: its head with the payload's size, and the payload, which
MPI takes from where it lies. For fabrics that MPI knows how to use.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from struct import Struct
from typing import Any

import numpy as np

from geeps_caffe.device.array import Array
from geeps_caffe.errors import ParameterServerError, UsageError
from geeps_caffe.paramserver.hosts.outbox import Outbox
from geeps_caffe.paramserver.hosts.passport import Passport
from geeps_caffe.paramserver.hosts.peer_messages import Greeting
from geeps_caffe.paramserver.hosts.peer_wire import MOST_BYTES, read_head, write_head
from geeps_caffe.paramserver.hosts.places import Places
from geeps_caffe.paramserver.transport.network import Arrived, Ended

HEAD, BODY = 1, 2  # tags
_SIZE = Struct("<q")
_HEAD_BYTES = 128  # more than any head
SEND_AHEAD = 4  # letters handed to MPI, per host
LOOK_SECONDS = 0.001  # between two looks while closing
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


@dataclass
class _Sent:
    """Messages on their way, with what they are made of."""

    requests: list[Any]
    parts: tuple[bytes, Array]


class MpiNetwork:
    """See `network.Network`.

    Raises:
        UsageError: there are more or fewer processes than hosts.
    """

    def __init__(
        self, places: Places, passport: Passport, communicator: Any = None
    ) -> None:
        self._world = communicator or world()
        self._passport = passport
        if self._world.Get_size() != places.hosts:
            raise UsageError(
                f"MPI has started {self._world.Get_size()} processes, but there are "
                f"{places.hosts} hosts; start one process a host"
            )
        self._sent: dict[int, list[_Sent]] = {host: [] for host in places.others}
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
        """Letters whose heads are there; their payloads are on the way."""
        found: list[Arrived] = []
        while len(found) < AT_ONCE and self._world.Iprobe(tag=HEAD):
            found.append(self._take())
        self.more = bool(found)
        return found

    def _take(self) -> Arrived:
        from mpi4py import MPI  # noqa: PLC0415

        status = MPI.Status()
        head = bytearray(_HEAD_BYTES)
        self._world.Recv(head, tag=HEAD, status=status)
        host = status.Get_source()
        (size,) = _SIZE.unpack_from(head)
        if not 0 <= size <= MOST_BYTES:
            raise ParameterServerError(f"host {host} announced {size} bytes")
        message = read_head(bytes(head[_SIZE.size : status.Get_count()]))
        data = np.empty(size, np.uint8)
        if size:
            self._world.Recv(data, source=host, tag=BODY)
        return Arrived(host, message, data)

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
        """Wait until all hosts' letters have left; what still comes is dropped."""
        while not all(self._has_left(host) for host in self._sent):
            self._drop()
        closed = self._world.Ibarrier()
        while not closed.Test():
            self._drop()

    def _has_left(self, host: int) -> bool:
        """Whether MPI has taken all letters to a host."""
        waiting = self._sent[host]
        waiting[:] = [s for s in waiting if not all(r.Test() for r in s.requests)]
        return not waiting

    def _drop(self) -> None:
        """Receive what nobody reads any more: its sender waits for that."""
        if not self.receive():
            time.sleep(LOOK_SECONDS)
