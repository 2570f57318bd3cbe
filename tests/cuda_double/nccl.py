"""cupy.cuda.nccl for doubles in several threads or processes of one host.

Who makes a ticket is the hub of those that join with it: they send it their arrays and
get the sum, in an agent's order. As on GPUs who waits for one that never comes
waits until the communicator is aborted, and what was summed then is of no use.
"""

import contextlib
import ctypes
import os
import pickle
import secrets
import socket
import struct
import threading

import numpy as np

LENGTH = struct.Struct("q")
TICKET = 128


class NcclError(RuntimeError):
    """cupy.cuda.nccl.NcclError."""


def send(end, value):
    data = pickle.dumps(value)
    end.sendall(LENGTH.pack(len(data)) + data)


def receive(end):
    """The next value; None when the other end is gone, or this one shut down."""
    try:
        head = _exactly(end, LENGTH.size)
        return pickle.loads(_exactly(end, *LENGTH.unpack(head)))
    except (OSError, EOFError):
        return None


def _exactly(end, count):
    data = bytearray()
    while len(data) < count:
        part = end.recv(count - len(data))
        if not part:
            raise EOFError
        data += part
    return bytes(data)


class Hub:
    """Takes one value of each that joined, and answers all at once; again and again."""

    def __init__(self):
        self.name = f"\0nccl-double-{os.getpid()}-{secrets.token_hex(8)}"
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.name)
        self.listener.listen()
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        with contextlib.ExitStack() as opened:
            self.serve(opened)

    def join(self, opened):
        """The connections of all ranks, each with what it said."""
        ends = {}
        with self.listener:
            while True:
                end, _ = self.listener.accept()
                opened.enter_context(end)
                size, rank, device = receive(end)
                ends[rank] = (end, size, device)
                if len(ends) == size:
                    return ends

    def serve(self, opened):
        ends = self.join(opened)
        fault = _fault_of([(s, d) for _, s, d in ends.values()])
        row = [ends[rank][0] for rank in sorted(ends)]
        for end in row:
            send(end, fault)
        while not fault:
            calls = [receive(end) for end in row]
            if None in calls:
                return  # somebody is gone: nobody is answered any more
            answers = list(zip(row, _answers(calls), strict=True))
            for end, answer in reversed(answers):  # the first, whose process may end
                send(end, answer)


def _fault_of(joined):
    if len({size for size, _ in joined}) > 1:
        return "NCCL_ERROR_INVALID_ARGUMENT: sizes differ"
    if len({device for _, device in joined}) < len(joined):
        return "NCCL_ERROR_INVALID_USAGE: one GPU for two ranks"
    return None


def _sum(parts):
    """Even and odd ones apart, as an agent adds."""
    return parts[0] if len(parts) == 1 else _sum(parts[::2]) + _sum(parts[1::2])


def _answers(calls):
    """(fault, array for who gets one) for each."""
    whats = {what for what, _ in calls}
    if len(whats) > 1:
        return [(f"the GPUs' calls differ: {sorted(whats)}", None)] * len(calls)
    (name, root, _), *_ = whats
    if name == "broadcast":
        total = calls[root][1]
    else:
        total = _sum([array for _, array in calls])
    takes_it = [name != "reduce" or rank == root for rank in range(len(calls))]
    return [(None, total if takes else None) for takes in takes_it]


class Nccl:
    """The module."""

    available = True
    NcclError = NcclError
    NCCL_FLOAT32, NCCL_SUM = 7, 0

    def __init__(self, machine):
        self.machine = machine

    def get_version(self):
        return 22707

    def get_unique_id(self):
        return Hub().name.encode().ljust(TICKET, b"\1")

    def NcclCommunicator(self, ndev, commId, rank, config=None):
        return Communicator(self.machine, ndev, commId, rank)


class Communicator:
    """cupy.cuda.nccl.NcclCommunicator: of one rank."""

    def __init__(self, machine, size, ticket, rank):
        assert isinstance(ticket, bytes) and len(ticket) == TICKET, "CuPy wants these"
        self.machine, self.rank, self.open = machine, rank, True
        self.aborted = threading.Event()
        self.end = socket.socket(socket.AF_UNIX)
        self.end.connect(ticket.rstrip(b"\1").decode())
        send(self.end, (size, rank, machine.device))
        fault = receive(self.end)
        if fault:
            self.destroy()
            raise NcclError(fault)

    def reduce(self, sendbuf, recvbuf, count, datatype, op, root, stream):
        """In place where both buffers are one; only the root's receives."""
        to = recvbuf if self.rank == root else None
        self._start(("reduce", root, count), sendbuf, to, datatype, op, stream)

    def broadcast(self, sendbuff, recvbuff, count, datatype, root, stream):
        what = ("broadcast", root, count)
        self._start(what, sendbuff, recvbuff, datatype, Nccl.NCCL_SUM, stream)

    def allReduce(self, sendbuf, recvbuf, count, datatype, op, stream):
        what = ("allReduce", 0, count)
        self._start(what, sendbuf, recvbuf, datatype, op, stream)

    def _start(self, what, source, target, datatype, op, stream):
        if not self.open:
            raise NcclError("NCCL_ERROR_INVALID_ARGUMENT: of no communicator")
        assert (datatype, op) == (Nccl.NCCL_FLOAT32, Nccl.NCCL_SUM), "not emulated"
        count = what[2]
        writes = [] if target is None else [(target, target + 4 * count)]

        def run():
            fault, total = self._exchange((what, floats(source, count).copy()))
            if fault:
                raise NcclError(fault)
            if target is not None:
                floats(target, count)[...] = total

        reads = [(source, source + 4 * count)]
        queue = self.machine.copier(stream)
        self.machine.submit(run, reads, writes, f"NCCL {what[0]}", queue)

    def _exchange(self, call):
        """With all others; what an abort leaves is NaN."""
        try:
            send(self.end, call)
            answer = receive(self.end)
        except OSError:
            answer = None
        if answer is None:
            self.aborted.wait()
            return None, np.nan
        return answer

    def abort(self):
        self.open = False
        with contextlib.suppress(OSError):  # the hub may be gone
            self.end.shutdown(socket.SHUT_RDWR)
        self.aborted.set()
        self.end.close()

    def destroy(self):
        self.open = False
        self.end.close()

    def __del__(self):
        self.end.close()

    def device_id(self):
        return self.machine.device

    def rank_id(self):
        return self.rank


def floats(address, count):
    """The numbers at an address."""
    assert isinstance(address, int), "CuPy wants an address"
    return np.frombuffer((ctypes.c_float * count).from_address(address), np.float32)
