import pytest

from geeps_caffe.config.param_cache import ParamCache
from geeps_caffe.errors import PlanError
from geeps_caffe.schedule.costs import DEVICES, estimate
from geeps_caffe.schedule.plan import make_plan
from geeps_caffe.schedule.search import cost_aware
from geeps_caffe.schedule.warning_level import check_level
from tests.schedule.nets import LENET, graph_of, program_of


def ahead(program):
    return estimate(program, DEVICES["k20c"])


@pytest.fixture
def program():
    return program_of(graph_of(LENET), param_cache=ParamCache())


def tight(program, factor=1.0):
    return make_plan(program, int(make_plan(program, share=True).least_bytes * factor))


def test_level_0_takes_any_plan(program):
    check_level(tight(program), 0)


def test_level_1_asks_that_copies_begin_ahead(program):
    with pytest.raises(PlanError, match=r"level 1 asks for double buffering.*-costs"):
        check_level(tight(program), 1)
    plan = make_plan(program, 10**6, planner=cost_aware(ahead))
    check_level(plan, 1)


def test_level_2_asks_that_local_arrays_stay(program):
    planner = cost_aware(ahead)
    least = make_plan(program, share=True).least_bytes
    plan = make_plan(program, least * 102 // 100, planner=planner)
    with pytest.raises(PlanError, match="level 2 asks for"):
        check_level(plan, 2)
    check_level(make_plan(program, 10**6, planner=planner), 2)


def test_level_3_asks_that_params_come_in_once(program):
    plan = make_plan(program, 10**6, planner=cost_aware(ahead))
    check_level(plan, 3)
    local = program_of(graph_of(LENET), param_cache=ParamCache(), keep=frozenset())
    with pytest.raises(PlanError, match=r"arrays are in the way \(\S+ \d"):
        check_level(tight(local), 3)


def test_without_a_cache_params_do_not_move():
    check_level(make_plan(program_of(graph_of(LENET)), share=True), 3)
