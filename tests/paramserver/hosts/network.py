"""Several hosts on the network of random delays, each with workers of its own."""

from collections import deque

import numpy as np

from geeps_caffe.device.array import allocate
from geeps_caffe.paramserver import Limits
from geeps_caffe.paramserver.hosts.cluster_host import ClusterHost
from geeps_caffe.paramserver.hosts.passport import Passport
from geeps_caffe.paramserver.hosts.peer_wire import read_head, write_head
from geeps_caffe.paramserver.hosts.places import Places
from geeps_caffe.paramserver.hosts.wire_types import find_wire_type
from tests.paramserver.network import Network

LANES = 2  # channels between two hosts


def as_bytes(payload):
    """What of a payload arrives, as it is when it arrives."""
    if isinstance(payload, bytes):
        return np.frombuffer(payload, np.uint8)
    return np.array(payload).view(np.uint8).reshape(-1)


class ClusterNetwork(Network):
    """`counts` workers on each host; letters of a lane keep their order, no others.

    An odd seed has small pieces.
    """

    def __init__(
        self, counts, seed, program, overlap=True, wire="fp32", passports=None
    ):
        self.counts, self.wire, self.seed = counts, wire, seed
        self.passports = passports or [Passport(tuple(counts))] * len(counts)
        super().__init__(sum(counts), seed, program, overlap)
        self.speed += [self.random.choice((0.05, 0.3, 1.0)) for _ in range(99)]

    def make_hosts(self):
        names = tuple("abcdefg"[: len(self.counts)])
        self.blocks, self.hosts = {}, []
        for host in range(len(self.counts)):
            places = Places(names, tuple(self.counts), host)
            self.hosts.append(
                ClusterHost(
                    places,
                    self.passports[host],
                    lambda nbytes, host=host: self.allocate_on(host, nbytes),
                    0.0,
                    Limits(),
                    find_wire_type(self.wire),
                    piece_bytes=256 if self.seed % 2 else 1 << 20,
                )
            )
        self.places = self.hosts[0].places
        self.lines = {}  # by sender, receiver and channel

    def allocate_on(self, host, nbytes):
        self.blocks[host] = allocate(nbytes)
        return self.blocks[host]

    def block_of(self, rank):
        return self.blocks[self.places.host_of(rank)]

    def choices(self):
        for worker in self.workers:
            if worker.up:
                yield self.speed[worker.rank], lambda w=worker: self.arrive(w)
            if worker.can_run:
                yield self.speed[self.ranks + worker.rank], worker.go_on
        for number, host in enumerate(self.hosts):
            if host.busy:
                yield (
                    self.speed[2 * self.ranks + number],
                    lambda h=host: self.post(h.work()),
                )
            for other in host.places.others:
                if host.outbox.next(other) is not None:
                    yield 1.0, lambda h=number, o=other: self.send(h, o)
        for line, letters in self.lines.items():
            if letters:
                speed = self.speed[2 * self.ranks + 9 + hash(line) % 50]
                yield speed, lambda where=line: self.deliver(*where)

    def arrive(self, worker):
        host = self.hosts[self.places.host_of(worker.rank)]
        self.post(host.receive(worker.rank, worker.up.popleft(), now=0.0))

    def send(self, sender, receiver):
        outbox = self.hosts[sender].outbox
        letter = outbox.next(receiver)
        outbox.take(receiver)
        line = (sender, receiver, letter.lane % LANES)
        self.lines.setdefault(line, deque()).append(letter)

    def deliver(self, sender, receiver, lane):
        letter = self.lines[sender, receiver, lane].popleft()
        message = read_head(write_head(letter.message))
        data = as_bytes(letter.payload)
        self.post(self.hosts[receiver].hear(sender, message, data, now=0.0))

    def kill(self, worker):
        if worker.finished:
            return
        worker.killed = True
        worker.up.clear()
        host = self.hosts[self.places.host_of(worker.rank)]
        self.post(host.lost(worker.rank, "it was killed"))
        if worker.waiting:
            worker.go_on()
        else:
            worker.finished = True  # it never ran
