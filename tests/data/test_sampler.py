import pytest

from geeps_caffe.data.order import Sequential, Shuffled
from geeps_caffe.data.sampler import Sampler, share
from geeps_caffe.errors import DataError


def batches(rank=0, ranks=1, batch_size=4, global_batch=False, count=6, order=None):
    sampler = Sampler(
        order or Sequential(), share(batch_size, rank, ranks, global_batch)
    )
    return [sampler.batch(n).records.tolist() for n in range(count)]


@pytest.mark.parametrize("order", [Sequential(), Shuffled([7], 1, 1)])
def test_n_workers_see_what_one_with_n_times_the_batch_sees(order):
    whole = batches(batch_size=12, order=order)
    shares = [batches(rank, 3, order=order) for rank in range(3)]
    for step, batch in enumerate(whole):
        assert [batch[rank::3] for rank in range(3)] == [s[step] for s in shares]


def test_a_global_batch_is_divided():
    whole = batches(batch_size=12)
    shares = [batches(rank, 3, 12, global_batch=True) for rank in range(3)]
    for step, batch in enumerate(whole):
        assert [batch[rank::3] for rank in range(3)] == [s[step] for s in shares]


def test_a_batch_that_can_not_be_divided_is_refused_with_numbers():
    with pytest.raises(ValueError, match=r"batch_size 2 .* 3 workers; take 3, or give"):
        share(2, 1, 3, True)
    with pytest.raises(ValueError, match=r"batch_size 10 .* 4 workers; take 8 or 12"):
        share(10, 0, 4, True)


def test_a_batch_of_nothing_is_refused():
    with pytest.raises(ValueError, match="batch_size is 0 or not set"):
        share(0, 0, 1, False)


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_a_position_of_two_workers_serves_any_number(ranks):
    before = Sampler(Sequential(), share(8, 1, 2, True), 1000)
    position = before.state(taken=3)
    assert position == {"place": 24, "length": 1000}
    for rank in range(ranks):
        after = Sampler(Sequential(), share(8, rank, ranks, True), 1000)
        assert after.restore(position) == ""
        assert after.batch(0).places.tolist() == list(range(24 + rank, 32, ranks))
        assert after.state(taken=1)["place"] == 32


def test_another_length_is_told():
    sampler = Sampler(Sequential(), share(2, 0, 1, False), 10)
    notice = sampler.restore({"place": 14, "length": 12})
    assert notice == (
        "the source had 12 records when the snapshot was taken and has 10 now; "
        "reading goes on at record 4"
    )


@pytest.mark.parametrize("state", [{}, {"place": -1}, {"place": "3"}])
def test_what_is_no_position_is_refused(state):
    with pytest.raises(DataError, match="is no position"):
        Sampler(Sequential(), share(2, 0, 1, False)).restore(state)
