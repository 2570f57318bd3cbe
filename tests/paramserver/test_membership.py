from geeps_caffe.paramserver.limits import Limits
from geeps_caffe.paramserver.membership import Membership

LIMITS = Limits(join=300, silence=60, stall=600, report=10)


def members(ranks=3):
    membership = Membership(["box"] * ranks, LIMITS, now=0.0)
    for rank in range(ranks):
        membership.joined(rank, pid=100 + rank, now=1.0)
    return membership


def beat(membership, now, ranks=(0, 1, 2)):
    for rank in ranks:
        membership.heard(rank, now)


def test_a_wait_names_the_rank_and_its_last_clock():
    membership = members()
    for clock in (117, 118):
        for rank in (0, 1, 2):
            membership.moved(rank, 2.0, clock)
    membership.moved(0, 5.0, 119)
    membership.moved(2, 6.0, 119)
    assert membership.waiting(14.0) is None
    assert membership.waiting(17.0) == (
        "waiting for rank 1 (host box, process 101), its last clock was 118, since 12 s"
    )
    assert membership.waiting(18.0) is None  # once in ten seconds
    assert "since 23 s" in membership.waiting(28.0)


def test_nobody_waits_while_all_are_equally_far():
    membership = members()
    beat(membership, 50.0)
    assert membership.waiting(50.0) is None
    assert membership.lost(50.0) is None


def test_a_silent_rank_is_lost():
    membership = members()
    beat(membership, 50.0, ranks=(0, 2))
    assert membership.lost(60.0) is None
    assert membership.lost(62.0) == (
        "no sign of life for 61 s from rank 1 (host box, process 101), its last clock "
        "was -1"
    )


def test_a_rank_that_lives_but_is_stuck_is_lost_in_the_end():
    membership = members()
    membership.moved(0, 10.0, 0)
    membership.moved(2, 10.0, 0)
    beat(membership, 600.0)
    assert membership.lost(600.0) is None
    beat(membership, 615.0)
    assert membership.lost(615.0).startswith("no progress for 605 s from rank 1")


def test_a_long_step_of_all_is_no_fault():
    membership = members()
    for now in range(0, 5000, 30):
        beat(membership, float(now))
        assert membership.lost(float(now)) is None


def test_a_rank_that_never_came_is_named():
    membership = Membership(["box", "box"], LIMITS, now=0.0)
    membership.joined(0, 100, 1.0)
    membership.heard(0, 300.0)
    assert membership.lost(300.0) is None
    assert membership.lost(301.0) == (
        "no sign of life for 301 s from rank 1 (host box), which has not joined"
    )


def test_a_rank_that_left_is_not_missed():
    membership = members(1)
    membership.left(0)
    assert membership.all_left
    assert membership.lost(1000.0) is None


def test_who_left_while_others_wait_is_named():
    membership = members(2)
    membership.left(1)
    assert membership.missing(100.0) is None  # nobody has come further
    membership.moved(0, 100.0, 0)
    assert membership.missing(105.0) is None
    assert membership.missing(112.0) == (
        "no more comes from rank 1 (host box, process 101), its last clock was -1, "
        "since 12 s"
    )
    assert membership.waiting(112.0) is None  # that is no wait that may end
