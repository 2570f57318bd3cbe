"""Processes that know only where the first one is."""

import random
import socket
import threading
import time

import pytest

from geeps_caffe.errors import (
    InputError,
    ParameterServerError,
    PeerLost,
    UsageError,
)
from geeps_caffe.paramserver.transport.addresses import Address
from geeps_caffe.paramserver.transport.keys import make_key
from geeps_caffe.paramserver.transport.meeting import Meeting, Patience, meet
from tests.paramserver.hosts.test_launch_host import free_ports

zmq = pytest.importorskip("zmq")


def all_meet(hosts, present, seconds, key=None, name="127.0.0.1"):
    master = Address(name, free_ports(1)[0])
    found = {}

    def go(host):
        try:
            found[host] = meet(Meeting(host, hosts, master, host + 1), key, seconds)
        except PeerLost as error:
            found[host] = error

    threads = [threading.Thread(target=go, args=(host,)) for host in present]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive()
    return found


@pytest.mark.parametrize("keyed", [False, True])
def test_all_know_all_afterwards(keyed):
    found = all_meet(3, range(3), 20.0, make_key() if keyed else None)
    assert len(found) == 3
    assert found[0] == found[1] == found[2]
    assert found[0].counts == (1, 2, 3)
    assert len({address.port for address in found[0].addresses}) == 3


def test_they_meet_at_a_number_of_ipv6():
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        pytest.skip("there is no IPv6 here")
    found = all_meet(2, range(2), 20.0, name="::1")
    assert {address.name for address in found[1].addresses} == {"::1"}


@pytest.mark.parametrize("host", [0, 1])
def test_a_first_one_whose_name_is_not_known_is_told_at_once(host):
    master = Address("no.such.host.invalid", 9090)
    with pytest.raises(InputError, match="is not known: "):
        meet(Meeting(host, 2, master, 1, trusted=True), None, 20.0)


def test_who_does_not_come_is_named_to_all():
    found = all_meet(3, (0, 2), 0.5)
    assert len(found) == 2
    for error in found.values():
        assert str(error) == "no connection for 0 s from rank 1"


def test_who_waits_says_for_whom_every_ten_seconds_and_not_without_end(caplog):
    patience = Patience(25.0, now=100.0)
    assert all(patience.lasts([1, 4], now) for now in (101.0, 109.9, 110.0, 119.9))
    assert patience.lasts([4], 120.5)
    assert not patience.lasts([4], 125.0)
    assert caplog.messages == [
        "waiting for rank 1, 4, since 10 s",
        "waiting for rank 4, since 20 s",
    ]


def test_a_first_one_that_does_not_come_is_named_and_not_waited_for_any_more():
    (port,) = free_ports(1)
    meeting = Meeting(1, 2, Address("127.0.0.1", port), 1)
    with pytest.raises(PeerLost, match=f"did not reach rank 0 at tcp://.*:{port} with"):
        meet(meeting, None, 0.1, more=0.1)


def test_strangers_at_the_door_do_no_harm():
    rng = random.Random(1)
    (port,) = free_ports(1)
    master, found, met = Address("127.0.0.1", port), [], threading.Event()

    def go(host):
        found.append(meet(Meeting(host, 2, master, 1), None, 20.0))
        met.set()

    threads = [threading.Thread(target=go, args=(0,))]
    threads[0].start()
    said = [b"[" * 4000, b"[Infinity, 2, 3, 4, 5]", b'[1, 3, "x", 4, 5]', b"\xff"]
    with zmq.Context() as context, context.socket(zmq.DEALER) as stranger:
        stranger.linger = 0
        stranger.connect(f"tcp://127.0.0.1:{port}")
        for number in range(2000):
            words = said[number] if number < 4 else rng.randbytes(rng.randint(0, 50))
            stranger.send_multipart([words] * (1 if number < 4 else rng.randint(1, 2)))
        threads.append(threading.Thread(target=go, args=(1,)))
        threads[1].start()
        assert met.wait(30)
    for thread in threads:
        thread.join(30)
    assert found[0] == found[1]
    assert found[0].counts == (1, 1)


def test_a_first_process_elsewhere_needs_a_key():
    with pytest.raises(UsageError, match="geeps-caffe keygen"):
        meet(Meeting(1, 2, Address("192.0.2.1", 1), 1), None, 1.0)


class Started:
    """One rank's meeting, on a thread."""

    def __init__(self, meeting, key=None, seconds=20.0):
        self.result = None
        self._thread = threading.Thread(target=self._run, args=(meeting, key, seconds))
        self._thread.start()

    def _run(self, meeting, key, seconds):
        try:
            self.result = meet(meeting, key, seconds)
        except (PeerLost, ParameterServerError) as error:
            self.result = error

    def end(self):
        self._thread.join(30)
        assert not self._thread.is_alive()
        return self.result


def test_a_rank_of_another_number_of_ranks_is_told_at_once_and_harms_nobody(caplog):
    master = Address("127.0.0.1", free_ports(1)[0])
    first = Started(Meeting(0, 2, master, 1))
    other = Started(Meeting(1, 3, master, 1)).end()
    words = "rank 1 is one of 3, but rank 0 one of 2; start all with the same number"
    assert type(other) is ParameterServerError
    assert words in str(other)
    assert words in caplog.text
    assert Started(Meeting(1, 2, master, 1)).end() == first.end()


def test_the_earlier_of_two_with_one_rank_is_told_so(caplog):
    master = Address("127.0.0.1", free_ports(1)[0])
    ranks = [Started(Meeting(rank, 3, master, 1)) for rank in (0, 1, 1)]
    end = time.monotonic() + 30
    while "two processes are rank 1" not in caplog.text:
        assert time.monotonic() < end
    ranks.append(Started(Meeting(2, 3, master, 1)))
    ends = [rank.end() for rank in ranks]
    refused = [end for end in ends if isinstance(end, ParameterServerError)]
    assert [type(end) for end in refused] == [ParameterServerError]
    assert "two processes are rank 1 (at 127.0.0.1 and 127.0.0.1)" in str(refused[0])
    assert len(ends) - len(refused) == 3


@pytest.mark.parametrize("keys", [("a", "b"), ("a", ""), ("", "a")])
def test_who_has_another_key_or_none_is_told_so_and_harms_nobody(keys, caplog):
    made = {"a": make_key(), "b": make_key(), "": None}
    master = Address("127.0.0.1", free_ports(1)[0])
    first = Started(Meeting(0, 2, master, 1), made[keys[0]])
    with pytest.raises((ParameterServerError, PeerLost), match=r"rank 0 at .* key"):
        meet(Meeting(1, 2, master, 1), made[keys[1]], 1.0, more=0.0)
    assert "refused a connection: " in caplog.text
    assert Started(Meeting(1, 2, master, 1), made[keys[0]]).end() == first.end()
