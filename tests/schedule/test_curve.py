import pytest

from geeps_caffe.schedule.curve import memory_without_loss
from geeps_caffe.schedule.plan import least_of, make_plan
from tests.schedule.nets import LENET, graph_of, program_of


def test_the_least_memory_is_that_of_the_largest_instruction():
    program = program_of(graph_of(LENET))
    assert least_of(program) == make_plan(program, share=True).least_bytes


@pytest.mark.parametrize("enough", [100, 317, 640, 1000])
def test_the_smallest_budget_without_loss_is_found_to_a_hundredth(enough):
    found = memory_without_loss(
        100, 1000, lambda budget: budget, lambda plan: 1.0 if plan >= enough else 2.0
    )
    assert enough <= found <= enough + 10


def test_a_hundredth_of_the_speed_is_no_loss():
    found = memory_without_loss(
        100, 1000, lambda budget: budget, lambda plan: 1.009 if plan < 500 else 1.0
    )
    assert found == 100
