import pytest

from geeps_caffe.errors import UsageError
from geeps_caffe.schedule.costs import DEVICES, Device, estimate, find_device
from tests.schedule.nets import TINY, graph_of, program_of

DEVICE = Device("by hand", 100.0, 10.0, 5.0, 4.0, launch=1.0, copy_launch=2.0)


@pytest.fixture
def program():
    return program_of(graph_of(TINY))


def seconds_of(program, costs):
    return dict(zip((i.text for i in program.instructions), costs.seconds, strict=True))


def test_an_operation_costs_what_it_computes_and_what_it_moves(program):
    found = seconds_of(program, estimate(program, DEVICE))
    # 2 x 3 x 4 products, 30 values; two gradients but none of data.
    assert found["forward ip [numpy]"] == pytest.approx(1 + 48 / 100 + 120 / 10)
    assert found["forward relu [numpy]"] == pytest.approx(1 + 64 / 10)
    assert found["forward loss [layer code]"] == pytest.approx(1 + 68 / 10)


def test_the_host_costs_nothing(program):
    found = seconds_of(program, estimate(program, DEVICE))
    assert found["clock"] == found["read table ip"] == found["update table ip"] == 0


def test_a_batch_may_cost_as_if_it_had_more_records(program):
    slow = Device("by hand", 100.0, 10.0, 5.0, 4.0, 1.0, batch_overhead=2.0)
    more = seconds_of(program, estimate(program, slow))["forward ip [numpy]"]
    assert more == pytest.approx(1 + 2 * 48 / 100 + 120 / 10)


def test_copies_cost_their_bytes_and_a_launch(program):
    costs = estimate(program, DEVICE)
    assert costs.in_seconds(10) == pytest.approx(2 + 10 / 5)
    assert costs.out_seconds(10) == pytest.approx(2 + 10 / 4)


def test_an_unknown_device_is_refused_with_the_nearest():
    assert find_device("k20c") is DEVICES["k20c"]
    with pytest.raises(UsageError, match=r"'k20'.*k20c"):
        find_device("k20")
