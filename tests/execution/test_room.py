import pytest

from geeps_caffe.config.job import RunSettings
from geeps_caffe.errors import PlanError
from geeps_caffe.execution.room import check_room
from geeps_caffe.graph.build import build_graph
from geeps_caffe.graph.filter import NetState
from tests.execution.made_up_jobs import parsed_net, solve

NET = """
layer {{ name: "in" type: "DummyData" top: "data" top: "label"
  dummy_data_param {{
    shape {{ dim: {batch} dim: {width} }} shape {{ dim: {batch} }} }} }}
layer {{ name: "ip" type: "InnerProduct" bottom: "data" top: "ip"
  inner_product_param {{ num_output: {outputs} }} }}
layer {{ name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" }}
"""


def net(batch=4, width=3, outputs=2):
    return parsed_net(NET.format(batch=batch, width=width, outputs=outputs))


def test_params_their_gradients_and_the_arena_must_have_room():
    _, plan = solve(net(), RunSettings(seed=1), 0)
    graph = build_graph(net(), NetState())
    apart = 2 * (3 * 2 * 4 + 2 * 4)  # bytes of weights and bias, and their gradients
    sizes = [a.layout.nbytes for a in plan.program.arrays.values() if a.home != "arena"]
    assert sum(sizes) >= apart
    check_room(graph, plan.program, sum(sizes) + 1000, 1000)
    with pytest.raises(PlanError):
        check_room(graph, plan.program, sum(sizes) + 999, 1000)
    check_room(graph, plan.program, None, 1000)


def test_batches_that_no_memory_holds_are_refused_with_their_layers():
    with pytest.raises(PlanError) as error:
        solve(net(batch=10**13), RunSettings(seed=1), 0)
    text = str(error.value)
    assert "data (10000000000000 x 3, 111,758.7 GiB) of layer 'in' (DummyData)" in text
    assert "smaller" in text


def test_params_that_no_memory_holds_are_refused_with_their_layers():
    with pytest.raises(PlanError, match=r"ip/0 \(2147483648 x 1024, 8,192.0 GiB\) of"):
        solve(net(batch=1, width=1024, outputs=2**31), RunSettings(seed=1), 0)
