import pytest

from geeps_caffe.schedule.algorithm2 import ROW_BYTES, Placement
from geeps_caffe.schedule.costs import Device
from geeps_caffe.schedule.recording import Access
from geeps_caffe.schedule.simulate_pool import simulate_pool

#: A row takes a second each way.
SECOND = Device("by hand", 1.0, 1e12, ROW_BYTES, ROW_BYTES, 0.0)


def layer(name, rows, fetch=True, keep=False):
    nbytes = rows * ROW_BYTES
    return [
        Access("local_access", name, nbytes, fetch=fetch),
        Access("compute", name),
        Access("post_local_access", name, nbytes, keep=keep),
    ]


def seconds(accesses, pool, pinned=(), tables=(), computing=4.0):
    placement = Placement(pool, 0, pool, frozenset(pinned), frozenset(tables))
    names = {a.name: computing for a in accesses if a.call == "compute"}
    return simulate_pool(accesses, placement, names, SECOND)


TWO = [*layer("a", 3), *layer("b", 3)]


def test_with_room_for_two_the_next_is_filled_meanwhile():
    assert seconds(TWO, pool=6) == 8


def test_with_room_for_one_computing_waits_for_each_copy():
    assert seconds(TWO, pool=3) == 2 * (3 + 4)


def test_what_is_kept_holds_its_rows_until_it_is_written_back():
    kept = [*layer("a", 3, keep=True), *layer("b", 3, keep=True)]
    assert seconds(kept, pool=3) == 2 * (3 + 4 + 3)


def test_what_is_pinned_is_not_copied():
    assert seconds(TWO, pool=0, pinned="ab") == 8
    assert seconds(TWO, pool=3, pinned="a") == 8


def test_copies_longer_than_computing_set_the_pace():
    assert seconds(TWO, pool=9, computing=1.0) == 6


def step(rows):
    nbytes = rows * ROW_BYTES
    return [
        Access("pre_update", "t", nbytes),
        Access("read", "t", nbytes),
        Access("compute", "t"),
        Access("update", "t", nbytes),
        Access("post_read", "t", nbytes),
    ]


def test_a_table_is_read_when_its_update_has_come_back():
    # In host memory: read 2, compute 4, write back 2.
    assert seconds(step(2), pool=100) == 2 + 4 + 2
    # In the device's cache: compute 4, then out and in again through the shard.
    assert seconds(step(2), pool=100, tables="t") == pytest.approx(4 + 2 + 2)
