"""One host's agent against letters and messages that do not fit together."""

import numpy as np
import pytest

from geeps_caffe.device.array import allocate
from geeps_caffe.paramserver import ASYNC, Limits, Scheme, Table
from geeps_caffe.paramserver.hosts.cluster_host import ClusterHost
from geeps_caffe.paramserver.hosts.passport import Passport
from geeps_caffe.paramserver.hosts.peer_messages import (
    Failed,
    Greeting,
    Part,
    Ready,
    Rows,
)
from geeps_caffe.paramserver.hosts.places import Places
from geeps_caffe.paramserver.hosts.wire_types import find_wire_type
from geeps_caffe.paramserver.messages import (
    PROTOCOL,
    Granted,
    Hello,
    Propose,
    Push,
    Refused,
)
from geeps_caffe.paramserver.scheme import write_scheme

SCHEME = Scheme((Table("w", 4),))  # one row of 128 elements, which host 0 owns
TEXT = write_scheme(SCHEME)
PASSPORT = Passport((1, 1))
NOTHING = np.empty(0, np.uint8)


def digest():
    return bytes.fromhex(SCHEME.digest)


def host_with_tables(scheme=SCHEME):
    """Host 0 of two with one worker each, which has greeted and agreed with host 1."""
    places = Places(("a", "b"), (1, 1), 0)
    wire = find_wire_type("fp32")
    host = ClusterHost(places, PASSPORT, allocate, 0.0, Limits(), wire)
    greeting = np.frombuffer(PASSPORT.as_json(), np.uint8)
    host.hear(1, Greeting(1, 0), greeting, 0.0)
    host.receive(0, Hello(PROTOCOL, 0, 2, 7), 0.0)
    host.receive(0, Propose(write_scheme(scheme)), 0.0)
    ready = Ready(bytes.fromhex(scheme.digest))
    ((_, granted),) = host.hear(1, ready, NOTHING, 0.0)
    assert isinstance(granted, Granted)
    return host


def letters(host):
    """All that waits for host 1."""
    while host.outbox.next(1) is not None:
        yield host.outbox.take(1).message


def fail_while_working():
    """Host 1's part of clock 0 has another rate than the worker's here."""
    host = host_with_tables()
    part = np.ones(128, np.float32).view(np.uint8)
    host.hear(1, Part(0, 0, 1, 0, 0, 0.5, 1.0, 1.0), part, 0.0)
    host.receive(0, Push(0, 0, 0, 0.1, 1.0), 0.0)
    out = []
    while host.busy:
        out += host.work()
    return host, out


def test_what_does_not_fit_is_told_to_all_when_it_is_noticed_at_work():
    host, ((rank, told),) = fail_while_working()
    assert rank == 0
    assert isinstance(told, Refused)
    assert "rate 0.1 at iteration 0, host 1 0.5" in told.reason
    assert host.failure == told.reason
    assert Failed(True) in letters(host)


def test_after_a_failure_no_work_is_left():
    """An agent that waits for its workers to end must not go round and round."""
    host = host_with_tables()
    host.receive(0, Push(0, 0, 0, 0.1, 1.0), 0.0)
    assert host.busy
    host.lost(0, "it was killed")
    assert not host.busy


@pytest.mark.parametrize(
    ("again", "reason"),
    [
        (lambda host: host.receive(0, Propose(TEXT), 0.0), "rank 0 proposes tables"),
        (lambda host: host.hear(1, Ready(digest()), NOTHING, 0.0), "host b (rank 1)"),
    ],
)
def test_tables_are_agreed_on_once(again, reason):
    """Who proposes again would begin anew with tables of zeros."""
    host = host_with_tables()
    ((_, told),) = again(host)
    assert reason in told.reason
    assert "a second time" in told.reason


def host_of_three(proposed=True):
    """Host 0 of three; host 1 has agreed with it, host 2 has not yet spoken."""
    places = Places(("a", "b", "c"), (1, 1, 1), 0)
    host = ClusterHost(
        places, Passport((1, 1, 1)), allocate, 0.0, Limits(), find_wire_type("fp32")
    )
    host.receive(0, Hello(PROTOCOL, 0, 3, 7), 0.0)
    if proposed:
        host.receive(0, Propose(TEXT), 0.0)
    host.hear(1, Ready(digest()), NOTHING, 0.0)
    return host


PART = Part(0, 0, 1, 0, 0, 0.1, 1.0, 1.0)


def test_an_update_that_comes_before_the_last_host_agrees_counts():
    host = host_of_three()
    host.hear(1, PART, np.ones(128, np.float32).view(np.uint8), 0.0)
    assert len(host.hear(2, Ready(digest()), NOTHING, 0.0)) == 1
    assert host.failure is None


def test_an_update_before_the_workers_here_propose_is_refused():
    host = host_of_three(proposed=False)
    host.hear(1, PART, np.ones(128, np.float32).view(np.uint8), 0.0)
    assert "host b (rank 1): it sent Part before there are tables" in host.failure


def test_letters_about_tables_to_come_are_not_kept_without_end():
    host = host_of_three()
    data = np.ones(128, np.float32).view(np.uint8)
    for clock in range(1000):
        host.hear(1, PART._replace(clock=clock), data, 0.0)
    assert "came before all hosts agreed" in host.failure
    assert host.refused


@pytest.mark.parametrize(
    ("slack", "source"), [(1, 0), (1, -2), (ASYNC, -1), (ASYNC, 2)]
)
def test_fresh_rows_of_a_source_that_is_none_are_refused(slack, source):
    host = host_with_tables(Scheme((Table("w", 300, slack=slack),)))
    host.hear(1, Rows(0, 0, source, 0), NOTHING, 0.0)
    assert "names a source that is none" in host.failure
    assert host.refused
