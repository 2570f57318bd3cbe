import itertools

import numpy as np
import pytest

from geeps_caffe.device.array import allocate
from geeps_caffe.paramserver import ASYNC, Scheme, Table
from geeps_caffe.paramserver.memory import Memory, nbytes

TABLES = (
    Table("a", 300),
    Table("b", 3, dtype="float64", slack=2, row_width=3),
    Table("c", 5, slack=ASYNC),
)


@pytest.fixture
def memory():
    scheme = Scheme(TABLES, "Adam")
    return Memory(scheme, 2, allocate(nbytes(scheme, 2)))


def arrays(memory):
    for table, (weights, slots) in enumerate(
        zip(memory.weights, memory.history, strict=True)
    ):
        yield from (weights, *slots)
        for worker in range(2):
            copy = memory.copy(worker, table)
            if copy is not weights:
                yield copy
            clocks = range(max(TABLES[table].slack, 0) + 1)
            yield from (memory.update(worker, table, clock) for clock in clocks)


def test_arrays_are_aligned_and_do_not_overlap(memory):
    found = list(arrays(memory))
    assert len(found) == 3 * 3 + 2 * 2 + 2 * (1 + 3 + 1)
    assert all(array.ctypes.data % 64 == 0 for array in found)
    for one, other in itertools.combinations(found, 2):
        assert not np.shares_memory(one, other)


def test_updates_of_clocks_within_the_slack_have_places_of_their_own(memory):
    places = [memory.update(0, 1, clock).ctypes.data for clock in range(7)]
    assert len(set(places)) == 3
    assert places[:4] == places[3:]


def test_a_table_without_slack_is_read_where_it_lies(memory):
    assert memory.copy(1, 0) is memory.weights[0]
    assert memory.copy(1, 1) is not memory.weights[1]
