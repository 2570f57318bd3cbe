"""What a program calls wrongly is told where it is called, and changes nothing."""

import re

import numpy as np
import pytest

from geeps_caffe.errors import ParameterServerError
from geeps_caffe.paramserver import Client, LocalStore, Segment, Table
from geeps_caffe.paramserver.transport.shared import make_block
from geeps_caffe.solvers import Hyper

W = Table("w", 40, row_width=8)


def fresh(tables=(W,), **more):
    client = Client(LocalStore())
    client.create_tables(tables, **more)
    return client


def record(client):
    """One read of the whole table, and an update; the handles."""
    client.begin_virtual_iteration()
    read, update = client.virtual_read("w"), client.virtual_pre_update("w")
    send, done = client.virtual_update(update), client.virtual_post_read(read)
    client.virtual_clock()
    client.finish_virtual_iteration()
    return read, update, send, done


def running():
    client = fresh()
    calls = record(client)
    client.start_iterations()
    return client, calls


def refused(text):
    return pytest.raises(ParameterServerError, match=re.escape(text))


@pytest.mark.parametrize(
    ("tables", "text"),
    [
        (lambda: [Table("w", "10")], "table 'w': size is '10'; expected a whole"),
        (lambda: [Table("w", 10.5)], "table 'w': size is 10.5; expected a whole"),
        (lambda: [Table("w", 9, row_width=2.5)], "table 'w': row_width is 2.5"),
        (lambda: [Table("w", 9, slack=1.5)], "table 'w': slack is 1.5"),
        (lambda: [Table("w", 9, slack=-2)], "table 'w': slack is -2; expected 0 to"),
        (lambda: [Table("w", 9, slack=1 << 40)], "table 'w': slack is 1099511627776;"),
        (lambda: [Table(3, 9)], "a table's name is 3, no text"),
        (lambda: [Table("w", 9, rule=1)], "table 'w': rule is 1, no text"),
        (lambda: [Table("w", 9, layout=[])], "table 'w': layout is [], no text"),
        (lambda: [Table("w", 9, segments=3)], "table 'w': segments is 3; expected a"),
        (lambda: [Table("w", 9, segments=[3])], "table 'w': segments: 3 is no Segment"),
        (
            lambda: [Segment("s", 0.5, 1)],
            "segment 's': offset is 0.5; expected a whole",
        ),
        (
            lambda: [Segment("s", 0, 1, "2")],
            "segment 's': lr_mult is '2'; expected a n",
        ),
        (lambda: [Segment(1, 0, 1)], "a segment's name is 1, no text"),
        (lambda: ["w"], "'w' is no Table"),
        (lambda: 3, "create_tables: what it is given is 3; expected a list of Tables"),
        (lambda: W, "create_tables: give a list, [w]"),
        (lambda: [Table("w", 10**30)], "bytes of memory"),
        (lambda: [Table("w", 1 << 50)], "bytes of memory"),
    ],
)
def test_tables_that_can_not_be_are_refused(tables, text):
    with refused(text):
        fresh(tables())


def test_memory_that_the_machine_has_not_is_refused_before_any_is_taken():
    for size in (1 << 50, 1 << 70):
        with refused(f"the tables need {size} bytes of memory"):
            make_block(size)


def test_numbers_of_a_rule_must_be_hyper():
    with refused("hyper is 0.1; expected a Hyper"):
        fresh(rule="SGD", hyper=0.1)
    with refused("hyper: momentum is '0.9'; expected a number"):
        fresh(rule="SGD", hyper=Hyper(rate=0.1, momentum="0.9"))


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"rule": None}, "rule is None, no text"),
        ({"reduce": 1}, "reduce is 1, no text"),
        ({"gathered": "no"}, "gathered is 'no'; expected True or False"),
    ],
)
def test_what_tables_have_in_common_is_of_its_kind(fields, text):
    with refused(text):
        fresh(**fields)


def test_what_a_read_grants_is_not_written_by_mistake():
    client, (read, *_) = running()
    with pytest.raises(ValueError, match="read-only"):
        client.read(read)[0] = 1


@pytest.mark.parametrize("name", [None, 3, ["w"]])
def test_names_are_texts(name):
    client = fresh()
    with refused(f"unknown table {str(name)!r}"):
        client.virtual_read(name)
    with refused(f"a recording's name is {name!r}, no text"):
        client.begin_virtual_iteration(name)
    client.begin_virtual_iteration()
    with refused(f"a private array's name is {name!r}, no text"):
        client.virtual_local_access(name, (1,))


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        ([1.5], "one of rows of 'w' is 1.5; expected a whole number"),
        (["a"], "one of rows of 'w' is 'a'"),
        ([True, False], "one of rows of 'w' is True"),
        (3, "rows of 'w' is 3; expected a list"),
        ([1 << 70], "rows must be some of 0 to 4"),
        ([-1], "rows must be some of 0 to 4"),
    ],
)
def test_rows_are_whole_numbers_of_the_table(rows, text):
    client = fresh()
    client.begin_virtual_iteration()
    with refused(text):
        client.virtual_post_read(client.virtual_read("w", rows))
        client.virtual_clock()
        client.finish_virtual_iteration()


def test_a_recording_that_was_refused_may_be_made_again():
    client = fresh()
    client.begin_virtual_iteration()
    client.virtual_post_read(client.virtual_read("w", [9]))
    client.virtual_clock()
    with refused("rows must be some of 0 to 4"):
        client.finish_virtual_iteration()
    with refused("no recording ends with virtual_clock()"):
        client.start_iterations()
    read, *_ = record(client)
    client.start_iterations()
    assert client.read(read).shape == (40,)


@pytest.mark.parametrize("handle", [None, "0", 1.0])
def test_a_handle_is_a_whole_number(handle):
    client = fresh()
    client.begin_virtual_iteration()
    client.virtual_read("w")
    with refused(f"the handle is {handle!r}"):
        client.virtual_post_read(handle)


@pytest.mark.parametrize(
    ("shape", "dtype", "text"),
    [
        ((1 << 40, 1 << 10), "float32", "private array 'x' of shape"),
        ((-1,), "float32", "private array 'x' of shape (-1,)"),
        ((1,), "floaty", "private array 'x' of shape (1,), floaty"),
        (("a",), "float32", "one of the shape of 'x' is 'a'"),
    ],
)
def test_private_arrays_that_can_not_be_are_refused(shape, dtype, text):
    client = fresh()
    client.begin_virtual_iteration()
    with refused(text):
        client.virtual_post_local_access(client.virtual_local_access("x", shape, dtype))
        client.virtual_clock()
        client.finish_virtual_iteration()


def test_a_private_array_has_one_shape_in_all_recordings():
    client = fresh()
    for name, shape in (("one", (2,)), ("other", (5,))):
        client.begin_virtual_iteration(name)
        client.virtual_post_local_access(client.virtual_local_access("x", shape))
        if name == "one":
            client.finish_virtual_iteration()
    with refused("as (5,) float32, in another recording as (2,) float32"):
        client.finish_virtual_iteration()


def test_iterations_start_between_two_and_not_within_a_recording():
    client, (read, *_) = running()
    client.read(read)
    with refused("got start_iterations, which belongs between two iterations"):
        client.start_iterations()
    client = fresh()
    record(client)
    client.begin_virtual_iteration("test")
    with refused("start_iterations: finish recording 'test' first"):
        client.start_iterations()


def test_only_recordings_that_end_no_clock_are_followed_and_after_the_start():
    client = fresh()
    record(client)
    client.begin_virtual_iteration("test")
    client.virtual_post_read(client.virtual_read("w"))
    client.finish_virtual_iteration()
    with refused("follow: call start_iterations first"):
        client.follow("test")
    with refused("follow: recording 'train' ends a clock"):
        client.follow("train")


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda c: c.assign("w", np.array(["a"] * 40)), "values of <U1 were given"),
        (lambda c: c.assign("w", np.ones(40) * 1j), "values of complex128 were given"),
        (lambda c: c.assign("w", None), "table 'w' has 40 elements, 1 were given"),
        (lambda c: c.set_hyper("fast", 0), "rate is 'fast'; expected a number"),
        (lambda c: c.set_hyper("0.1", 0), "rate is '0.1'; expected a number"),
        (lambda c: c.set_hyper(0.1, 0.5), "iteration is 0.5; expected a whole number"),
        (lambda c: c.set_normalizer(-1.0), "the normalizer is -1.0; expected 0 or"),
        (lambda c: c.set_normalizer(float("nan")), "the normalizer is nan"),
        (lambda c: c.request(-1), "a request is -1; expected up to 63 bits"),
        (lambda c: c.request(1 << 63), "expected up to 63 bits"),
        (lambda c: c.withdraw("all"), "a request is 'all'; expected a whole number"),
        (lambda c: c.follow([]), "a recording's name is [], no text"),
        (lambda c: c.assign("w", [[1], [2, 3]]), "table 'w': setting an array element"),
        (
            lambda c: c.assign_history("w", 3),
            "history of table 'w' is 3; expected a li",
        ),
        (lambda c: c.total(3.0), "values is 3.0; expected a list of numbers"),
        (lambda c: c.total(["a"]), "one of values is 'a'; expected a number"),
        (lambda c: c.bind_part("w", 39, np.zeros(2, np.float32)), "has 40 elements"),
        (lambda c: c.bind_part("w", "0", np.zeros(2)), "the first element is '0'"),
        (lambda c: c.bind_part("w", 0, [1.0]), "an update is [1.0]; expected an array"),
        (lambda c: c.bind_part("w", 0, np.zeros(2)), "2 of float64 from element 0"),
        (lambda c: c.memory(None), "unknown table 'None'"),
    ],
)
def test_values_of_another_kind_are_refused(call, text):
    client, _ = running()
    with refused(text):
        call(client)


def test_after_shutdown_all_calls_are_refused_and_another_shutdown_does_nothing():
    client, (read, *_) = running()
    client.shutdown()
    client.shutdown()
    for name, call in (
        ("read", lambda: client.read(read)),
        ("values", lambda: client.values("w")),
        ("barrier", client.barrier),
        ("exchange", lambda: client.exchange([1.0])),
        ("start_iterations", client.start_iterations),
    ):
        with refused(f"{name}: this worker has left, by shutdown()"):
            call()


def test_sizes_may_be_whole_numbers_of_numpy_and_travel_as_such():
    assert type(Table("w", np.int64(10)).size) is int
