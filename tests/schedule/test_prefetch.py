from geeps_caffe.schedule.arena import Place
from geeps_caffe.schedule.costs import Costs
from geeps_caffe.schedule.lifetimes import Lifetime
from geeps_caffe.schedule.prefetch import prefetched
from geeps_caffe.schedule.stays import Residency
from geeps_caffe.schedule.timeline import timeline

LENGTH = 10
TIME = timeline(Costs((1.0,) * LENGTH, 64.0, 64.0))  # 64 bytes a second


def starts(*placed, ready=0, slack=1.0):
    """Where stays begin, in their order."""
    lives = {
        p.stay.storage: Lifetime(
            p.stay.storage, 64, (), frozenset(), frozenset(), False, False, ready=ready
        )
        for p in placed
    }
    found = prefetched(placed, lives, TIME, slack)
    assert [p.offset for p in found] == [p.offset for p in placed]
    return [p.stay.start for p in found]


def fetched(name, start, end, nbytes=64):
    return Residency(name, nbytes, start, end, fetch=True)


def test_a_copy_begins_when_it_is_done_in_time_and_no_earlier():
    assert starts(Place(fetched("a", 6, 7), 0)) == [5]
    assert starts(Place(fetched("a", 6, 7, 256), 0)) == [2]


def test_a_copy_waits_until_its_place_is_free():
    before = Place(Residency("b", 64, 0, 4), 64)
    assert starts(Place(fetched("a", 6, 7, 256), 0), before) == [5, 0]
    beside = Place(Residency("b", 64, 0, 4), 256)
    assert starts(Place(fetched("a", 6, 7, 256), 0), beside) == [2, 0]


def test_a_copy_waits_until_the_same_storage_has_left_another_place():
    before = Place(Residency("a", 64, 0, 3, save=True), 128)
    assert starts(before, Place(fetched("a", 6, 7, 64 * 5), 256)) == [0, 4]


def test_copies_may_be_given_more_time():
    assert starts(Place(fetched("a", 6, 7), 0), slack=3.0) == [3]


def test_copies_take_turns():
    places = [Place(fetched("a", 6, 7), 0), Place(fetched("b", 7, 7), 64)]
    assert starts(*places) == [5, 6]
    places = [Place(fetched("a", 7, 7), 0), Place(fetched("b", 7, 7), 64)]
    assert sorted(starts(*places)) == [5, 6]


def test_what_lies_in_the_place_since_the_step_before_is_in_the_way():
    around = Place(Residency("b", 64, 8, LENGTH + 2, fetch=True), 0)
    assert starts(Place(fetched("a", 6, 7, 640), 0), around)[0] == 3


def test_a_lease_is_not_copied_before_its_table_is_read():
    assert starts(Place(fetched("a", 6, 7, 640), 0), ready=4) == [4]
