"""The shard, message by message."""

import numpy as np
import pytest

from geeps_caffe.device.array import allocate
from geeps_caffe.errors import ParameterServerError
from geeps_caffe.paramserver import Scheme, Segment, Table
from geeps_caffe.paramserver.memory import Memory, nbytes
from geeps_caffe.paramserver.messages import (
    Beat,
    Clipped,
    Close,
    Copied,
    Fresh,
    Pull,
    Push,
)
from geeps_caffe.paramserver.shard import Shard
from geeps_caffe.solvers import Hyper


class Setting:
    """A shard of two workers, with its memory at hand."""

    def __init__(self, *tables, **scheme):
        self.scheme = Scheme(tables or (Table("w", 4), Table("v", 4)), **scheme)
        size = nbytes(self.scheme, 2)
        self.memory = Memory(self.scheme, 2, allocate(size))
        self.shard = Shard(self.scheme, self.memory)

    def push(self, worker, table, clock, value=1.0, rate=0.1, weight=1.0):
        self.memory.update(worker, table, clock)[:4] = value
        return self.receive(worker, Push(table, clock, clock, rate, weight))

    def receive(self, worker, message):
        out = self.shard.receive(worker, message)
        while self.shard.busy:
            out = out + self.shard.work()
        return out


def test_a_tables_clock_is_complete_when_all_workers_have_pushed():
    setting = Setting(reduce="sum")
    assert setting.push(1, 0, 0, value=2.0) == []
    assert setting.push(0, 0, 0) == [(0, Fresh(0, 0)), (1, Fresh(0, 0))]
    np.testing.assert_array_equal(setting.memory.weights[0][:4], 3.0)
    assert setting.shard.age(1) == -1  # other tables have their own clocks


def test_a_worker_that_closes_without_a_push_counts_as_zeros():
    setting = Setting(reduce="mean")
    setting.push(0, 0, 0, value=3.0)
    setting.receive(0, Close(0, 0))
    out = setting.receive(1, Close(0, 0))
    assert {m for _, m in out} == {Fresh(0, 0), Fresh(1, 0)}
    np.testing.assert_array_equal(setting.memory.weights[0][:4], 1.5)


@pytest.mark.parametrize("clock", [0, 2])
def test_a_clock_that_does_not_follow_the_last_one_is_rejected(clock):
    setting = Setting()
    setting.push(0, 0, 0)
    with pytest.raises(ParameterServerError, match=f"clock {clock} of rank 0 does not"):
        setting.push(0, 0, clock)


def test_weights_make_a_weighted_mean():
    setting = Setting(reduce="mean")
    setting.push(0, 0, 0, value=1.0, weight=30.0)
    setting.push(1, 0, 0, value=2.0, weight=10.0)
    np.testing.assert_allclose(setting.memory.weights[0][:4], 1.25)


def test_weights_of_zero_make_a_plain_mean():
    setting = Setting(reduce="mean")
    setting.push(0, 0, 0, value=1.0, weight=0.0)
    setting.push(1, 0, 0, value=2.0, weight=0.0)
    np.testing.assert_allclose(setting.memory.weights[0][:4], 1.5)


def test_workers_with_other_rates_are_refused():
    setting = Setting(rule="SGD")
    setting.push(0, 0, 0, rate=0.1)
    with pytest.raises(
        ParameterServerError, match=r"rank 1 has rate 0\.2.* rank 0 0\.1"
    ):
        setting.push(1, 0, 0, rate=0.2)


@pytest.mark.parametrize("message", [Push(7, 0, 0, 0.1, 1.0), Pull(-1, 0), Beat()])
def test_messages_that_no_worker_may_send_are_refused(message):
    with pytest.raises(ParameterServerError):
        Setting().receive(0, message)


def test_a_pull_waits_for_the_slowest_worker():
    setting = Setting(Table("w", 4, slack=1), reduce="sum")
    setting.push(0, 0, 0)
    assert setting.receive(0, Pull(0, 0)) == []
    out = setting.push(1, 0, 0)
    assert (0, Copied(0, 0)) in out
    np.testing.assert_array_equal(setting.memory.copy(0, 0)[:4], 2.0)
    assert not setting.memory.copy(1, 0).any()  # it did not ask


def test_the_table_that_the_next_iteration_reads_first_is_applied_first():
    setting = Setting()
    for table in (1, 0):  # the backward pass is done with the last one first
        for worker in (0, 1):
            setting.memory.update(worker, table, 0)
            setting.shard.receive(worker, Push(table, 0, 0, 0.1, 1.0))
    assert setting.shard.work()[0] == (0, Fresh(0, 0))


def test_the_norm_of_all_tables_is_told_and_scales_them():
    hyper = Hyper(0.1, clip_gradients=1.0)
    setting = Setting(rule="SGD", reduce="sum", hyper=hyper)
    for worker in (0, 1):
        setting.push(worker, 0, 0, value=1.0)
    assert not setting.memory.weights[0].any()
    setting.push(0, 1, 0, value=2.0)
    norm = np.sqrt(4 * 2.0**2 + 4 * 4.0**2)
    assert (1, Clipped(0, norm)) in setting.push(1, 1, 0, value=2.0)
    for table, total in ((0, 2.0), (1, 4.0)):
        expected = -0.1 * total / norm
        np.testing.assert_allclose(setting.memory.weights[table][:4], expected, 1e-6)


def test_what_is_not_learned_is_no_part_of_the_norm_and_stays():
    segments = (Segment("w", 0, 2), Segment("frozen", 2, 2, lr_mult=0.0))
    table = Table("w", 4, segments=segments)
    hyper = Hyper(0.1, clip_gradients=1.0, weight_decay=0.1)
    setting = Setting(table, rule="SGD", reduce="sum", hyper=hyper)
    junk = [1.0, 0.0, np.nan, np.inf]
    setting.push(0, 0, 0, value=junk)
    assert (0, Clipped(0, 2.0)) in setting.push(1, 0, 0, value=junk)
    np.testing.assert_array_equal(setting.memory.weights[0][2:4], 0.0)


@pytest.mark.parametrize("rule", [None, "SGD", "AdaGrad"])
def test_what_is_behind_the_last_value_of_a_row_gets_nowhere(rule):
    how = {} if rule is None else {"rule": rule}
    hyper = Hyper(0.1, clip_gradients=1.0, weight_decay=0.1)
    setting = Setting(Table("w", 4), reduce="sum", hyper=hyper, **how)
    for worker in (0, 1):
        setting.memory.update(worker, 0, 0)[4:] = np.nan
        out = setting.push(worker, 0, 0, value=1.0)
    if rule is not None:
        assert (0, Clipped(0, 4.0)) in out  # 4 values of 2
    arrays = [setting.memory.weights[0], *setting.memory.history[0]]
    for array in arrays:
        assert array.size == 128
        assert np.isfinite(array).all()
        assert not array[4:].any()
        assert array[:4].all()
