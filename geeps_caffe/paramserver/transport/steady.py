"""Sends memory from where it lies, without a copy and without a word when it has gone.

pyzmq can send without a copy too, but then a thread of its own wakes up for every
message to release the memory, and takes the interpreter away from the agent. Here the
last few arrays are just kept, longer than ZeroMQ can need them.
"""

import ctypes
import errno
from collections import deque
from collections.abc import Callable
from typing import Any

from geeps_caffe.device.array import Array
from geeps_caffe.paramserver.transport.keys import zmq_module


class SteadySender:
    """For one socket.

    Args:
        socket: ZeroMQ's, of one connection.
        ahead: the most messages that wait in it.
        find: gives ZeroMQ's function; None: `find_send`.
    """

    def __init__(
        self,
        socket: Any,
        ahead: int,
        find: Callable[[Any], Any] | None = None,
    ) -> None:
        zmq = zmq_module()
        self._error = zmq.ZMQError
        self._socket = socket
        self._send = (find or find_send)(zmq)
        # one is being written besides those that wait; their number is told late
        self._kept: deque[Array] = deque(maxlen=2 * ahead + 2)

    def send(self, data: Array) -> None:
        """The last part of a message; `data` must not change before it has left.

        The message's first part has been taken, so this one will be.
        """
        if self._send is None:
            self._socket.send(data, copy=False)
            return
        assert data.flags.c_contiguous
        place = data.__array_interface__["data"][0]
        self._kept.append(data)
        while self._send(self._socket.underlying, place, data.nbytes, 0) < 0:
            if (number := ctypes.get_errno()) != errno.EINTR:  # a signal may come
                raise self._error(number or None)


def find_send(zmq: Any) -> Any:
    """ZeroMQ's `zmq_send_const`, in the library that pyzmq uses; None if not found."""
    try:
        path = zmq.backend.cython._zmq.__file__
        send = ctypes.CDLL(path, use_errno=True).zmq_send_const
    except (AttributeError, OSError):
        return None
    pointer = ctypes.c_void_p
    send.argtypes = (pointer, pointer, ctypes.c_size_t, ctypes.c_int)
    return send
