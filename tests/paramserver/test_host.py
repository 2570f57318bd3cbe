import pytest

from geeps_caffe.device.array import allocate
from geeps_caffe.paramserver import Scheme, Table
from geeps_caffe.paramserver.host import Host
from geeps_caffe.paramserver.limits import Limits
from geeps_caffe.paramserver.messages import (
    PROTOCOL,
    Beat,
    Bye,
    Granted,
    Hello,
    Lost,
    Meet,
    Missing,
    Propose,
    Push,
    Refused,
    Waiting,
)
from geeps_caffe.paramserver.scheme import write_scheme

SCHEME = Propose(write_scheme(Scheme((Table("w", 4),))))


def make_host(ranks=2):
    host = Host(ranks, allocate, 0.0, Limits(join=60, silence=60, report=10))
    for rank in range(ranks):
        assert host.receive(rank, Hello(PROTOCOL, rank, ranks, 7), 0.0) == []
    return host


def test_tables_are_granted_when_all_have_proposed_the_same():
    host = make_host()
    assert host.receive(1, SCHEME, 0.0) == []
    out = host.receive(0, SCHEME, 0.0)
    size = 512 * 3  # weights and two updates, a row each
    assert out == [(0, Granted(size, 0, 2, 1)), (1, Granted(size, 1, 2, 1))]


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (Hello(PROTOCOL + 1, 1, 2, 7), "install one version everywhere"),
        (Hello(PROTOCOL, 1, 3, 7), "one of 3, this agent serves 2"),
        (Propose("{}"), "not a scheme"),
        (Propose(write_scheme(Scheme((Table("w", 5),)))), "same tables"),
        (Push(0, 0, 0, 0.1, 1.0), "no tables yet"),
        (Granted(5, 0, 1, 1), "which no worker may"),
    ],
)
def test_messages_against_the_rules_end_the_run_for_all(message, reason):
    host = make_host()
    host.receive(0, SCHEME, 0.0)
    out = host.receive(1, message, 0.0)
    assert [rank for rank, _ in out] == [0, 1]
    assert all(isinstance(m, Refused) and reason in m.reason for _, m in out)
    assert host.refused
    assert host.over


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        (Meet(3, (), ()), "rank 1 meets the others after 3 clocks, rank 0 after 2"),
        (Meet(2, (1.0,), ()), "rank 1 brings 1 values to add up, rank 0 0"),
    ],
)
def test_workers_must_meet_about_the_same(other, reason):
    host = make_host()
    host.receive(0, Meet(2, (), ()), 0.0)
    (_, refused), _ = host.receive(1, other, 0.0)
    assert reason in refused.reason


def test_all_hear_of_a_death_once():
    host = make_host()
    out = host.lost(1, "it was killed")
    assert [rank for rank, _ in out] == [0, 1]
    assert isinstance(out[0][1], Lost)
    assert host.lost(0, "its connection was closed") == []
    assert host.receive(0, Beat(), 1.0) == []
    assert host.tick(100.0) == []


def test_who_joins_after_the_end_hears_why_it_is_over():
    host = Host(2, allocate, 0.0)
    host.receive(1, Hello(PROTOCOL, 1, 2, 7), 0.0)
    host.lost(1, "it was killed")
    ((rank, lost),) = host.receive(0, Hello(PROTOCOL, 0, 2, 8), 1.0)
    assert rank == 0
    assert "lost rank 1" in lost.reason


def test_a_worker_may_leave_with_a_goodbye():
    host = make_host()
    for rank in (0, 1):
        assert not host.over
        host.receive(rank, Bye(), 0.0)
        assert host.lost(rank, "its connection was closed") == []
    assert host.over
    assert host.failure is None


def test_all_are_told_of_a_wait_for_one_that_has_left():
    host = make_host()
    host.receive(1, Bye(), 0.0)
    host.receive(0, Meet(0, (), ()), 1.0)
    assert not [m for _, m in host.tick(5.0) if isinstance(m, Missing)]
    (told, _) = [m for _, m in host.tick(12.0) if isinstance(m, Missing)]
    assert "no more comes from rank 1" in told.text


def test_time_brings_signs_of_life_reports_and_limits():
    host = make_host()
    host.receive(0, Meet(0, (), ()), 1.0)
    assert host.tick(5.0) == [(0, Beat()), (1, Beat())]
    reports = [m for _, m in host.tick(12.0) if isinstance(m, Waiting)]
    assert "waiting for rank 1" in reports[0].text
    host.receive(0, Beat(), 50.0)
    (_, lost), _ = host.tick(62.0)
    assert "no sign of life for 62 s from rank 1" in lost.reason
