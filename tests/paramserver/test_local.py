import numpy as np
import pytest

from geeps_caffe.paramserver import Client, LocalStore, Segment, Table
from geeps_caffe.solvers import Hyper
from tests.paramserver.programs import Program

TABLES = [
    Table("a", 300, segments=(Segment("w", 0, 250), Segment("b", 256, 40, 2.0, 0.0))),
    Table("b", 7, dtype="float64"),
]


def ones(value=1.0):
    return [np.full(t.size, value, t.dtype) for t in TABLES]


def test_updates_are_added_as_in_the_paper():
    program = Program(Client(LocalStore()), TABLES)
    program.start(ones())
    program.step(ones(0.5))
    seen = program.step(ones(0.0))
    np.testing.assert_array_equal(seen[1], 1.5)
    np.testing.assert_array_equal(seen[0][:250], 1.5)
    np.testing.assert_array_equal(seen[0][250:256], 1.0)  # padding stays


def test_a_solver_rule_runs_on_gradients_with_each_segments_multipliers():
    hyper = Hyper(rate=0.1, momentum=0.5, weight_decay=0.01)
    program = Program(Client(LocalStore()), TABLES, rule="SGD", hyper=hyper)
    program.start(ones())
    program.step(ones(1.0))
    (weights, _), other = program.open()
    np.testing.assert_allclose(weights[:250], 1 - 0.1 * 1.01, 1e-6)
    np.testing.assert_allclose(weights[256:296], 1 - 0.2, 1e-6)
    np.testing.assert_allclose(other[0], 1 - 0.1 * 1.01)


def test_history_is_readable_and_assignable():
    hyper = Hyper(rate=0.1, momentum=0.5)
    program = Program(Client(LocalStore()), TABLES, rule="SGD", hyper=hyper)
    program.start(ones())
    program.step(ones(1.0))
    client = program.client
    (history,) = client.history("b")
    np.testing.assert_allclose(history, 0.1)
    client.assign_history("b", [np.full(7, 4.0)])
    program.step(ones(0.0))
    np.testing.assert_allclose(client.history("b")[0], 2.0)
    np.testing.assert_allclose(client.values("b"), 0.9 - 2.0)


def test_the_rate_can_change_with_every_clock():
    hyper = Hyper(rate=0.1)
    program = Program(Client(LocalStore()), TABLES, rule="SGD", hyper=hyper)
    program.start(ones())
    for rate in (0.5, 0.25):
        program.client.set_hyper(rate, 0)
        program.step(ones(1.0))
    np.testing.assert_allclose(program.client.values("b"), 0.25)


def test_clipping_takes_the_norm_of_all_tables():
    hyper = Hyper(rate=1.0, clip_gradients=1.0, iter_size=2)
    program = Program(Client(LocalStore()), TABLES, rule="SGD", hyper=hyper)
    program.start(ones(0.0))
    program.step(ones(2.0))
    norm = np.sqrt(4.0 * (250 + 40 + 7))
    np.testing.assert_allclose(program.client.values("b"), -2 / norm / 2, 1e-6)
    assert program.client.clipping().norm == pytest.approx(norm)


def test_the_norm_adds_tables_in_their_order_whichever_is_handed_in_first():
    tables = [Table(name, 1, dtype="float64") for name in "abc"]
    hyper = Hyper(rate=1.0, clip_gradients=1.0)
    program = Program(Client(LocalStore()), tables, rule="SGD", hyper=hyper)
    program.start()
    program.step([1.0, 1.0, 1e8])  # c is handed in first
    assert program.client.clipping().norm == np.sqrt(1e16 + 2)
    assert np.sqrt(1e16 + 1 + 1) == 1e8  # as it would be from c on


def test_leases_are_the_owners_memory_at_the_same_place_every_clock():
    program = Program(Client(LocalStore()), TABLES)
    program.start(ones())
    first = [array.ctypes.data for pair in program.open() for array in pair]
    program.close()
    second = [array.ctypes.data for pair in program.open() for array in pair]
    assert first == second
    assert all(address % 64 == 0 for address in first)


def test_values_written_in_place_are_read_by_the_next_clock():
    program = Program(Client(LocalStore()), TABLES)
    program.start(ones())
    program.client.values("b")[...] = 5.0
    np.testing.assert_array_equal(program.step(ones(0.0))[1], 5.0)


def test_a_flag_is_seen_at_once():
    program = Program(Client(LocalStore()), TABLES)
    program.start(ones())
    program.client.request(2)
    program.step(ones())
    assert program.client.requested() == 2
    assert program.client.requested() == 0  # each request is told once
    program.client.request(3)
    program.client.withdraw(1)
    program.step(ones())
    assert program.client.requested() == 2
