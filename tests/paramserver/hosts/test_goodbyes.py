"""The end of a run: who has said goodbye is never counted as lost."""

import random
import time
from collections import deque

import numpy as np
import pytest

from geeps_caffe.device.array import allocate
from geeps_caffe.paramserver import Limits
from geeps_caffe.paramserver.cluster_agent import ClusterAgent
from geeps_caffe.paramserver.hosts.cluster_host import ClusterHost
from geeps_caffe.paramserver.hosts.passport import Passport
from geeps_caffe.paramserver.hosts.peer_messages import (
    Alive,
    Gone,
    Greeting,
    Released,
)
from geeps_caffe.paramserver.hosts.places import Places
from geeps_caffe.paramserver.hosts.wire_types import find_wire_type
from geeps_caffe.paramserver.messages import PROTOCOL, Beat, Bye, Hello
from geeps_caffe.paramserver.transport.network import Arrived

NOTHING = np.empty(0, np.uint8)
CLOSED = "its connection was closed"


def make_host(number, hosts, now=0.0, limits=None):
    counts = (1,) * hosts
    places = Places(tuple("abcd"[:hosts]), counts, number)
    wire = find_wire_type("fp32")
    return ClusterHost(
        places, Passport(counts), allocate, now, limits or Limits(), wire
    )


class Farewell:
    """Hosts without tables that end, and ways that bring letters late or never.

    A host that is over breaks its connections at once: what the others hear first, that
    or the letters that are still under way to them, is left to chance. Of letters that
    wait in an outbox then, none leaves.
    """

    def __init__(self, hosts, seed):
        self.random = random.Random(seed)
        self.hosts = [make_host(number, hosts) for number in range(hosts)]
        self.lines = {}  # by sender and receiver
        self.closed, self.news = set(), []
        self.quick = self.random.choice((0.02, 1.0))  # what is heard of broken ones

    def events(self):
        for number, host in enumerate(self.hosts):
            if number in self.closed:
                continue
            if host.over:
                yield 1.0, lambda n=number: self.close(n)
            elif not host.has_left(number):
                yield 0.1, lambda n=number: self.leave(n)
            for other in host.places.others:
                if host.outbox.next(other) is not None:
                    yield 0.3, lambda n=number, o=other: self.send(n, o)
        for line, letters in self.lines.items():
            if letters:
                yield 0.3, lambda where=line: self.deliver(*where)
        for one in self.news:
            yield self.quick, lambda o=one: self.break_off(*o)

    def leave(self, number):
        host = self.hosts[number]
        host.receive(number, Hello(PROTOCOL, number, len(self.hosts), 7), 0.0)
        host.receive(number, Bye(), 0.0)

    def send(self, sender, receiver):
        letter = self.hosts[sender].outbox.take(receiver)
        self.lines.setdefault((sender, receiver), deque()).append(letter)

    def deliver(self, sender, receiver):
        letter = self.lines[sender, receiver].popleft()
        data = np.frombuffer(bytes(letter.payload), np.uint8)
        if receiver not in self.closed:
            self.hosts[receiver].hear(sender, letter.message, data, 0.0)

    def close(self, number):
        self.closed.add(number)
        self.news += [(other, number) for other in self.hosts[number].places.others]

    def break_off(self, host, lost):
        self.news.remove((host, lost))
        if host not in self.closed:
            self.hosts[host].unreachable(lost, CLOSED)

    def run(self):
        while len(self.closed) < len(self.hosts):
            weights, events = zip(*self.events(), strict=True)
            self.random.choices(events, weights)[0]()
        return [host.failure for host in self.hosts]


@pytest.mark.parametrize("hosts", [2, 3, 4])
def test_a_goodbye_is_never_followed_by_a_loss_whatever_is_heard_first(hosts):
    for seed in range(300):
        assert Farewell(hosts, seed).run() == [None] * hosts


def host_that_left(limits=None):
    """Host 0 of two whose worker has left; it has heard host 1's greeting."""
    host = make_host(0, 2, limits=limits)
    data = np.frombuffer(Passport((1, 1)).as_json(), np.uint8)
    host.hear(1, Greeting(1, 0), data, 0.0)
    host.receive(0, Hello(PROTOCOL, 0, 2, 7), 0.0)
    host.receive(0, Bye(), 0.0)
    return host


def test_a_host_stays_until_its_goodbye_was_heard():
    host = host_that_left()
    host.hear(1, Gone(), NOTHING, 0.0)
    while host.outbox.next(1) is not None:
        host.outbox.take(1)
    assert not host.over
    host.hear(1, Released(), NOTHING, 0.0)
    assert host.over


def test_a_host_stays_until_its_answer_to_a_goodbye_has_left():
    host = host_that_left()
    host.hear(1, Released(), NOTHING, 0.0)
    host.hear(1, Gone(), NOTHING, 0.0)
    assert not host.over
    while host.outbox.next(1) is not None:
        host.outbox.take(1)
    assert host.over


@pytest.mark.parametrize(
    "end",
    [
        lambda host: host.unreachable(1, CLOSED),
        lambda host: host.refused_by(1, "no key, or no agent of geeps-caffe"),
        lambda host: host.tick(1000.0),
    ],
    ids=["a broken connection", "another program at its port", "silence"],
)
def test_who_has_gone_may_be_gone_once_all_here_have_left(end):
    host = host_that_left()
    host.hear(1, Gone(), NOTHING, 0.0)
    end(host)
    assert host.failure is None
    assert host.over


def test_a_host_that_is_needed_is_lost_even_after_its_goodbye():
    """Its block of the tables is with it: who still trains would wait for ever."""
    host = make_host(0, 2)
    host.receive(0, Hello(PROTOCOL, 0, 2, 7), 0.0)
    host.hear(1, Gone(), NOTHING, 0.0)
    host.unreachable(1, CLOSED)
    assert "lost host b (rank 1)" in host.failure


def test_an_answer_to_a_goodbye_that_was_not_said_is_refused():
    host = make_host(0, 2)
    host.hear(1, Released(), NOTHING, 0.0)
    assert "answers a goodbye before it was said" in host.failure
    assert host.refused


class Letters:
    """A network in which these letters of host 1 have come, a few at a time."""

    more = True

    def __init__(self, letters):
        self.letters = deque(letters)

    def receive(self):
        letter = self.letters.popleft()
        self.more = bool(self.letters)
        return [letter]

    def send(self, host, outbox):
        outbox.take(host)
        return True

    def ended(self):
        return []

    refused = ended

    def descriptors(self):
        return ()

    def close(self):
        pass


def test_what_has_come_is_heard_before_a_host_counts_as_silent(tmp_path):
    """The agent was away for a minute and a half; its news lie there."""
    limits = Limits(join=60.0, silence=60.0, report=1e-9)
    passport = Passport((1, 1))
    greeting = np.frombuffer(passport.as_json(), np.uint8)
    network = Letters(
        [Arrived(1, Greeting(1, 0), greeting), *[Arrived(1, Alive(), NOTHING)] * 5]
    )

    def make(take):
        host = make_host(0, 2, time.monotonic() - 90.0, limits)
        host.receive(0, Hello(PROTOCOL, 0, 2, 7), time.monotonic())
        return host

    agent = ClusterAgent(tmp_path / "agent", make, network, limits)
    agent._look()
    agent.close()
    assert agent.host.failure is None


def test_a_long_run_of_several_hosts_is_no_wait():
    """Only the first host hears how far all workers are; no other counts an hour up."""
    host = make_host(1, 2, limits=Limits(stall=600))
    host.receive(1, Hello(PROTOCOL, 1, 2, 100), 1.0)
    host.hear(
        0, Greeting(0, 1), np.frombuffer(Passport((1, 1)).as_json(), np.uint8), 1.0
    )
    for now in range(10, 3000, 10):
        host.receive(1, Beat(), float(now))
        host.hear(0, Alive(), NOTHING, float(now))
        host.tick(float(now))
        assert host.failure is None
