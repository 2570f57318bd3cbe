"""Two agents' networks in one process, over loopback."""

import select

import pytest

from geeps_caffe.paramserver.hosts.outbox import Outbox
from geeps_caffe.paramserver.hosts.passport import Passport
from geeps_caffe.paramserver.hosts.peer_messages import Greeting, Relay
from geeps_caffe.paramserver.hosts.places import Places
from geeps_caffe.paramserver.transport.addresses import Address
from geeps_caffe.paramserver.transport.zeromq import AT_ONCE, ZeroMqNetwork
from tests.paramserver.hosts.test_launch_host import free_ports

pytest.importorskip("zmq")
SECONDS = 10.0  # longer than any wait here should last


@pytest.fixture
def networks():
    names, counts = ("127.0.0.1",) * 2, (1, 1)
    addresses = [Address(names[0], port) for port in free_ports(2)]
    both = [
        ZeroMqNetwork(Places(names, counts, host), Passport(counts), addresses)
        for host in range(2)
    ]
    yield both
    for network in both:
        network.close()


def test_every_letter_is_told_of_by_a_descriptor_or_by_more(networks):
    sender, receiver = networks
    outbox, found, most = Outbox(2), [], 20 * AT_ONCE
    for number in range(most):
        outbox.put(1, Relay(number), bytes(5000))  # no two go together
    poll, owners = select.poll(), {}
    for network in networks:
        for descriptor in network.descriptors():
            poll.register(descriptor, select.POLLIN)
            owners[descriptor] = network
    while len(found) < most:
        while outbox and sender.send(1, outbox):
            pass
        ready = poll.poll(0.0 if receiver.more else 1000 * SECONDS)
        assert ready or receiver.more, "a letter is there, but nothing tells"
        for descriptor, _ in ready:
            owners[descriptor].attend(descriptor)
        arrived = receiver.receive()
        assert len(arrived) <= AT_ONCE
        found += [
            a.message.rank for a in arrived if not isinstance(a.message, Greeting)
        ]
    assert found == list(range(most))
    assert not receiver.more
