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

    An odd seed has small pieces; with every other two, all hosts compute the small
    tables (by `whole` or not, with any seed).
    """

    def __init__(
        self,
        counts,
        seed,
        program,
        overlap=True,
        wire="fp32",
        passports=None,
        whole=None,
    ):
        self.whole = seed % 4 < 2 if whole is None else whole
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
                    whole_bytes=1 << 12 if self.whole else 0,
                )
            )
        self.places = self.hosts[0].places
        self.lines = {}  # by sender, receiver and channel
        self.dead, self.news = set(), []  # hosts, and who has yet to notice

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
        for news in self.news:
            yield 0.2, lambda n=news: self.break_news(n)
        for number, host in enumerate(self.hosts):
            if number in self.dead:
                continue
            if host.busy:
                yield (
                    self.speed[2 * self.ranks + number],
                    lambda h=host: self.post(h.work()),
                )
            for other in host.places.others:
                if other not in self.dead and host.outbox.next(other) is not None:
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

    def run(self, kill_after=None, victim=1, whole_host=False):
        """Until all have finished; kills a rank, or a host, after so many events."""
        self.whole_host = whole_host
        if whole_host:
            victim = self.places.ranks_of(victim)[0]
        return super().run(kill_after, victim)

    def kill(self, worker):
        if worker.finished:
            return
        number = self.places.host_of(worker.rank)
        if self.whole_host:
            self.kill_host(number)
            return
        self.end(worker)
        self.post(self.hosts[number].lost(worker.rank, "it was killed"))

    def kill_host(self, number):
        """Agent and workers; the other hosts find out one by one."""
        self.names_of_killed.append(f"lost {self.places.describe(number)}")
        for rank in self.places.ranks_of(number):
            if not self.workers[rank].finished:
                self.end(self.workers[rank])
            self.killed.add(rank)
        self.dead.add(number)
        for (_, receiver, _), letters in self.lines.items():
            if receiver == number:
                letters.clear()  # those from it may yet arrive
        self.news += [(other, number) for other in self.hosts[number].places.others]

    def break_news(self, news):
        """A host notices that the connection to another one has ended."""
        self.news.remove(news)
        host, lost = news
        self.post(self.hosts[host].unreachable(lost, "its connection was closed"))
