"""One process of a peer in parameter_server.py: `PEER RANK RANKS PORT STEPS FILE`.

Each peer moves a model of 61 million floats once a step, with every worker, and rank 0
writes the seconds of each step as JSON. Sums are of ones, and are checked.
"""

import json
import socket
import sys
import threading
import time
from pathlib import Path

import numpy as np

#: Floats in the tables of AlexNet, weights and biases together; 244 MB.
SIZES = (
    34_944,
    307_456,
    885_120,
    663_936,
    442_624,
    37_752_832,
    16_781_312,
    4_097_000,
)
SMALL = (256,)  # a table of 1 KB
PIECE = 1 << 20


class Timer:
    """Seconds between calls of `lap`."""

    def __init__(self):
        self.laps = []
        self.last = time.perf_counter()

    def lap(self):
        now = time.perf_counter()
        self.laps.append(now - self.last)
        self.last = now


def geeps(rank, ranks, port, steps, sizes):
    """A worker of the agent that the environment names: all tables, top down."""
    from geeps_caffe.paramserver import Table, open_client  # noqa: PLC0415

    client = open_client()
    tables = [Table(f"t{i}", size) for i, size in enumerate(sizes)]
    client.create_tables(tables, rule="add", reduce="sum")
    client.begin_virtual_iteration()
    opened = []
    for table in tables:
        opened.append((client.virtual_read(table.name), table.name))
    closed = []
    for read, name in reversed(opened):
        update = client.virtual_pre_update(name)
        send = client.virtual_update(update)
        closed.append((update, send, client.virtual_post_read(read)))
    client.virtual_clock()
    client.finish_virtual_iteration()
    for table in tables:
        client.update_memory(table.name)[...] = 1.0
    client.start_iterations()
    timer = None
    for step in range(steps + 1):
        weights = [client.read(read) for read, _ in opened]
        if timer is None:
            timer = Timer()
        else:
            timer.lap()
        assert weights[0][0] == weights[-1][-1] == ranks * step
        for update, send, done in closed:
            client.pre_update(update)
            client.update(send)
            client.post_read(done)
        client.clock()
    client.barrier()
    client.shutdown()
    return timer.laps


def gloo(rank, ranks, port, steps, sizes):
    """PyTorch's all-reduce."""
    import torch  # noqa: PLC0415
    import torch.distributed as dist  # noqa: PLC0415

    torch.set_num_threads(1)
    address = f"tcp://127.0.0.1:{port}"
    dist.init_process_group("gloo", address, rank=rank, world_size=ranks)
    model = torch.ones(sum(sizes))
    dist.barrier()
    timer = Timer()
    for _ in range(steps):
        dist.all_reduce(model)
        timer.lap()
    assert model[0] == ranks**steps
    dist.barrier()
    dist.destroy_process_group()
    return timer.laps


def mpich(rank, ranks, port, steps, sizes):
    """MPI's all-reduce."""
    from mpi4py import MPI  # noqa: PLC0415

    world = MPI.COMM_WORLD
    model, result = np.ones(sum(sizes), np.float32), np.empty(sum(sizes), np.float32)
    world.Barrier()
    timer = Timer()
    for _ in range(steps):
        world.Allreduce(model, result)
        timer.lap()
    assert result[0] == world.Get_size()
    return timer.laps if world.Get_rank() == 0 else []


def tcp(rank, ranks, port, steps, sizes):
    """Bare sockets: each sends and receives 2 (N - 1) / N of the model, in pieces.

    As a model is to be had afterwards, what comes is not thrown away.
    """
    pairs = _connect(rank, ranks, port)
    each = 2 * 4 * sum(sizes) // ranks  # bytes to and from each other process
    data = np.ones(each, np.uint8)
    inboxes = [np.ones(each, np.uint8) for _ in pairs]
    timer = Timer()
    for _ in range(steps):
        threads = [threading.Thread(target=_send, args=(s, data)) for s in pairs]
        threads += [
            threading.Thread(target=_receive, args=(s, inbox))
            for s, inbox in zip(pairs, inboxes, strict=True)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        timer.lap()
    return timer.laps


def _send(connection, data):
    for start in range(0, data.size, PIECE):
        connection.sendall(data[start : start + PIECE])


def _receive(connection, inbox):
    view = memoryview(inbox)
    while view:
        view = view[connection.recv_into(view, min(len(view), PIECE)) :]


def _connect(rank, ranks, port):
    """A connection to every other process."""
    listener = socket.create_server(("127.0.0.1", port + rank), backlog=ranks)
    found = []
    for other in range(rank):
        while True:
            try:
                found.append(socket.create_connection(("127.0.0.1", port + other)))
                break
            except ConnectionRefusedError:
                time.sleep(0.01)
    for _ in range(rank + 1, ranks):
        connection, _ = listener.accept()
        found.append(connection)
    for connection in found:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return found


PEERS = {"geeps": geeps, "gloo": gloo, "mpich": mpich, "tcp": tcp}


def main():
    """Run one process."""
    peer, rank, ranks, port, steps, small, path = sys.argv[1:]
    rank = int(rank)
    sizes = SMALL if int(small) else SIZES
    laps = PEERS[peer](rank, int(ranks), int(port), int(steps), sizes)
    if laps and rank == 0:
        Path(path).write_text(json.dumps(laps))


if __name__ == "__main__":
    main()
