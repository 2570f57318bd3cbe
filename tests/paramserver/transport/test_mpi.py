"""MPI's part of a cluster, on a communicator whose messages arrive when told to."""

from collections import deque

import numpy as np
import pytest

from geeps_caffe.paramserver.hosts.outbox import Outbox
from geeps_caffe.paramserver.hosts.passport import Passport
from geeps_caffe.paramserver.hosts.peer_messages import Alive, Relay
from geeps_caffe.paramserver.hosts.peer_wire import write_head
from geeps_caffe.paramserver.hosts.places import Places
from geeps_caffe.paramserver.limits import Limits
from geeps_caffe.paramserver.transport.mpi import (
    _SIZE,
    CLOSE_SECONDS,
    HEAD,
    MpiNetwork,
)
from geeps_caffe.paramserver.workers import EXIT_SECONDS

MPI = pytest.importorskip("mpi4py.MPI")


class Payload:
    """A receive, or a send, that is done when `done` says so."""

    def __init__(self, done=False):
        self.done = done

    def Test(self):
        return self.done


class World:
    """Host 0's communicator of three; others' letters are put in by the test."""

    def __init__(self):
        self.heads = {1: deque(), 2: deque()}
        self.payloads = {}

    def Get_size(self):
        return 3

    def put(self, host, message, payload=b""):
        self.heads[host].append(_SIZE.pack(len(payload)) + write_head(message))

    def Iprobe(self, source, tag, status):
        assert tag == HEAD
        for host, heads in self.heads.items():
            if heads and source in (host, MPI.ANY_SOURCE):
                status.Set_source(host)
                return True
        return False

    def Recv(self, buffer, source, tag, status):
        head = self.heads[source].popleft()
        buffer[: len(head)] = head
        status.Set_elements(MPI.BYTE, len(head))

    def Irecv(self, data, source, tag):
        self.payloads[source] = Payload()
        return self.payloads[source]

    def Isend(self, data, host, tag):
        return Payload()


def network(world, **more):
    places = Places(("a", "b", "c"), (1, 1, 1), 0)
    return MpiNetwork(places, Passport((1, 1, 1)), world, **more)


def hosts(arrived):
    return [(letter.host, type(letter.message)) for letter in arrived]


def test_a_host_whose_payload_does_not_come_holds_up_no_other_host():
    world = World()
    mine = network(world)
    world.put(1, Relay(0), b"abc")
    world.put(1, Alive())
    world.put(2, Alive())
    assert hosts(mine.receive()) == [(2, Alive)]
    assert mine.more
    world.put(2, Alive())
    assert hosts(mine.receive()) == [(2, Alive)]
    world.payloads[1].done = True
    assert hosts(mine.receive()) == [(1, Relay), (1, Alive)]
    assert hosts(mine.receive()) == []
    assert not mine.more


def test_an_agent_ends_though_another_takes_no_letters_any_more():
    mine, outbox = network(World(), close_seconds=0.0), Outbox(3)
    outbox.put(1, Relay(0), np.zeros(4, np.uint8))
    assert mine.send(1, outbox)
    mine.close()


def test_mpi_ends_no_agent_before_it_has_ended_its_workers_the_hard_way():
    """It grants them some time, asks them to end, waits, and kills them."""
    assert Limits().grace + 2 * EXIT_SECONDS < CLOSE_SECONDS
