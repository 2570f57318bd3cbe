import pytest

from geeps_caffe.schedule.lifetimes import Lifetime
from geeps_caffe.schedule.stays import Gap, Residency, gaps, stays

LENGTH = 10


def life(touches, written=(), before=False, after=False, read=None):
    """Touches that do not write read, and so do those in `read`."""
    read = set(touches) - set(written) if read is None else read
    sets = frozenset(read), frozenset(written)
    return Lifetime("a", 64, tuple(touches), *sets, before, after)


def spans(found):
    return [(s.start, s.end, s.fetch, s.save, s.lasts) for s in found]


def test_gaps_lie_between_touches():
    assert gaps(life([2, 5, 6]), LENGTH) == [Gap("a", 64, 2, 5), Gap("a", 64, 5, 6)]


def test_the_gap_of_what_lasts_reaches_into_the_next_step():
    assert gaps(life([2, 5], before=True, after=True), LENGTH)[-1] == Gap(
        "a", 64, 5, 12
    )


def test_the_gap_of_what_is_asked_for_after_the_step_ends_with_it():
    assert gaps(life([2, 5], after=True), LENGTH)[-1] == Gap("a", 64, 5, 10)


def test_without_a_gap_a_storage_stays_from_its_first_to_its_last_touch():
    assert spans(stays(life([2, 5], [2]), LENGTH, ())) == [(2, 5, False, False, False)]


def test_what_is_asked_for_after_the_step_stays_to_the_end():
    found = stays(life([2, 5], [2], after=True), LENGTH, ())
    assert spans(found) == [(2, 9, False, False, True)]


def test_what_lasts_is_always_there():
    found = stays(life([2, 5], before=True, after=True), LENGTH, ())
    assert spans(found) == [(0, 9, False, False, True)]


def test_in_a_gap_it_goes_to_the_host_and_comes_back():
    found = stays(life([2, 5, 8], [2]), LENGTH, [Gap("a", 64, 2, 5)])
    assert spans(found) == [(2, 2, False, True, False), (5, 8, True, False, False)]


@pytest.mark.parametrize("written", [(), (5,)])
def test_what_was_not_written_since_it_came_in_is_not_copied_out_again(written):
    away = [Gap("a", 64, 2, 5), Gap("a", 64, 5, 8)]
    storage = life([2, 5, 8], [2, *written], read=[5, 8])
    found = stays(storage, LENGTH, away)
    assert [s.save for s in found] == [True, bool(written), False]


def test_what_lasts_keeps_its_place_across_the_end_of_the_step():
    lasting = life([2, 5], before=True, after=True)
    (stay,) = stays(lasting, LENGTH, [Gap("a", 64, 2, 5)])
    # From the touch at 5 to that at 2 of the next step; a user may write between.
    assert stay == Residency("a", 64, 5, 12, fetch=True, save=True, lasts=True)


def test_what_lasts_and_is_away_between_steps_is_fetched_at_its_first_touch():
    lasting = life([2, 5], before=True, after=True)
    found = stays(lasting, LENGTH, [Gap("a", 64, 5, 12)])
    assert spans(found) == [(2, 5, True, False, False)]


def test_what_leaves_before_the_end_is_read_from_the_host_afterwards():
    found = stays(life([2, 5], [5], after=True), LENGTH, [Gap("a", 64, 5, 10)])
    assert spans(found) == [(2, 5, False, True, False)]


def test_what_nobody_touches_is_there_only_if_it_lasts():
    assert stays(life([]), LENGTH, ()) == []
    untouched = life([], before=True, after=True)
    assert spans(stays(untouched, LENGTH, ())) == [(0, 9, False, False, True)]


def test_what_is_overwritten_is_neither_saved_nor_fetched():
    found = stays(life([2, 5, 8], [2, 5]), LENGTH, [Gap("a", 64, 2, 5)])
    assert spans(found) == [(2, 2, False, False, False), (5, 8, False, False, False)]


def test_what_lasts_is_not_fetched_to_be_overwritten():
    lasting = life([2, 5], [2], before=True, after=True)
    (stay,) = stays(lasting, LENGTH, [Gap("a", 64, 5, 12)])
    assert (stay.fetch, stay.save) == (False, True)
