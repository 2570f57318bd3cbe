"""Processes of one host: a socket as doorbell, tables in memory that all map.

The block of tables has no name in any file system: it is made by `memfd_create`
(elsewhere an unlinked temporary file) and its descriptor goes through the socket. So
it is gone with the last process that maps it, however that ends, and it needs no
room under /dev/shm.
"""

import contextlib
import mmap
import os
import select
import socket
import sys
import tempfile
import threading
from array import array
from pathlib import Path

import numpy as np

from geeps_caffe.device.array import Array
from geeps_caffe.errors import ParameterServerError, PeerLost
from geeps_caffe.paramserver.lookout import Lookout
from geeps_caffe.paramserver.messages import Granted, Message
from geeps_caffe.paramserver.wire import FrameReader, write_frame

READ_BYTES = 1 << 16  # at a time; frames are small
_ROOM = socket.CMSG_SPACE(array("i").itemsize)  # for a descriptor beside them
_GONE = "the host agent is gone (its connection was closed)"


def make_block(nbytes: int) -> int:
    """A file descriptor of `nbytes` zeroed bytes of memory without a name.

    Raises:
        ParameterServerError: there is not so much memory.
    """
    if sys.platform == "linux":
        descriptor = os.memfd_create("geeps-caffe", os.MFD_CLOEXEC)
    else:
        descriptor, path = tempfile.mkstemp(prefix="geeps-caffe-")
        os.unlink(path)
    try:
        _reserve(descriptor, nbytes)
    except (OSError, OverflowError, ValueError) as error:
        os.close(descriptor)
        reason = getattr(error, "strerror", None) or str(error)
        raise ParameterServerError(
            f"the tables need {nbytes} bytes of memory: {reason}"
        ) from error
    return descriptor


def _reserve(descriptor: int, nbytes: int) -> None:
    """Take the memory now, where that can be done: later a lack of it would kill.

    What the machine does not have at all is refused before any of it is taken.
    """
    if sys.platform == "linux":
        mmap.mmap(-1, nbytes, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()
        os.posix_fallocate(descriptor, 0, nbytes)
    else:
        os.ftruncate(descriptor, nbytes)


def map_block(descriptor: int, nbytes: int) -> Array:
    """The memory as uint8; page-aligned, shared with all who map it."""
    return np.frombuffer(mmap.mmap(descriptor, nbytes), np.uint8)


class SharedLink:
    """A worker's end; see `base.Link`.

    Args:
        path: of the agent's socket.
        looks: whether waits begin with looks, as `lookout` says. Where what is waited
            for comes from other hosts, the cores are rather left to those who send it.

    Raises:
        PeerLost: there is no agent.
    """

    def __init__(self, path: Path, looks: bool = True) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._socket.connect(str(path))
        except OSError as error:
            self._socket.close()
            raise PeerLost(f"no host agent at {path}: {error.strerror}") from error
        self._poll = select.poll()
        self._poll.register(self._socket, select.POLLIN)
        self._sending = threading.Lock()
        self._lookout = Lookout() if looks else Lookout(soon=0.0)
        self._frames = FrameReader()
        self._received: list[Message] = []
        self._descriptors: list[int] = []

    def send(self, *messages: Message) -> None:
        """Whole frames; a broken connection is told of by `receive`.

        The agent's last message, which says why it ended, is still to be read then.
        """
        with self._sending, contextlib.suppress(OSError):
            self._socket.sendall(b"".join(map(write_frame, messages)))

    def receive(self, timeout: float) -> Message | None:
        """The oldest message not yet taken."""
        if not self._received and not self._fill(timeout):
            return None
        return self._received.pop(0) if self._received else None

    def _fill(self, timeout: float) -> bool:
        if not self._lookout.wait(self._look, timeout):
            return False
        try:
            data, extra, _, _ = self._socket.recvmsg(READ_BYTES, _ROOM)
        except OSError as error:
            raise PeerLost(_GONE) from error
        for _, _, descriptors in extra:
            self._descriptors += array("i", descriptors)
        if not data:
            raise PeerLost(_GONE)
        self._received += self._frames.feed(data)
        return True

    def _look(self, timeout: float) -> bool:
        return bool(self._poll.poll(timeout * 1000))

    def memory(self, nbytes: int) -> Array:
        """The agent's block, mapped."""
        if not self._descriptors:
            raise ParameterServerError("the host agent sent no memory")
        descriptor = self._descriptors.pop()
        try:
            return map_block(descriptor, nbytes)
        finally:
            os.close(descriptor)

    def await_end(self) -> None:
        """The agent closes its end for writing when a run has failed."""
        poll = select.poll()
        poll.register(self._socket, getattr(select, "POLLRDHUP", select.POLLHUP))
        poll.poll()

    def close(self) -> None:
        """Close the socket; who waits for its end is woken."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


class Peer:
    """The agent's end of one worker's connection: never blocks."""

    def __init__(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        self.socket = connection
        self.rank: int | None = None  # until it says hello
        self.watched = False  # whether someone waits to be told that it can be written
        self._frames = FrameReader()
        self._unsent = bytearray()

    @property
    def backlog(self) -> bool:
        """Whether something waits until the worker reads."""
        return bool(self._unsent)

    def send(self, message: Message, block: int | None) -> None:
        """Keep for `flush`; Granted goes at once, with the block's descriptor."""
        if isinstance(message, Granted) and block is not None:
            self.flush()
            with contextlib.suppress(OSError):
                socket.send_fds(self.socket, [write_frame(message)], [block])
            return
        self._unsent += write_frame(message)

    def flush(self) -> bool:
        """Send what the socket takes now; returns whether something is left.

        A dead worker is noticed on reading.
        """
        try:
            while self._unsent:
                del self._unsent[: self.socket.send(self._unsent)]
        except BlockingIOError:
            pass
        except OSError:
            self._unsent.clear()
        return self.backlog

    def receive(self) -> list[Message] | None:
        """The messages that have come; None when the worker's end is closed."""
        try:
            data = self.socket.recv(READ_BYTES)
        except BlockingIOError:
            return []
        except OSError:
            return None
        return self._frames.feed(data) if data else None

    def finish(self) -> None:
        """Nothing more will be sent; see `SharedLink.await_end`."""
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Close the socket."""
        self.socket.close()
