from geeps_caffe.schedule.arena import Place
from geeps_caffe.schedule.lifetimes import Lifetime
from geeps_caffe.schedule.rejoin import rejoined
from geeps_caffe.schedule.stays import Residency

LENGTH = 10
TOUCHES = Lifetime("a", 64, (1, 5), frozenset({5}), frozenset({1}), False, False)
OTHER = Lifetime("b", 64, (3,), frozenset(), frozenset({3}), False, False)


def places(*offsets, other=None):
    """ "a" before and after its gap, and what another storage does meanwhile."""
    before = Residency("a", 64, 1, 1, save=True)
    after = Residency("a", 64, 5, 5, fetch=True)
    found = [Place(before, offsets[0]), Place(after, offsets[1])]
    if other is not None:
        found.append(Place(Residency("b", 64, 3, 3), other))
    return found


def spans(found):
    lives = {"a": TOUCHES, "b": OTHER}
    joined = rejoined(found, lives, LENGTH)
    return [(p.stay.start, p.stay.end) for p in joined if p.stay.storage == "a"]


def test_what_comes_back_to_a_place_that_was_free_stays():
    assert spans(places(0, 0, other=64)) == [(1, 5)]


def test_what_comes_back_elsewhere_has_to_move():
    assert spans(places(0, 64)) == [(1, 1), (5, 5)]


def test_what_made_room_leaves():
    assert spans(places(0, 0, other=0)) == [(1, 1), (5, 5)]


def test_a_joined_stay_is_neither_saved_nor_fetched():
    (entry,) = rejoined(places(0, 0), {"a": TOUCHES}, LENGTH)
    assert entry == Place(Residency("a", 64, 1, 5), 0)


def test_two_storages_do_not_stay_in_one_place():
    twin = Lifetime("b", 64, (0, 6), frozenset({6}), frozenset({0}), False, False)
    found = places(0, 0)
    found += [
        Place(Residency("b", 64, 0, 0, save=True), 0),
        Place(Residency("b", 64, 6, 6, fetch=True), 0),
    ]
    joined = rejoined(found, {"a": TOUCHES, "b": twin}, LENGTH)
    assert [(p.stay.storage, p.stay.start, p.stay.end) for p in joined] == [
        ("a", 1, 5),
        ("b", 0, 0),
        ("b", 6, 6),
    ]
