"""Arrays that ZeroMQ sends from where they lie."""

import ctypes
import errno
import sys

import numpy as np
import pytest

from geeps_caffe.paramserver.transport.keys import zmq_module
from geeps_caffe.paramserver.transport.steady import SteadySender, find_send

zmq = pytest.importorskip("zmq")
AHEAD = 2
SIZE = 100_000


@pytest.fixture
def pair():
    """Two connected sockets; the first one takes `AHEAD` messages."""
    context = zmq.Context()
    sender, receiver = context.socket(zmq.PUSH), context.socket(zmq.PULL)
    sender.sndhwm = AHEAD
    receiver.rcvtimeo = 10_000
    port = receiver.bind_to_random_port("tcp://127.0.0.1")
    sender.connect(f"tcp://127.0.0.1:{port}")
    yield sender, receiver
    context.destroy(linger=0)


def test_the_bytes_of_an_array_arrive_as_one_part(pair):
    sender, receiver = pair
    data = np.arange(SIZE, dtype=np.float32)
    steady = SteadySender(sender, AHEAD)
    sender.send(b"head", zmq.SNDMORE)
    steady.send(data[10:])
    head, body = receiver.recv_multipart()
    assert head == b"head"
    assert (np.frombuffer(body, np.float32) == data[10:]).all()


def test_many_arrays_arrive_though_the_caller_forgets_each_at_once(pair):
    sender, receiver = pair
    steady = SteadySender(sender, AHEAD)
    for number in range(50):
        steady.send(np.full(SIZE, number, np.float32))
        got = np.frombuffer(receiver.recv(), np.float32)
        assert (got == number).all()


def test_arrays_that_wait_are_kept_and_old_ones_are_not(pair):
    sender, receiver = pair
    steady = SteadySender(sender, AHEAD)
    data = np.zeros(SIZE, np.float32)
    before = sys.getrefcount(data)
    steady.send(data)
    assert sys.getrefcount(data) == before + 1
    receiver.recv()
    for _ in range(4 * AHEAD):
        steady.send(np.zeros(SIZE, np.float32))
        receiver.recv()
    assert sys.getrefcount(data) == before


def test_without_the_c_function_pyzmq_sends(pair):
    sender, receiver = pair
    steady = SteadySender(sender, AHEAD, find=lambda zmq: None)
    data = np.arange(SIZE, dtype=np.float32)
    steady.send(data)
    assert (np.frombuffer(receiver.recv(), np.float32) == data).all()


def test_the_c_function_is_found_in_pyzmqs_wheels():
    assert find_send(zmq_module()) is not None


def sends(*numbers):
    """A send that fails with each of these numbers of errors, then does it."""
    left = list(numbers)

    def send(socket, place, nbytes, flags):
        if not left:
            return nbytes
        ctypes.set_errno(left.pop(0))
        return -1

    return lambda zmq: send


def test_a_signal_while_sending_is_no_error(pair):
    sender, _ = pair
    steady = SteadySender(sender, AHEAD, sends(errno.EINTR, errno.EINTR))
    steady.send(np.zeros(4, np.float32))


def test_other_errors_are_zeromqs(pair):
    sender, _ = pair
    steady = SteadySender(sender, AHEAD, sends(errno.ENOTSOCK))
    with pytest.raises(zmq.ZMQError, match="socket"):
        steady.send(np.zeros(4, np.float32))
