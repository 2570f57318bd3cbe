import pytest

from geeps_caffe.config.param_cache import ParamCache
from geeps_caffe.schedule.check import check_plan
from geeps_caffe.schedule.costs import DEVICES, estimate
from geeps_caffe.schedule.plan import make_plan
from geeps_caffe.schedule.search import cost_aware
from geeps_caffe.schedule.simulate import simulate
from tests.schedule.large_model import inner_products
from tests.schedule.nets import graph_of, program_of

WIDTH, BATCH, LAYERS = 10_000, 2_000, 56
DEVICE_BYTES = 5_000_000_000


def k20c(program):
    return estimate(program, DEVICES["k20c"])


@pytest.fixture(scope="module")
def program():
    graph = graph_of(inner_products(WIDTH, BATCH, LAYERS))
    return program_of(graph, param_cache=ParamCache())


def test_it_has_20_gigabytes_of_params_and_70_of_state(program):
    sizes = program.storage_bytes()
    params = sum(sizes[n] for n in program.leases if not n.endswith(".diff"))
    assert params > 20e9
    history = params  # with momentum
    assert sum(sizes.values()) + history > 70e9


def test_it_is_planned_for_a_device_of_5_gigabytes(program):
    plan = make_plan(program, DEVICE_BYTES, planner=cost_aware(k20c))
    assert plan.arena_bytes <= DEVICE_BYTES
    assert plan.total_bytes > 10 * DEVICE_BYTES
    assert check_plan(plan) == []


def test_its_speed_does_not_fall_with_its_size():
    """As in figure 13: transfers hide behind products of 2,000 records."""
    speeds = []
    for layers in (7, 28, 56):
        graph = graph_of(inner_products(WIDTH, BATCH, layers))
        program = program_of(graph, param_cache=ParamCache())
        plan = make_plan(program, DEVICE_BYTES, planner=cost_aware(k20c))
        speeds.append(simulate(plan, k20c(program)).speed)
    assert min(speeds) > 0.95


def test_the_largest_layer_alone_is_the_limit(program):
    least = make_plan(program, share=True).least_bytes
    one = program_of(
        graph_of(inner_products(WIDTH, BATCH, 3)), param_cache=ParamCache()
    )
    assert least == make_plan(one, share=True).least_bytes
