"""Each test runs for every transport."""

import os
import threading
import time

import numpy as np
import pytest

from geeps_caffe.errors import PeerLost
from geeps_caffe.paramserver import Limits, Scheme, Table
from geeps_caffe.paramserver.agent import Agent
from geeps_caffe.paramserver.host import Host
from geeps_caffe.paramserver.messages import (
    PROTOCOL,
    Beat,
    Bye,
    Close,
    Flags,
    Fresh,
    Granted,
    Hello,
    Lost,
    Meet,
    Met,
    Propose,
    Refused,
)
from geeps_caffe.paramserver.scheme import write_scheme
from geeps_caffe.paramserver.transport.inproc import InprocHost
from geeps_caffe.paramserver.transport.shared import SharedLink

SECONDS = 10.0  # longer than any wait here should last
SCHEME = Propose(write_scheme(Scheme((Table("w", 1_000_000),))))


class Inproc:
    """The host of `inproc`."""

    def __init__(self, folder):
        self.host = InprocHost(2)

    def link(self, rank):
        return self.host.link(rank)

    def lose(self, rank, link):
        self.host.lose(rank, "its connection was closed")

    def end(self):
        pass


class Shared:
    """The agent of `shared`, in a thread."""

    def __init__(self, folder):
        limits = Limits()
        now = time.monotonic()
        self.agent = Agent(
            folder / "agent", lambda take: Host(2, take, now, limits), limits
        )
        self.thread = threading.Thread(target=self.agent.run)
        self.thread.start()
        self.ended = False

    def link(self, rank):
        return SharedLink(self.agent.path)

    def lose(self, rank, link):
        link.close()

    def end(self):
        if self.ended:
            return
        self.ended = True
        self.agent.stop()
        self.thread.join(SECONDS)
        self.agent.close()


@pytest.fixture(params=[Inproc, Shared], ids=["inproc", "shared"])
def transport(request, tmp_path):
    transport = request.param(tmp_path)
    yield transport
    transport.end()


@pytest.fixture
def links(transport):
    links = [transport.link(rank) for rank in range(2)]
    for rank, link in enumerate(links):
        link.send(Hello(PROTOCOL, rank, 2, os.getpid()))
    yield links
    for link in links:
        link.close()


def expect(link, kind):
    """The next message of a kind; signs of life may come before it."""
    while True:
        message = link.receive(SECONDS)
        if isinstance(message, kind):
            return message
        assert isinstance(message, Beat), message


def test_all_links_see_one_memory(links):
    for link in links:
        link.send(SCHEME)
    blocks = [link.memory(expect(link, Granted).nbytes) for link in links]
    assert not blocks[0].any()
    blocks[0][123] = 45
    assert blocks[1][123] == 45
    assert all(block.ctypes.data % 64 == 0 for block in blocks)


def test_messages_keep_their_order(links):
    for link in links:
        link.send(SCHEME)
    for link in links:
        expect(link, Granted)
    for clock in range(200):  # of another order the host would complain
        for link in links:
            link.send(Close(clock, clock))
    for link in links:
        flags = [expect(link, Flags | Fresh) for _ in range(400)]
        flags = [m.flags for m in flags if isinstance(m, Flags)]
        assert flags == list(range(200))


def test_nothing_comes_within_a_short_time(links):
    assert links[0].receive(0.0) is None


def test_any_thread_may_send(links):
    senders = [
        threading.Thread(target=lambda k=link: [k.send(Beat()) for _ in range(500)])
        for link in links
    ]
    for sender in senders:
        sender.start()
    for link in links:
        link.send(Meet(0, (1.0,), ()))
    for link in links:
        assert expect(link, Met).values == (2.0,)
    for sender in senders:
        sender.join()


def test_a_long_message_arrives_whole(links):
    many = Scheme(tuple(Table(f"table {i}", 1) for i in range(3000)))
    for link in links:
        link.send(Propose(write_scheme(many)))
    for link in links:
        assert expect(link, Granted).nbytes == 3000 * 512 * 3


def test_a_lost_peer_is_told_to_the_other(transport, links):
    expect_both = [Meet(0, (), ()) for _ in links]
    for link, message in zip(links, expect_both, strict=True):
        link.send(message)
    for link in links:
        expect(link, Met)
    transport.lose(1, links[1])
    assert "lost rank 1" in expect(links[0], Lost).reason


def test_a_refusal_reaches_all(links):
    links[0].send(SCHEME)
    links[1].send(Propose("nonsense"))
    for link in links:
        assert "not a scheme" in expect(link, Refused).reason


@pytest.fixture
def agent(tmp_path):
    transport = Shared(tmp_path)
    yield transport
    transport.end()


def test_the_end_of_the_agent_is_noticed(agent):
    link = agent.link(0)
    link.send(Hello(PROTOCOL, 0, 2, os.getpid()))
    link.send(Meet(0, (), ()))
    agent.end()
    with pytest.raises(PeerLost, match="the host agent is gone"):
        while True:
            link.receive(SECONDS)
    link.send(Bye())  # into the void, without an error
    link.close()


def test_the_agent_tells_a_connection_that_does_not_begin_with_a_hello(agent):
    link = agent.link(0)
    link.send(Beat())
    assert "did not begin with a hello" in expect(link, Refused).reason
    with pytest.raises(PeerLost):
        link.receive(SECONDS)
    link.close()


def test_no_name_of_shared_memory_is_left_behind(agent):
    before = set(os.listdir("/dev/shm"))
    links = [agent.link(rank) for rank in range(2)]
    for rank, link in enumerate(links):
        link.send(Hello(PROTOCOL, rank, 2, os.getpid()))
        link.send(SCHEME)
    block = links[0].memory(expect(links[0], Granted).nbytes)
    block[...] = 1
    assert set(os.listdir("/dev/shm")) == before
    for link in links:
        link.close()
    np.testing.assert_array_equal(block, 1)  # as long as it is used
