"""The client's calls, on a store of one worker."""

import json

import numpy as np
import pytest

from geeps_caffe.errors import ParameterServerError
from geeps_caffe.paramserver import Client, LocalStore, Table
from tests.paramserver.programs import Program


@pytest.fixture
def client():
    client = Client(LocalStore())
    client.create_tables([Table("w", 40, row_width=8), Table("v", 3)], reduce="sum")
    return client


def record(client, rows=None, updates=None):
    """Read `rows` of w; one update for each of `updates`."""
    client.begin_virtual_iteration()
    read = client.virtual_read("w", rows)
    done = client.virtual_post_read(read)
    pairs = []
    for chosen in [None] if updates is None else updates:
        opened = client.virtual_pre_update("w", chosen)
        pairs.append((opened, client.virtual_update(opened)))
    client.virtual_clock()
    client.finish_virtual_iteration()
    client.assign("w", np.arange(40.0))
    client.start_iterations()
    return read, done, pairs


def update(client, pair, value):
    array = client.pre_update(pair[0])
    array[...] = value
    client.update(pair[1])


@pytest.mark.parametrize("rows", [[1, 2], [4], [3, 0]])
def test_chosen_rows_are_read(client, rows):
    read, _, _ = record(client, rows)
    expected = np.arange(40.0).reshape(5, 8)[rows]
    np.testing.assert_array_equal(client.read(read), expected)


@pytest.mark.parametrize(
    "updates", [[[1, 2]], [[3, 0]], [[1, 2], [2, 4]], [None, None], [None, [0]]]
)
def test_updates_of_chosen_rows_add_up(client, updates):
    read, done, pairs = record(client, updates=updates)
    expected = np.arange(40.0).reshape(5, 8)
    for clock in range(2):
        client.read(read)
        client.post_read(done)
        for pair, rows in zip(pairs, updates, strict=True):
            update(client, pair, clock + 1)
            expected[slice(None) if rows is None else rows] += clock + 1
        client.clock()
    np.testing.assert_array_equal(client.values("w").reshape(5, 8), expected)


def test_contiguous_rows_are_views_of_the_owners_memory(client):
    read, _, pairs = record(client, rows=[1, 2, 3], updates=[[2, 3]])
    assert np.shares_memory(client.read(read), client._store.weights(0))
    assert pairs


def test_a_table_does_not_change_before_its_last_use(client):
    client.begin_virtual_iteration()
    first = client.virtual_read("w")
    opened = client.virtual_pre_update("w")
    sent = client.virtual_update(opened)
    first_done = client.virtual_post_read(first)
    again = client.virtual_read("w")
    again_done = client.virtual_post_read(again)
    client.virtual_clock()
    client.finish_virtual_iteration()
    client.start_iterations()
    client.read(first)
    update(client, (opened, sent), 1.0)
    client.post_read(first_done)
    assert not client.read(again).any()  # the clock is still the same
    client.post_read(again_done)
    client.clock()
    assert client.values("w").all()


def test_a_call_out_of_order_says_which_was_expected_and_which_came(client):
    read, done, pairs = record(client)
    client.read(read)
    with pytest.raises(
        ParameterServerError,
        match=r"'train', call 1: expected post_read\(1\) of 'w', got pre_update\(2\)",
    ):
        client.pre_update(pairs[0][0])
    client.post_read(done)
    with pytest.raises(ParameterServerError, match=r"expected pre_update.*got clock"):
        client.clock()


def test_a_wrong_handle_is_out_of_order_too(client):
    record(client)
    with pytest.raises(ParameterServerError, match=r"expected read\(0\).*got read\(3"):
        client.read(3)


def test_no_handle_is_a_wrong_one(client):
    record(client)
    with pytest.raises(ParameterServerError, match=r"expected read\(0\).*got read\(\)"):
        client.read(None)


def test_calls_between_iterations_are_refused_within_one(client):
    read, _, _ = record(client)
    client.read(read)
    for call in (client.barrier, lambda: client.values("w"), lambda: client.total([1])):
        with pytest.raises(ParameterServerError, match="belongs between two iter"):
            call()


def test_local_arrays_keep_their_values(client):
    client.begin_virtual_iteration()
    opened = client.virtual_local_access("x", (2, 3))
    closed = client.virtual_post_local_access(opened)
    client.virtual_clock()
    client.finish_virtual_iteration()
    client.start_iterations()
    for clock in range(3):
        array = client.local_access(opened)
        np.testing.assert_array_equal(array, np.full((2, 3), clock))
        array += 1
        client.post_local_access(closed)
        client.clock()


def test_a_test_recording_runs_once_and_ends_no_clock(client):
    client.begin_virtual_iteration("test")
    test_read = client.virtual_read("w")
    test_done = client.virtual_post_read(test_read)
    client.finish_virtual_iteration()
    read, done, pairs = record(client)
    for _ in range(2):
        client.follow("test")
        assert client.read(test_read)[1] == 1
        client.post_read(test_done)
    client.read(read)
    client.post_read(done)
    update(client, pairs[0], 1.0)
    client.clock()
    client.follow("test")
    assert client.read(test_read)[1] == 2


def test_an_unknown_recording_or_table_names_its_neighbour(client):
    record(client)
    with pytest.raises(ParameterServerError, match="'trian'; did you mean 'train'"):
        client.follow("trian")
    client.begin_virtual_iteration("test")
    with pytest.raises(ParameterServerError, match="unknown table 'conv'"):
        client.virtual_read("conv")


@pytest.mark.parametrize("rows", [[5], [-1], [], [1, 1]])
def test_impossible_rows_are_refused(client, rows):
    with pytest.raises(ParameterServerError, match="row"):
        record(client, rows)


def test_slack_beyond_the_tables_is_refused(client):
    client.begin_virtual_iteration()
    client.virtual_post_read(client.virtual_read("w", slack=1))
    with pytest.raises(ParameterServerError, match="slack 1 is not within"):
        client.finish_virtual_iteration()


def test_calls_before_their_time_say_what_is_missing():
    client = Client(LocalStore())
    for call, missing in (
        (lambda: client.virtual_read("w"), "create_tables first"),
        (client.virtual_clock, "begin_virtual_iteration first"),
        (client.start_iterations, "no recording ends"),
        (lambda: client.read(0), "start_iterations first"),
        (lambda: client.values("w"), "create_tables first"),
    ):
        with pytest.raises(ParameterServerError, match=missing):
            call()


def test_assignments_of_another_size_are_refused(client):
    with pytest.raises(ParameterServerError, match="40 elements, 39 were given"):
        client.assign("w", np.zeros(39))
    with pytest.raises(ParameterServerError, match="0 history arrays, 1 were given"):
        client.assign_history("w", [np.zeros(40)])


def test_stats_count_calls_and_bytes():
    program = Program(Client(LocalStore()), [Table("w", 100)])
    program.start()
    for _ in range(3):
        program.step([np.zeros(100)])
    stats = json.loads(program.client.stats())
    assert stats["clocks"] == 3
    assert stats["tables"]["w"]["pulls"] == 3
    assert stats["tables"]["w"]["push_bytes"] == 3 * 512
    assert stats["tables"]["w"]["staleness"] == {"0": 3}
