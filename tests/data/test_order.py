import numpy as np
import pytest

from geeps_caffe.data.order import (
    Draws,
    Sequential,
    Shuffled,
    below,
    draw,
    first_place,
)


def places(start, stop):
    return np.arange(start, stop, dtype=np.int64)


def test_a_sequence_goes_on_for_ever():
    assert Sequential(3).records(places(0, 4)).tolist() == [3, 4, 5, 6]


def test_each_pass_has_every_record_once_in_another_order():
    order = Shuffled([100], seed=1, use=2)
    passes = [order.records(places(100 * e, 100 * e + 100)).tolist() for e in range(3)]
    assert all(sorted(one) == list(range(100)) for one in passes)
    assert passes[0] != passes[1] != passes[2] != passes[0]


def test_the_order_does_not_depend_on_what_was_read_before():
    one, other = (Shuffled([10], seed=1, use=2) for _ in range(2))
    one.records(places(0, 95))
    expected = one.records(places(95, 105)).tolist()  # across two passes
    assert other.records(places(95, 105)).tolist() == expected


def test_groups_stay_together():
    order = Shuffled([3, 5, 4], seed=4, use=2).records(places(0, 12))
    groups = np.searchsorted([3, 8], order, side="right")
    assert np.count_nonzero(np.diff(groups)) == 2
    assert sorted(order.tolist()) == list(range(12))


def test_seed_and_use_change_the_order():
    orders = [Shuffled([50], s, u).records(places(0, 50)) for s, u in [(1, 1), (2, 1)]]
    orders.append(Shuffled([50], 1, 2).records(places(0, 50)))
    assert len({order.tobytes() for order in orders}) == 3


def test_words_drawn_ahead_are_those_of_their_places():
    draws = Draws(seed=1 << 40 | 3, use=7)
    for some in (
        places(10, 20),
        places(500, 508),  # beyond what was drawn
        places(0, 3),  # before it
        places(0, 900)[::3],  # far from each other
        places(1 << 33, (1 << 33) + 2),
        places(5, 30)[::-1],
    ):
        expected = draw(some, 1 << 40 | 3, 7)
        np.testing.assert_array_equal(draws.words(some), expected)


def test_limits_are_kept_and_all_numbers_occur():
    numbers = below(draw(places(0, 1000), 1, 1)[:, 0], 7)
    assert set(numbers.tolist()) == set(range(7))


@pytest.mark.parametrize("seed", range(5))
def test_a_random_start_is_below_rand_skip(seed):
    assert 0 <= first_place(10, seed, 3) < 10
    assert first_place(0, seed, 3) == 0
