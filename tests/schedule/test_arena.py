from hypothesis import given, settings
from hypothesis import strategies as st

from geeps_caffe.schedule.arena import place
from geeps_caffe.schedule.stays import Residency

LENGTH = 20
STAYS = st.lists(
    st.tuples(
        st.integers(1, 5000), st.integers(0, LENGTH - 1), st.integers(0, LENGTH - 1)
    ),
    max_size=25,
)


def stays(*found):
    """Stays as (bytes, start, end); an end before the start is in the next step."""
    return [
        Residency(f"s{i}", nbytes, start, end if end >= start else end + LENGTH)
        for i, (nbytes, start, end) in enumerate(found)
    ]


def offsets(found, budget=None):
    placed, size = place(found, LENGTH, budget)
    return {p.stay.storage: p.offset for p in placed}, size


def times(stay):
    return {position % LENGTH for position in range(stay.start, stay.end + 1)}


def test_stays_at_different_times_share_a_place():
    assert offsets(stays((100, 0, 4), (100, 5, 9))) == ({"s0": 0, "s1": 0}, 128)


def test_stays_at_one_time_lie_side_by_side_in_whole_cache_lines():
    assert offsets(stays((100, 0, 4), (64, 4, 9))) == ({"s0": 0, "s1": 128}, 192)


def test_a_hole_is_filled():
    found = stays((320, 0, 9), (256, 0, 4), (192, 0, 9), (256, 5, 9))
    assert offsets(found)[1] == 320 + 256 + 192


def test_a_stay_into_the_next_step_meets_what_is_there_then():
    found = stays((64, 18, 1), (64, 0, 3))
    assert sorted(offsets(found)[0].values()) == [0, 64]


def test_nothing_needs_no_arena():
    assert place([], LENGTH) == ([], 0)


def test_another_order_is_tried_where_the_first_breaks_the_budget():
    # Largest first puts the middle one where it leaves holes.
    found = stays((256, 0, 1), (192, 1, 3), (128, 3, 5), (192, 4, 6), (64, 0, 5))
    _, free = place(found, LENGTH)
    _, best = place(found, LENGTH, budget=1)
    assert best <= free


@settings(max_examples=300, deadline=None)
@given(STAYS)
def test_stays_at_one_time_never_overlap(found):
    for budget in (None, 1):
        placed, size = place(stays(*found), LENGTH, budget)
        assert size == max((p.end for p in placed), default=0)
        for i, one in enumerate(placed):
            for other in placed[:i]:
                apart = one.end <= other.offset or other.end <= one.offset
                assert apart or not times(one.stay) & times(other.stay)
